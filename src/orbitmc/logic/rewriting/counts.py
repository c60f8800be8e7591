"""Counts that must hold as clauses: of any n + 1 atoms one is false, if at most n are true."""

import itertools
import math
from collections.abc import Iterator

from orbitmc.logic.grounding.expansion import negation_normal
from orbitmc.logic.language.syntax import And, Count, Formula, Or, Truth

MAX_COUNT_CLAUSES = 2**17


def conjuncts(formula: Formula) -> list[Formula]:
    """Formulas that hold together where a formula in negation normal form holds.

    Counts become clauses, unless those are too many.
    """
    match formula:
        case And(parts):
            return [one for part in parts for one in conjuncts(part)]
        case Count():
            return list(_count_clauses(formula)) if _affordable(formula) else [formula]
        case Or(parts):
            counts = [part for part in parts if isinstance(part, Count)]
            if len(counts) == 1 and _affordable(counts[0]):
                rest = tuple(part for part in parts if part is not counts[0])
                return [
                    negation_normal(Or((*rest, clause))) for clause in _count_clauses(counts[0])
                ]
    return [formula]


def _bounds(count: Count) -> tuple[int, int]:
    """The least and the most parts that may hold."""
    number, most = count.number, len(count.parts)
    return {
        "=": (number, number),
        "<=": (0, number),
        "<": (0, number - 1),
        ">=": (number, most),
        ">": (number + 1, most),
    }.get(count.operator, (-1, -1))


def _affordable(count: Count) -> bool:
    low, high = _bounds(count)
    size = len(count.parts)
    if count.operator == "!=":
        return False
    if low > size or high < 0:
        return True
    above = math.comb(size, high + 1)
    below = math.comb(size, size - low + 1) if low else 0
    return above + below <= MAX_COUNT_CLAUSES


def _count_clauses(count: Count) -> Iterator[Formula]:
    low, high = _bounds(count)
    size = len(count.parts)
    if low > size or high < 0:
        yield Truth(False)
        return
    denied = [negation_normal(part, False) for part in count.parts]
    for some in itertools.combinations(denied, high + 1):
        yield negation_normal(Or(some))
    for some in itertools.combinations(count.parts, size - low + 1) if low else ():
        yield negation_normal(Or(some))
