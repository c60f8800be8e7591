"""UAI results: `MAR` (a probability for each value of each variable) and `PR` (log10 of Z)."""

import math
from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from orbitmc.arrays import Floats, floats
from orbitmc.errors import InputError
from orbitmc.formats.words import Words
from orbitmc.formats.writing import write_text
from orbitmc.text import MEMORY, quoted, read_text


def read_mar(path: str | Path, *, memory: int = MEMORY) -> list[Floats]:
    """Read marginals: for each variable, in order, the probabilities of its values.

    Some programs write how many answers follow before the number of variables; one is accepted.
    """
    words = Words(read_text(path, memory=memory), memory=memory)
    _require_kind(words, "MAR")
    if _starts_with_answer_count(words):
        words.taken += 1
    count = words.integer("the number of variables")
    if 2 * count > words.left:
        raise words.error(
            words.taken - 1, f"{count} variables are announced, but only {words.left} words follow"
        )
    marginals = [_probabilities(words, variable) for variable in range(count)]
    words.end()
    return marginals


def _probabilities(words: Words, variable: int) -> Floats:
    size = words.integer("the number of values of variable {}", variable)
    first = words.taken
    numbers = words.weights(size, "{} probabilities of variable {}", size, variable)
    for place, number in enumerate(numbers, first):
        if number > 1:
            raise words.error(place, f"expected a probability, found {number}")
    return floats(numbers)


def _starts_with_answer_count(words: Words) -> bool:
    """Whether the words only fit together when the first one counts answers, not variables."""
    return words.words[1:2] == ["1"] and not _fits(words.words, 1) and _fits(words.words, 2)


def _fits(words: Sequence[str], place: int) -> bool:
    """Whether a number of variables stands here, followed by exactly their probabilities."""
    sizes = words[place : place + 1]
    if not sizes or not sizes[0].isdigit() or len(sizes[0]) > len(str(len(words))):
        return False
    end = place + 1
    for _ in range(int(sizes[0])):
        if end >= len(words) or not words[end].isdigit() or len(words[end]) > 9:
            return False
        end += 1 + int(words[end])
    return end == len(words)


def write_mar(path: str | Path, marginals: Sequence[ArrayLike]) -> None:
    """Write marginals, one list of probabilities for each variable in the author's order."""
    rows = [floats(row).tolist() for row in marginals]
    if not all(0 <= number <= 1 for row in rows for number in row):
        raise InputError("marginals to write must be probabilities, 0 to 1", source=str(path))
    listed = (" ".join(map(repr, row)) for row in rows)
    body = (f"{len(row)} {text}" for row, text in zip(rows, listed, strict=True))
    write_text(path, "\n".join(["MAR", " ".join([str(len(rows)), *body])]) + "\n")


def read_pr(path: str | Path, *, memory: int = MEMORY) -> float:
    """Read the logarithm (base 10) of the partition function."""
    words = Words(read_text(path, memory=memory), memory=memory)
    _require_kind(words, "PR")
    word = words.word("log10 of the partition function")
    try:
        number = math.nan if "_" in word else float(word)
    except ValueError:
        number = math.nan
    if math.isnan(number) or number == math.inf:
        raise words.error(1, f"expected log10 of the partition function, found {quoted(word)}")
    words.end()
    return number


def write_pr(path: str | Path, log10_z: float) -> None:
    """Write the logarithm (base 10) of the partition function."""
    write_text(path, f"PR\n{float(log10_z)!r}\n")


def _require_kind(words: Words, kind: str) -> None:
    found = words.word(kind)
    if found.upper() != kind:
        raise words.error(0, f"expected {kind}, found {quoted(found)}")
