"""Functions of states, and tables over a few variables, as features that are averaged."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.ask.questions.features.answering import variables_of
from orbitmc.ask.questions.subject import Named, Subject
from orbitmc.errors import InputError

Function = Callable[[Mapping[str, NDArray[Any]]], Any]
Table = tuple[Sequence[str], Any]
Lookup = Callable[[Named], NDArray[Any] | None]

MOST_TRIED = 2**12  # joint values of names, for a function that was the same in all states
ROUNDING = 1e-12  # numbers that differ by less, relative to the larger one, are the same


class Values(Mapping[str, NDArray[Any]]):
    """The values of names in some states, found when one asks; notes who was asked about."""

    def __init__(self, asked: Subject, lookup: Lookup, count: int) -> None:
        self.asked, self.lookup, self.count = asked, lookup, count
        self.used: dict[str, Named] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        one = self.asked.find(name)
        self.used[one.name] = one
        known = one.known
        found = None if known is not None else self.lookup(one)
        return np.full(self.count, known or 0) if found is None else one.meaning[found]

    def __iter__(self) -> Iterator[str]:
        return iter(self.asked.names)

    def __len__(self) -> int:
        return len(self.asked.names)


@dataclass(frozen=True)
class Asked:
    """A feature under its name: a function of the values of names in many states."""

    name: str
    function: Function

    def __call__(self, values: Values) -> Floats:
        """A number for each state; anything else is refused."""
        found = np.asarray(self.function(values))
        if found.shape == ():
            found = np.full(values.count, found)
        if found.shape != (values.count,):
            raise InputError(
                f"the function {self.name!r} gave an array of shape {found.shape} for "
                f"{values.count} states; give one number for each"
            )
        if found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            raise InputError(f"the function {self.name!r} gave what is not a finite number")
        return found.astype(np.float64)


def features_from(features: Mapping[str, Function | Table], asked: Subject) -> list[Asked]:
    """Check what is asked for, before anything is sampled."""
    if not isinstance(features, Mapping) or not features:
        raise InputError("expected a mapping from names to functions of states, or to tables")
    return [Asked(name, _function(name, one, asked)) for name, one in features.items()]


def _function(name: str, one: Function | Table, asked: Subject) -> Function:
    if callable(one):
        return one
    if not isinstance(one, tuple) or len(one) != 2:
        raise InputError(f"the feature {name!r} is neither a function nor (names, table)")
    listed = [one[0]] if isinstance(one[0], str) else list(one[0])
    named = asked.named(listed)
    table, shape = np.asarray(one[1]), tuple(len(each.values) for each in named)
    if table.shape != shape:
        raise InputError(f"the table {name!r} has the shape {table.shape}, expected {shape}")
    return lambda values: table[tuple(values[each.name] for each in named)]


class FunctionFeature:
    """Sums of functions and of their squares, in turns, and the least and largest of each."""

    averaged = -1

    def __init__(self, functions: Sequence[Asked], asked: Subject) -> None:
        self.functions, self.asked = functions, asked
        self.variables = np.arange(asked.model.graph.variables)
        self.rows = 2 * len(functions)
        self.low, self.high = np.full((2, len(functions)), np.inf)
        self.high *= -1
        self.used: list[dict[str, Named]] = [{} for _ in functions]
        self.alone = (
            threading.Lock()
        )  # packs work in threads; whose functions these are need not know

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        with self.alone:
            return self._sums(states)

    def _sums(self, states: Bytes) -> Floats:
        from orbitmc.estimate.features import by_column

        found = np.zeros((self.rows, states.shape[1]))
        for place, function in enumerate(self.functions):
            values = Values(self.asked, lambda one: states[one.variable], states.shape[1])
            own = function(values)
            self.used[place].update(values.used)
            self.low[place] = min(self.low[place], own.min())
            self.high[place] = max(self.high[place], own.max())
            found[2 * place], found[2 * place + 1] = own, own**2
        return by_column(found)

    def ends(self, place: int) -> tuple[float, float] | None:
        """The least and the largest number that a function may be; None if nobody knows.

        They are those that were seen. Where these are the same, the function is tried for all
        joint values of the names that it looks at: states that were not seen may differ.
        """
        low, high = float(self.low[place]), float(self.high[place])
        if high - low > ROUNDING * max(abs(low), abs(high)):
            return low, high
        found = self._everywhere(place)
        return None if found is None else (min(low, found.min()), max(high, found.max()))

    def _everywhere(self, place: int) -> Floats | None:
        """The numbers of a function for all joint values; None if they are many, or it fails."""
        used, size = self.used[place], self.asked.model.graph.cardinality
        while True:
            scope = variables_of(used.values())
            sizes = [int(size[variable]) for variable in scope]
            count = math.prod(sizes)
            if count > MOST_TRIED:
                return None
            states = dict(zip(scope, np.indices(sizes).reshape(len(sizes), count), strict=True))
            values = Values(self.asked, lambda one, s=states: s.get(one.variable), count)  # type: ignore[misc]
            try:
                with np.errstate(all="ignore"):
                    found = self.functions[place](values)
            except Exception:  # it is not ours, and need not know what to do in impossible states
                return None
            if set(variables_of(values.used.values())) <= set(scope):
                return found
            used.update(values.used)

    def errors(self, means: Floats) -> Floats:
        from orbitmc.estimate.statistics import spread_of

        return spread_of(means[0::2])

    def depends(self) -> list[int]:
        """The variables that any function has looked at."""
        used = (one for own in self.used for one in own.values() if one.known is None)
        return list(dict.fromkeys(one.variable for one in used))
