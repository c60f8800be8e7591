"""Permutations as people write them: `(A B)(C D E)`, or `(A=0 A=1)` when values change.

Names may hold brackets, as in `(Friends(Anna, Bob) Friends(Bob, Anna))`; names that could be
misread are written as JSON strings. Without names, points are written as their numbers.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orbitmc._util.arrays import indices, lengths
from orbitmc.errors import InputError
from orbitmc.groups.permutation_groups import Pairs, element_of, number_values
from orbitmc.groups.permutations import (
    Permutation,
    changes_values,
    cycles_of,
    from_images,
    local_row,
    normalise,
    row_of,
)

CYCLE_WORD = re.compile(r'[^\s,()"]+(?:\([^()"]*\)(?:=\d+)?)?')
"""Words that need no quotes: letters, and at the end, perhaps, one pair of brackets and a value."""


def from_cycles(degree: int, cycles: Iterable[Sequence[int]]) -> Permutation:
    """Each point goes to the next one of its cycle, the last to the first."""
    points: list[int] = []
    images: list[int] = []
    for cycle in cycles:
        points.extend(cycle)
        images.extend([*cycle[1:], *cycle[:1]])
    return from_images(degree, points, images)


def cycles(element: Permutation) -> list[list[int]]:
    """The cycles of points, each from its smallest point on; fixed points are left out."""
    plain = normalise(element.degree, element.point, element.image)
    return [[int(plain.point[k]) for k in cycle] for cycle in cycles_of(local_row(plain))]


def cycle_text(element: Permutation, names: Sequence[str] | None = None) -> str:
    """Write a permutation as cycles; `()` is the identity."""
    return join_cycles(cycle_words(element, names))


def join_cycles(cycles: Sequence[Sequence[str]]) -> str:
    """Write cycles of names one after the other."""
    parts = [" ".join(map(_quote, cycle)) for cycle in cycles]
    return "".join(f"({part})" for part in parts) or "()"


def cycle_words(element: Permutation, names: Sequence[str] | None = None) -> list[list[str]]:
    """The names in each cycle; where values change, each stands with a value: `A=0`."""
    if names is not None and len(names) != element.degree:
        raise InputError(f"{element.degree} points need as many names, got {len(names)}")
    called = names or [str(point) for point in range(element.degree)]
    return [
        [called[point] if value is None else f"{called[point]}={value}" for point, value in cycle]
        for cycle in _point_value_cycles(element)
    ]


def read_cycles(
    text: str,
    degree: int,
    names: Sequence[str] | None = None,
    *,
    cardinality: ArrayLike | None = None,
) -> Permutation:
    """Read cycles of points, or with `cardinality` cycles of `point=value`.

    >>> read_cycles("(A B)(C D E)", 5, names="ABCDE").image.tolist()
    [1, 0, 3, 4, 2]
    """
    number = {name: k for k, name in enumerate(names or map(str, range(degree)))}
    if len(number) != degree:
        raise InputError(f"{degree} points need as many different names, got {len(number)}")
    if cardinality is None:
        return from_cycles(
            degree, [[_point(word, number) for word in c] for c in _split_cycles(text)]
        )
    sizes = np.broadcast_to(np.asarray(cardinality, dtype=np.int64), (degree,))
    pairs = number_values(degree, indices(np.arange(degree)), sizes)
    numbers = [[_pair(word, number, pairs) for word in cycle] for cycle in _split_cycles(text)]
    return element_of(pairs, row_of(from_cycles(len(pairs.owner), numbers)))


def _point_value_cycles(element: Permutation) -> list[Any]:
    """Cycles of (point, value); the value is absent when no value changes."""
    if not changes_values(element):
        return [[(point, None) for point in cycle] for cycle in cycles(element)]
    sizes = lengths(element.map_start)
    owner = np.repeat(element.point, sizes)
    begin = np.repeat(element.map_start[:-1], sizes)
    pairs = cycles_of(local_row(element))
    return [[(int(owner[k]), k - int(begin[k])) for k in cycle] for cycle in pairs]


def _quote(word: str) -> str:
    return word if CYCLE_WORD.fullmatch(word) else json.dumps(word)


def _split_cycles(text: str) -> list[list[str]]:
    """The words of each cycle."""
    cycles: list[list[str]] = []
    place = _after_spaces(text, 0)
    while place < len(text):
        if text[place] != "(":
            raise InputError(f"expected '(' at the start of a cycle, found {text[place:][:20]!r}")
        cycles.append([])
        place = _after_spaces(text, place + 1)
        while text[place : place + 1] != ")":
            word, place = _word(text, place)
            cycles[-1].append(word)
            place = _after_spaces(text, place)
        place = _after_spaces(text, place + 1)
    return cycles


def _after_spaces(text: str, place: int) -> int:
    while place < len(text) and (text[place].isspace() or text[place] == ","):
        place += 1
    return place


def _word(text: str, place: int) -> tuple[str, int]:
    if text[place : place + 1] == '"':
        try:
            word, place = json.JSONDecoder().raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise InputError(f"a name in quotes does not end: {text[place:][:20]!r}") from error
        return str(word), place
    match = CYCLE_WORD.match(text, place)
    if not match:
        raise InputError(f"expected a name or ')' in a cycle, found {text[place:][:20]!r}")
    return match.group(), match.end()


def _point(word: str, number: dict[str, int]) -> int:
    if word not in number:
        raise InputError(f"there is no point called {word}")
    return number[word]


def _pair(word: str, number: dict[str, int], pairs: Pairs) -> int:
    name, equals, value = word.rpartition("=")
    if not equals:
        raise InputError(f"expected {word}=value, as everywhere in cycles of values")
    begin, end = (int(pairs.start[_point(name, number) + k]) for k in (0, 1))
    if not value.isdecimal() or int(value) >= end - begin:
        raise InputError(f"expected {name}=value with a value below {end - begin}, found {word}")
    return begin + int(value)
