"""Numbers of the constants that terms stand for, a column of bindings at a time."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.logic.databases.universe import NO_NUMBER, Ints, Universe, integer_of
from orbitmc.logic.language.syntax import Comparison, Constant, Term, Variable

NOBODY = -1
"""Stands for a term whose result is no constant of the wanted type."""


class BoundTerms:
    """Looks up terms for some bindings of a rule's variables."""

    def __init__(
        self, universe: Universe, types: Mapping[str, str], bound: Mapping[str, Ints], rows: int
    ) -> None:
        self.universe, self.types, self.bound, self.rows = universe, types, bound, rows

    def numbers(self, term: Term, kind: str) -> Ints:
        """The constant of type `kind` that a term stands for, or NOBODY."""
        match term:
            case Variable(name):
                return self.bound[name]
            case Constant(name):
                return np.full(self.rows, self.universe.numbers[kind].get(name, NOBODY))
        if term.function == "concat":
            numbers = self.universe.numbers[kind]
            found = [numbers.get(name, NOBODY) for name in self.names(term)]
            return np.array(found, dtype=np.int64)
        return self._by_integer(self.integers(term), kind)

    def integers(self, term: Term) -> Ints:
        """The integer that a term is, or NO_NUMBER."""
        match term:
            case Variable(name):
                return self.universe.integers[self.types[name]][self.bound[name]]
            case Constant(name):
                return np.full(self.rows, integer_of(name), dtype=np.int64)
        inner = [self.integers(part) for part in term.arguments]
        valid = np.logical_and.reduce([part != NO_NUMBER for part in inner])
        with np.errstate(over="ignore", divide="ignore"):
            found = FUNCTIONS[term.function](*inner)
        if term.function in ("dividedBy", "mod"):
            valid &= inner[1] != 0
        return np.where(valid, found, NO_NUMBER)

    def names(self, term: Term) -> list[str]:
        """The name that a term stands for."""
        match term:
            case Variable(name):
                constants = self.universe.constants[self.types[name]]
                return [constants[number] for number in self.bound[name]]
            case Constant(name):
                return [name] * self.rows
        if term.function == "concat":
            columns = [self.names(part) for part in term.arguments]
            return ["".join(row) for row in zip(*columns, strict=True)]
        return [str(number) for number in self.integers(term)]

    def holds(self, comparison: Comparison) -> NDArray[np.bool_]:
        """Whether a comparison holds, for every binding."""
        left, right = comparison.left, comparison.right
        if comparison.operator in ("=", "!="):
            return np.asarray(self._equal(left, right) == (comparison.operator == "="))
        if comparison.operator == "precedes":
            first, second = (self.numbers(term, "") for term in (left, right))
            return np.asarray(first < second)
        if comparison.operator == "substr":
            pairs = zip(self.names(left), self.names(right), strict=True)
            return np.array([inner in outer for inner, outer in pairs], dtype=bool)
        first, second = self.integers(left), self.integers(right)
        if (first == NO_NUMBER).any() or (second == NO_NUMBER).any():
            raise InputError(
                f"`{comparison.operator}` compares integers, but a constant here is no integer"
            )
        return np.asarray(ORDERS[comparison.operator](first, second))

    def _equal(self, left: Term, right: Term) -> NDArray[np.bool_]:
        match left, right:
            case Variable(one), Variable(other) if self.types[one] == self.types[other]:
                return np.asarray(self.bound[one] == self.bound[other])
            case (Variable(one), Constant(name)) | (Constant(name), Variable(one)):
                number = self.universe.numbers[self.types[one]].get(name, NOBODY)
                return np.asarray(self.bound[one] == number)
        pairs = zip(self.names(left), self.names(right), strict=True)
        return np.array([one == other for one, other in pairs], dtype=bool)

    def _by_integer(self, integers: Ints, kind: str) -> Ints:
        known = self.universe.integers[kind]
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known[order], integers), len(known) - 1)
        hit = (known[order][place] == integers) & (integers != NO_NUMBER)
        return np.where(hit, order[place], NOBODY)


FUNCTIONS: Mapping[str, Callable[..., Ints]] = {
    "succ": lambda number: number + 1,
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
    "dividedBy": lambda left, right: np.floor_divide(left, np.where(right == 0, 1, right)),
    "mod": lambda left, right: np.mod(left, np.where(right == 0, 1, right)),
}

ORDERS: Mapping[str, Callable[[Ints, Ints], NDArray[np.bool_]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
