"""Independence of causal influence: noisy OR, AND, MAX, MIN and sums, of size linear in the causes.

Each cause, by itself, gives the child some value; what the child is combines these values: their
largest one, their smallest, or their sum. A chain of helper variables combines one cause after the
other, so a table never reads more than one cause. Helpers are summed out like any other variable;
people never see them, because the `order` of a model does not list them.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.text import join_words, quote, suggestion
from orbitmc.errors import InputError
from orbitmc.graph.evidence import TRUTH_NAMES, value_number

ROW_ERROR = 1e-6  # how far from one probabilities may add up

Combination = Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.int64]]
COMBINATIONS: Mapping[str, Combination] = {
    "largest": lambda first, second, size: np.maximum(first, second),
    "smallest": lambda first, second, size: np.minimum(first, second),
    "sum": lambda first, second, size: np.minimum(first + second, size - 1),
}
"""How two values of a child, as places, become one of so many."""

Domains = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Influences:
    """What each cause does to a child, alone: a row of probabilities for each of its values."""

    child: str
    causes: tuple[str, ...]
    tables: tuple[Floats, ...]
    leak: Floats
    combination: str

    def links(self) -> list[Floats]:
        """Tables of a chain: the first cause and what it gives, then what is so far and the next.

        The last axis is the result, and the last result is the child.
        """
        size = len(self.leak)
        if not self.tables:
            return [self.leak]
        join = np.zeros((size, size, size))
        first, second = np.indices((size, size))
        join[first, second, COMBINATIONS[self.combination](first, second, size)] = 1.0
        steps = [np.einsum("xb,abc->axc", table, join) for table in self.tables]
        return [np.einsum("a,axc->xc", self.leak, steps[0]), *steps[1:]]

    def chain(
        self, first_helper: int, number: Mapping[str, int]
    ) -> Iterator[tuple[list[int], Floats]]:
        """Factors, as variables and weights; helpers have the numbers from the first one on."""
        results = [*range(first_helper, first_helper + self.helpers), number[self.child]]
        before: list[int] = []
        for place, link in enumerate(self.links()):
            causes = [number[self.causes[place]]] if self.causes else []
            yield [*before, *causes, results[place]], link
            before = [results[place]]

    @property
    def parents(self) -> list[str]:
        """Its causes, as those of a table."""
        return list(self.causes)

    @property
    def helpers(self) -> int:
        """How many variables the chain needs beside its causes and its child."""
        return max(len(self.causes) - 1, 0)

    def helper_names(self, known: Container[str]) -> list[str]:
        """What helpers are called, unlike anything known; the time of a child comes last."""
        base, bracket, time = self.child.rpartition("[")
        base, time = (base, f"[{time}") if bracket and time.endswith("]") else (self.child, "")
        names: list[str] = []
        for place in range(self.helpers):
            name = f"{base} after {place + 1} of {len(self.causes)} causes"
            while f"{name}{time}" in known:
                name += "'"
            names.append(f"{name}{time}")
        return names


def add_helpers(gates: Iterable[Influences], domains: Domains) -> dict[str, tuple[str, ...]]:
    """The helpers of several gates, one after the other, with the values of their children."""
    helpers: dict[str, tuple[str, ...]] = {}
    for gate in gates:
        known = {*domains, *helpers}
        for name in gate.helper_names(known):
            helpers[name] = tuple(domains[gate.child])
    return helpers


# How people say it, by names; `om.model` looks the names up.

Strength = float | Sequence[Any] | Mapping[Any, Any] | NDArray[Any]


@dataclass(frozen=True)
class NoisyGate:
    """A noisy OR, AND, MAX, MIN or adder of a child and its causes, for `om.model`."""

    kind: str
    child: str
    causes: Mapping[str, Strength]
    leak: Any = None
    present: str | None = None

    def resolve(self, domains: Domains) -> Influences:
        """Look all names up, and check all numbers."""
        names = [self.child, *self.causes]
        for name in names:
            if name not in domains:
                raise InputError(
                    f"the noisy {self.kind} of {quote(self.child)} reads {quote(name)}, not a "
                    f"variable{suggestion(str(name), domains)}"
                )
        if self.child in self.causes:
            raise InputError(f"{quote(self.child)} is among its own causes")
        if self.kind in ("or", "and"):
            return self._of_two_values(domains)
        size = len(domains[self.child])
        neutral = size - 1 if self.kind == "min" else 0
        tables = tuple(
            self._rows(name, strength, domains[name], domains[self.child], neutral)
            for name, strength in self.causes.items()
        )
        leak = (
            np.eye(size)[neutral] if self.leak is None else self._row(self.leak, size, "the leak")
        )
        combination = {"max": "largest", "min": "smallest", "adder": "sum"}[self.kind]
        return Influences(self.child, tuple(self.causes), tables, leak, combination)

    def _of_two_values(self, domains: Domains) -> Influences:
        """OR and AND: each cause is a probability, and the child is present or not."""
        values = domains[self.child]
        if len(values) != 2:
            raise InputError(
                f"{quote(self.child)} has {len(values)} values, a noisy {self.kind} has 2: use "
                f"{'noisy_max' if self.kind == 'or' else 'noisy_min'}"
            )
        present = self._present(self.child, values, self.present)
        tables = []
        for name, strength in self.causes.items():
            chances = self._chances(name, strength, domains[name])
            table = np.zeros((len(chances), 2))
            table[:, present], table[:, 1 - present] = chances, 1.0 - chances
            tables.append(table)
        usual = 0.0 if self.kind == "or" else 1.0
        chance = usual if self.leak is None else self._chance(self.leak, "the leak")
        leak = np.zeros(2)
        leak[present], leak[1 - present] = chance, 1.0 - chance
        largest = (self.kind == "or") == (present == 1)
        combination = "largest" if largest else "smallest"
        return Influences(self.child, tuple(self.causes), tuple(tables), leak, combination)

    def _present(self, name: str, values: Sequence[str], given: str | None = None) -> int:
        """Which of its values means that something is there."""
        if given is not None:
            return value_number(name, given, values)
        words = [value.casefold() for value in values]
        for yes, no in (*TRUTH_NAMES, ("present", "absent"), ("on", "off")):
            if len(words) == 2 and set(words) == {yes, no}:
                return words.index(yes)
        how = (
            "present=…"
            if name == self.child
            else f"{{{quote(name)}: {{{quote(values[-1])}: 0.8}}}}"
        )
        raise InputError(
            f"which of the values {join_words(values)} of {quote(name)} means that it is present? "
            f"Say it by {how}"
        )

    def _chances(self, name: str, strength: Strength, values: Sequence[str]) -> Floats:
        """How probably each value of a cause makes the child present."""
        chances = np.zeros(len(values))
        what = f"the strength of {quote(name)}"
        if isinstance(strength, Mapping):
            for value, chance in strength.items():
                chances[value_number(name, value, values)] = self._chance(chance, what)
        elif np.ndim(strength) == 0:
            chances[self._present(name, values)] = self._chance(strength, what)
        else:
            if np.shape(strength) != (len(values),):
                raise InputError(
                    f"{what} is one probability, or one for each of its {len(values)} values"
                )
            chances[:] = [self._chance(chance, what) for chance in np.asarray(strength).tolist()]
        return chances

    def _chance(self, number: Any, what: str) -> float:
        try:
            chance = float(number)
        except (TypeError, ValueError):
            chance = -1.0
        if not 0.0 <= chance <= 1.0:
            raise InputError(f"{what} is a probability, from 0 to 1, not {number!r}")
        return chance

    def _rows(
        self,
        name: str,
        strength: Strength,
        values: Sequence[str],
        child: Sequence[str],
        neutral: int,
    ) -> Floats:
        """A row of probabilities of the child for each value of a cause."""
        rows = np.tile(np.eye(len(child))[neutral], (len(values), 1))
        if isinstance(strength, Mapping):
            for value, row in strength.items():
                what = f"the row of {quote(name)} = {quote(str(value))}"
                rows[value_number(name, value, values)] = self._row(row, len(child), what)
            return rows
        listed = list(strength) if np.ndim(strength) else []  # type: ignore[arg-type]
        if len(listed) != len(values):
            raise InputError(
                f"{quote(name)} needs a row of probabilities for each of its {len(values)} values, "
                "or a mapping from values to rows"
            )
        for place, row in enumerate(listed):
            rows[place] = self._row(
                row, len(child), f"the row of {quote(name)} = {quote(values[place])}"
            )
        return rows

    def _row(self, row: Any, size: int, what: str) -> Floats:
        try:
            numbers = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        if numbers.shape != (size,) or not (numbers >= 0).all() or not np.isfinite(numbers).all():
            raise InputError(
                f"{what} is {size} probabilities, one for each value of {quote(self.child)}, not "
                f"{row!r}"
            )
        if abs(numbers.sum() - 1.0) > ROW_ERROR:
            raise InputError(f"{what} sums to {numbers.sum():.6g}, not to 1")
        normalised: Floats = numbers / numbers.sum()
        return normalised


def noisy_or(
    child: str,
    causes: Mapping[str, Strength],
    *,
    leak: float = 0.0,
    present: str | None = None,
) -> NoisyGate:
    """Let a child be present if any of its causes brings it about, each by itself.

    A number says how probably a cause does that when it is present; a mapping says it for each of
    its values. `leak` is how probably the child is present without any cause. Which value means
    present is clear of yes and no, true and false, on and off, 1 and 0; of others, say `present`.
    Goes into the factors of `om.model`, and stays linear in the number of causes.

    >>> import orbitmc as om
    >>> fever = om.noisy_or("fever", {"flu": 0.8, "cold": 0.3}, leak=0.1)
    >>> yes = ["no", "yes"]
    >>> model = om.model(
    ...     {"flu": yes, "cold": yes, "fever": yes},
    ...     [(["flu"], [0.9, 0.1]), (["cold"], [0.7, 0.3]), fever],
    ... )
    >>> print(om.probability(model, "fever == 'yes'", {"flu": "yes", "cold": "yes"}))
    0.874, exact
    """
    return NoisyGate("or", child, dict(causes), leak, present)


def noisy_and(
    child: str,
    causes: Mapping[str, Strength],
    *,
    leak: float = 1.0,
    present: str | None = None,
) -> NoisyGate:
    """Let a child be present if all of its causes let it, each by itself.

    A number says how probably a cause that is present lets the child be; one that is absent never
    does. A mapping says it for each value. `leak` is how probably nothing else prevents it.

    >>> import orbitmc as om
    >>> gate = om.noisy_and("runs", {"power": 0.99, "fuel": 0.9})
    >>> yes = ["no", "yes"]
    >>> model = om.model({"power": yes, "fuel": yes, "runs": yes}, [gate])
    >>> print(om.probability(model, "runs == 'yes'", {"power": "yes", "fuel": "yes"}))
    0.891, exact
    """
    return NoisyGate("and", child, dict(causes), leak, present)


def noisy_max(
    child: str, causes: Mapping[str, Strength], *, leak: Sequence[float] | None = None
) -> NoisyGate:
    """Let a child have the largest of the values that its causes give it, each by itself.

    Values are ordered as the child lists them, from the least. A cause has a row of probabilities
    of the child's values for each of its own values; in a mapping, values that are left out give
    the least one. `leak` is a row for no cause at all.

    >>> import orbitmc as om
    >>> causes = {"burn": {"yes": [0.2, 0.5, 0.3]}, "cut": {"yes": [0.5, 0.5, 0]}}
    >>> pain = om.noisy_max("pain", causes)
    >>> yes = ["no", "yes"]
    >>> values = {"burn": yes, "cut": yes, "pain": ["none", "some", "much"]}
    >>> found = om.marginals(om.model(values, [pain]), {"burn": "yes", "cut": "yes"})["pain"]
    >>> found.probability.round(6).tolist()
    [0.1, 0.6, 0.3]
    """
    return NoisyGate("max", child, dict(causes), leak)


def noisy_min(
    child: str, causes: Mapping[str, Strength], *, leak: Sequence[float] | None = None
) -> NoisyGate:
    """Let a child have the smallest of the values that its causes give it, each by itself.

    As `noisy_max`; values of a cause that a mapping leaves out give the largest one.

    >>> import orbitmc as om
    >>> gate = om.noisy_min("speed", {"ice": {"yes": [0.5, 0.5]}})
    >>> model = om.model({"ice": ["no", "yes"], "speed": ["slow", "fast"]}, [gate])
    >>> print(om.probability(model, "speed == 'slow'", {"ice": "yes"}))
    0.5, exact
    """
    return NoisyGate("min", child, dict(causes), leak)


def noisy_adder(
    child: str, causes: Mapping[str, Strength], *, leak: Sequence[float] | None = None
) -> NoisyGate:
    """Let a child be the sum of what its causes give it, each by itself.

    The values of the child mean 0, 1, 2 and so on as they are listed; the last one means that many
    or more. Causes have rows as for `noisy_max`; values that a mapping leaves out give 0.

    >>> import orbitmc as om
    >>> gate = om.noisy_adder("faults", {"a": {"yes": [0.5, 0.5, 0]}, "b": {"yes": [0.5, 0.5, 0]}})
    >>> yes = ["no", "yes"]
    >>> model = om.model({"a": yes, "b": yes, "faults": ["0", "1", "2 or more"]}, [gate])
    >>> om.marginals(model, {"a": "yes", "b": "yes"})["faults"].probability.round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    return NoisyGate("adder", child, dict(causes), leak)
