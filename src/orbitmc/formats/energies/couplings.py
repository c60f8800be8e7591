"""Couplings as text, a line each: `i j bias`, or `i i bias` for a variable by itself.

dimod writes such files as COO, with a first line `# vartype=SPIN` or `# vartype=BINARY`. Others
begin with a line of two numbers, how many spins and couplings there are. All hold energies: a
state weighs exp(-E), and `model.at(beta)` gives other temperatures. What stands twice adds up, as
in dimod; a list of spins with a pair in both orders is refused.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orbitmc._util.text import MEMORY, Text, number_in, quoted, read_text, require_memory
from orbitmc.graph.model import Model
from orbitmc.models.quadratic import Quadratic, quadratic_model

BYTES_PER_LINE = 600
"""What a line takes: a coupling as Python objects, then as a factor; `1 2 3` is a short one."""

BYTES_PER_SPIN = 200
"""What a variable takes that is announced and never named."""

VARTYPE = re.compile(r"#\s*vartype\s*=\s*(\S+)", re.IGNORECASE)
MOST_DIGITS = 18
SPARE = 1000  # spins that a file may announce beyond those that it couples


class Line(NamedTuple):
    """A line that says something: where it begins, and its words."""

    at: int
    words: list[str]


def read_coo(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read COO as dimod writes it; the file must say what its variables are."""
    text = read_text(path, memory=memory)
    found = VARTYPE.search(text.content)
    if found is None:
        raise text.error(0, "expected a first line '# vartype=SPIN' or '# vartype=BINARY'")
    if found[1].upper() not in ("SPIN", "BINARY"):
        raise text.error(found.start(1), f"expected SPIN or BINARY, found {quoted(found[1])}")
    return _read(text, found[1].upper(), memory)


def read_ising(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read couplings of spins, with or without a first line of two numbers."""
    return _read(read_text(path, memory=memory), "SPIN", memory, one_order=True)


def _read(text: Text, vartype: str, memory: int, *, one_order: bool = False) -> Model:
    require_memory(text.source, BYTES_PER_LINE * (text.content.count("\n") + 1), memory)
    lines = list(_lines(text))
    head = lines.pop(0) if lines and len(lines[0].words) == 2 else None
    if not lines:
        raise text.error(len(text.content), "expected lines 'i j bias', found none")
    terms = [_term(text, line) for line in lines]
    if one_order:
        _require_one_order(text, lines, terms)
    spins = None
    if head is not None:
        spins = _label(text, head, 0)
        _require_all(text, head, terms)
    labels = _labels(text, terms, spins, memory)
    place = {label: number for number, label in enumerate(labels)}
    linear = np.zeros(len(labels))
    for first, second, bias in terms:
        if first == second:
            linear[place[first]] += bias
    pairs = [(place[first], place[second]) for first, second, _ in terms if first != second]
    strengths = [bias for first, second, bias in terms if first != second]
    names = tuple(str(label) for label in labels)
    energy = Quadratic(vartype, names, linear, np.array(pairs, dtype=np.int64), np.array(strengths))
    return quadratic_model(energy)


def _lines(text: Text) -> Iterator[Line]:
    at = 0
    for line in text.content.split("\n"):
        words = line.split("#")[0].split()
        if words:
            yield Line(at + len(line) - len(line.lstrip()), words)
        at += len(line) + 1


def _term(text: Text, line: Line) -> tuple[int, int, float]:
    if len(line.words) != 3:
        raise text.error(line.at, f"expected 'i j bias', found {len(line.words)} words")
    bias = number_in(line.words[2])
    if not math.isfinite(bias):
        raise text.error(line.at, f"expected a finite bias, found {quoted(line.words[2])}")
    return _label(text, line, 0), _label(text, line, 1), bias


def _require_one_order(text: Text, lines: list[Line], terms: list[tuple[int, int, float]]) -> None:
    """Refuse a list of both entries of a symmetric matrix: each coupling would count twice."""
    named = {(first, second) for first, second, _ in terms if first < second}
    for line, (first, second, _) in zip(lines, terms, strict=True):
        if first > second and (second, first) in named:
            raise text.error(
                line.at,
                f"the coupling of {second} and {first} is there in both orders; give it once",
            )


def _label(text: Text, line: Line, place: int) -> int:
    word = line.words[place]
    if not (word.isascii() and word.isdigit()) or len(word) > MOST_DIGITS:
        raise text.error(line.at, f"expected the number of a variable, found {quoted(word)}")
    return int(word)


def _require_all(text: Text, head: Line, terms: list[tuple[int, int, float]]) -> None:
    """Refuse a file that was cut off; some count couplings only, others all lines."""
    couplings = sum(one != other for one, other, _ in terms)
    if _label(text, head, 1) not in (couplings, len(terms)):
        raise text.error(
            head.at,
            f"{head.words[1]} couplings are announced, but {couplings} follow: is the file whole?",
        )


def _labels(
    text: Text, terms: list[tuple[int, int, float]], spins: int | None, memory: int
) -> list[int]:
    """All variables in order; those that are announced but never named are free."""
    named = {label for first, second, _ in terms for label in (first, second)}
    if spins is None:
        return sorted(named)
    if spins > len(named) + SPARE * len(terms):
        raise text.error(0, f"{spins} spins are announced, but only {len(terms)} lines follow")
    require_memory(text.source, BYTES_PER_SPIN * spins, memory)
    first = 0 if 0 in named else 1
    if max(named) >= spins + first:
        raise text.error(0, f"{spins} spins are announced, but there is a spin {max(named)}")
    return list(range(first, spins + first))
