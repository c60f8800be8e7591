"""Names for whatever other libraries call variables and values."""

from collections.abc import Iterable
from typing import Any


def names_of(labels: Iterable[Any]) -> tuple[str, ...]:
    """A name for each label: its text, or how Python writes it where texts would coincide.

    >>> names_of(["a", 1]), names_of([1, "1"])
    (('a', '1'), ('1', "'1'"))
    """
    every = list(labels)
    texts = tuple(map(str, every))
    return texts if len(set(texts)) == len(texts) else tuple(map(repr, every))
