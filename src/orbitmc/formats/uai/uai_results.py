"""UAI results: `MAR` (a probability for each value of each variable) and `PR` (log10 of Z)."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import Floats, floats
from orbitmc._util.files import write_pieces, write_text
from orbitmc._util.text import MEMORY, number_in, quoted, read_text
from orbitmc.errors import InputError
from orbitmc.formats.uai.words import Words

BEGIN = "-BEGIN-"
ROWS = 4096  # variables that are turned into words at a time


def read_mar(path: str | Path, *, memory: int = MEMORY) -> list[Floats]:
    r"""Read marginals: for each variable, in order, the probabilities of its values.

    Some programs write how many answers follow before the number of variables; one is accepted.
    Of a program that improves its answer (-BEGIN-), the last one counts.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "coin.MAR"
    >>> _ = path.write_text("MAR\n1 2 0.25 0.75\n")
    >>> [probability.tolist() for probability in read_mar(path)]
    [[0.25, 0.75]]
    """
    words = _last_answer(path, "MAR", memory)
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
    first = words.taken
    counted = words.words[first : first + 1] == ["1"]
    return counted and not _fits(words.words, first) and _fits(words.words, first + 1)


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
    rows = [floats(row) for row in marginals]
    start = np.cumsum([0, *map(len, rows)])
    write_flat_mar(path, np.concatenate([np.zeros(0), *rows]), start)


def write_flat_mar(path: str | Path, probabilities: Floats, start: NDArray[np.int64]) -> None:
    """Write marginals that stand in one array; those of variable `k` from `start[k]` on."""
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError("marginals to write must be probabilities, 0 to 1", source=str(path))
    write_pieces(path, chain([f"MAR\n{len(start) - 1}"], _words(probabilities, start), ["\n"]))


def _words(probabilities: Floats, start: NDArray[np.int64]) -> Iterator[str]:
    for first in range(0, len(start) - 1, ROWS):
        places = start[first : first + ROWS + 1].tolist()
        numbers = probabilities[places[0] : places[-1]].tolist()
        ends = [place - places[0] for place in places]
        yield "".join(
            f" {last - begin} {' '.join(map(repr, numbers[begin:last]))}"
            for begin, last in pairwise(ends)
        )


def read_pr(path: str | Path, *, memory: int = MEMORY) -> float:
    """Read the logarithm (base 10) of the partition function."""
    words = _last_answer(path, "PR", memory)
    if words.left == 2 and words.words[words.taken] == "1":
        words.taken += 1  # how many answers follow
    word = words.word("log10 of the partition function")
    number = number_in(word)
    if math.isnan(number) or number == math.inf:
        raise words.error(
            words.taken - 1, f"expected log10 of the partition function, found {quoted(word)}"
        )
    words.end()
    return number


def write_pr(path: str | Path, log10_z: float) -> None:
    """Write the logarithm (base 10) of the partition function."""
    write_text(path, f"PR\n{float(log10_z)!r}\n")


def _last_answer(path: str | Path, kind: str, memory: int) -> Words:
    """The words of an answer of some kind; of a solver that improves it, those of the last one.

    Such solvers write -BEGIN- before each of their answers.
    """
    words = Words(read_text(path, memory=memory), memory=memory)
    found = words.word(kind)
    if found.upper() != kind:
        raise words.error(0, f"expected {kind}, found {quoted(found)}")
    begins = [place for place, word in enumerate(words.words) if word.upper() == BEGIN]
    words.taken = begins[-1] + 1 if begins else words.taken
    again = words.words[words.taken : words.taken + 1]
    if begins and again and again[0].upper() == kind:
        words.taken += 1
    return words
