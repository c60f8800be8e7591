"""Models in time: one model of the first slices and of one step becomes a model of many steps."""

import graphlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import join_words, quote, suggestion
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder, SharedTables
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model

TIMED = re.compile(r"(.+)\[(0|[1-9][0-9]{0,8})\]", re.DOTALL)
NO_TIME = -1
AFTER = " after "  # between the name of a child and what tells its helpers apart
MOST_STEPS = 10**8
ROW_ERROR = 1e-3  # how far from one a row of probabilities may add up, as files round


class TimedName(NamedTuple):
    """What a variable is called at all times, and its own time; NO_TIME if it is the same at all.

    >>> timed_name("rain[3]"), timed_name("climate")
    (TimedName(base='rain', time=3), TimedName(base='climate', time=-1))
    """

    base: str
    time: int

    def __str__(self) -> str:
        return self.base if self.time == NO_TIME else f"{self.base}[{self.time}]"


def timed_name(name: str) -> TimedName:
    """Take a name apart."""
    match = TIMED.fullmatch(name)
    return TimedName(match[1], int(match[2])) if match else TimedName(name, NO_TIME)


def unroll(model: Model, steps: int) -> Model:
    """Give the model of so many steps of time: its variables are X[0], X[1], … X[steps - 1].

    `model` says how time begins and how it goes on. Its variables are called X[0] in the first
    slice and X[1] in the next; one without a time, such as `climate`, is the same at all times.
    Factors that read X[1] are the step: they are repeated from each slice to the next. All others
    stand once. With names up to X[2], a step looks back two slices, and so on. Where nothing has
    brackets, `X0` and `Xt` mean X[0] and X[1]. Evidence comes after:
    `om.unroll(model, 100).given({"Y[3]": "on"})`.

    >>> import orbitmc as om
    >>> weather = om.unroll(om.read("examples/umbrella.bif"), 3)
    >>> weather.order
    ('rain[0]', 'umbrella[0]', 'rain[1]', 'umbrella[1]', 'rain[2]', 'umbrella[2]')
    >>> seen = {"umbrella[0]": "yes", "umbrella[1]": "yes"}
    >>> print(om.probability(weather, "rain[1] == 'yes'", seen))
    0.883357, exact
    """
    if not isinstance(model, Model):
        raise InputError(
            f"a model is unrolled, such as om.read gives, not a {type(model).__name__}"
        )
    _require_steps(steps)
    model.require_all_factors()
    if model.observed:
        raise InputError(
            f"{quote(next(iter(model.observed)))} is observed already: unroll the model first, "
            "then give evidence with times"
        )
    slices = _Slices(model, _timed_names(model))
    slices.check()
    return slices.unroll(int(steps))


def _require_steps(steps: int) -> None:
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise InputError(f"steps is a number above 0, not {steps!r}")
    if steps > MOST_STEPS:
        raise InputError(f"steps is at most {MOST_STEPS:,}, not {steps:,}")


def _timed_names(model: Model) -> list[TimedName]:
    """All names with their times; X0 and Xt are X[0] and X[1] where nothing has brackets.

    A helper has the time of the variable whose name it begins with.
    """
    names = model.names
    timed = [timed_name(name) for name in names]
    if any(name.time != NO_TIME for name in timed):
        return timed
    known = set(names)
    bases = {name[:-1] for name in names if name[-1:] == "t" and f"{name[:-1]}0" in known}
    bases.discard("")
    times = {**{f"{base}0": TimedName(base, 0) for base in bases},
             **{f"{base}t": TimedName(base, 1) for base in bases}}  # fmt: skip
    for helper in model.helpers:
        child, after, rest = helper.partition(AFTER)
        if child in times:
            times[helper] = TimedName(times[child].base + after + rest, times[child].time)
    return [times.get(name, TimedName(name, NO_TIME)) for name in names]


@dataclass(frozen=True)
class _Slices:
    """A model whose variables have times."""

    model: Model
    names: Sequence[TimedName]

    @cached_property
    def places(self) -> Mapping[TimedName, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def times(self) -> NDArray[np.int64]:
        return np.array([name.time for name in self.names], dtype=np.int64)

    @cached_property
    def last(self) -> int:
        """The time of the last slice, which is the one that is repeated."""
        return int(self.times.max(initial=NO_TIME))

    @cached_property
    def repeated(self) -> dict[str, int]:
        """What is there in every slice, and its place in a slice."""
        return {base: place for place, base in enumerate(self._in_last_slice(helpers=False))}

    @cached_property
    def helpers(self) -> dict[str, int]:
        """What noisy gates of a step need beside, and its place among those of one step."""
        return {base: place for place, base in enumerate(self._in_last_slice(helpers=True))}

    def _in_last_slice(self, *, helpers: bool) -> list[str]:
        pairs = zip(self.names, self.model.names, strict=True)
        return [
            name.base
            for name, plain in pairs
            if name.time == self.last and (plain in self.model.helpers) == helpers
        ]

    def slots(self, place: int) -> dict[str, int]:
        """What a variable is repeated with; nothing, if it stands once."""
        name = self.names[place]
        if self.model.names[place] in self.model.helpers:
            return self.helpers if name.time == self.last else {}
        return self.repeated if name.base in self.repeated else {}

    @cached_property
    def factor_times(self) -> NDArray[np.int64]:
        """The latest time that each factor reads."""
        graph = self.model.graph
        times = np.full(graph.factors, NO_TIME, dtype=np.int64)
        np.maximum.at(times, graph.factor_of_edge, self.times[graph.scope])
        return times

    def check(self) -> None:
        """Refuse what does not say how time begins and how it goes on."""
        if self.last < 1:
            shown = join_words([quote(name) for name in self.model.order[:3]])
            raise InputError(
                "a model of slices has variables called X[0], and X[1] for the slice after it; "
                f"the names here are {shown}"
            )
        for base in self.repeated:
            for time in range(self.last):
                self._require_slice(base, time)
        steps = np.flatnonzero(self.factor_times == self.last)
        for factor in steps.tolist():
            for variable in self.model.graph.scope_of(factor).tolist():
                if self.model.names[variable] not in self.model.helpers:
                    self._require_repeated(self.names[variable])
        if _is_network(self.model.graph):
            self._check_network()

    def _require_slice(self, base: str, time: int) -> None:
        here, later = TimedName(base, time), TimedName(base, self.last)
        if here not in self.places:
            known = [str(name) for name in self.names if name.time == time]
            raise InputError(
                f"there is {quote(str(later))}, but no {quote(str(here))}: say how it begins"
                f"{suggestion(str(here), known)}"
            )
        first, last = (self.model.values[self.places[name]] for name in (here, later))
        if first != last:
            raise InputError(
                f"{quote(str(here))} has the values {join_words(first)}, but {quote(str(later))} "
                f"has {join_words(last)}: the values are the same at all times"
            )

    def _require_repeated(self, name: TimedName) -> None:
        if name.time not in (NO_TIME, self.last) and name.base not in self.repeated:
            later = TimedName(name.base, self.last)
            raise InputError(
                f"a step looks back at {quote(str(name))}, but there is no {quote(str(later))}"
                f"{suggestion(str(later), [str(n) for n in self.names])}; a variable that is the "
                f"same at all times is called {quote(name.base)}"
            )

    def _check_network(self) -> None:
        """Refuse arrows back in time, and circles of arrows."""
        graph, parents = self.model.graph, {}
        for factor in range(graph.factors):
            *before, child = (self.names[v] for v in graph.scope_of(factor).tolist())
            later = [name for name in before if child.time < name.time == self.last]
            if later:
                raise InputError(
                    f"{quote(str(later[0]))} is a parent of {quote(str(child))}, which is "
                    f"{'earlier' if child.time > NO_TIME else 'the same at all times'}: arrows go "
                    "forward in time"
                )
            parents[str(child)] = [str(name) for name in before]
        try:
            graphlib.TopologicalSorter(parents).prepare()
        except graphlib.CycleError as error:
            circle = " <- ".join(map(quote, error.args[1]))
            raise InputError(f"the parents form a cycle: {circle}") from None

    def unroll(self, steps: int) -> Model:
        """The model of so many slices: what stands once, then slice after slice."""
        model, graph = self.model, self.model.graph
        once = [
            place
            for place, name in enumerate(self.names)
            if not self.slots(place) and name.time < steps
        ]
        moves = max(steps - self.last, 0)
        each = [self.places[TimedName(base, self.last)] for base in self.repeated]
        beside = [self.places[TimedName(base, self.last)] for base in self.helpers]
        order = [*once, *each * steps, *beside * moves]
        builder = Builder(graph.cardinality.astype(np.int64)[order])
        builder.constant = graph.constant
        self._add_factors(builder, self._places_in(once, steps), steps)
        names = [str(self.names[place]) for place in once]
        names += [f"{base}[{time}]" for time in range(steps) for base in self.repeated]
        times = range(self.last, self.last + moves)
        names += [f"{base}[{time}]" for time in times for base in self.helpers]
        values = [model.values[place] for place in order]
        return Model(
            graph=builder.build(),
            names=tuple(names),
            values=tuple(values),
            order=tuple(self._order(steps)),
            doubts=model.doubts,
        )

    def _order(self, steps: int) -> list[str]:
        """What has no time, then slice after slice, each as the author lists it."""
        place_of = self.model.index
        listed = [self.names[place_of[name]] for name in self.model.order]
        at = {time: [n for n in listed if n.time == time] for time in range(-1, self.last + 1)}
        start = [str(name) for time in range(-1, min(self.last, steps)) for name in at[time]]
        step = [name.base for name in at[self.last]]
        return start + [f"{base}[{time}]" for time in range(self.last, steps) for base in step]

    def _places_in(self, once: Sequence[int], steps: int) -> NDArray[np.int64]:
        """Where each variable of the model stands in that of many steps; -1 if nowhere."""
        places = np.full(len(self.names), -1, dtype=np.int64)
        places[list(once)] = np.arange(len(once))
        first = len(once) + steps * len(self.repeated)
        for place, name in enumerate(self.names):
            slots = self.slots(place)
            if slots is self.helpers:
                places[place] = first + slots[name.base]
            elif slots:
                places[place] = len(once) + name.time * len(slots) + slots[name.base]
        return places

    def _add_factors(self, builder: Builder, places: NDArray[np.int64], steps: int) -> None:
        """Add what stands once, then every step; equal tables are stored once."""
        graph, times = self.model.graph, self.factor_times
        tables = SharedTables(builder)
        moves = np.array([len(self.slots(place)) for place in range(len(self.names))])
        for factor in np.flatnonzero((times < self.last) & (times < steps)).tolist():
            self._add(
                builder,
                factor,
                places[graph.scope_of(factor)][None, :],
                tables.number(graph.table_values(factor)),
            )
        if steps <= self.last:
            return
        shifts = np.arange(steps - self.last)
        for factor in np.flatnonzero(times == self.last).tolist():
            scope = graph.scope_of(factor)
            rows = places[scope] + shifts[:, None] * moves[scope]
            self._add(builder, factor, rows, tables.number(graph.table_values(factor)))

    def _add(self, builder: Builder, factor: int, rows: NDArray[np.int64], table: int) -> None:
        graph = self.model.graph
        if factor < graph.first_clause:
            builder.add_factors(rows, np.full(len(rows), table))
        else:
            values = np.tile(graph.satisfying_of(factor), (len(rows), 1))
            builder.add_clauses(rows, values, np.full(len(rows), table))


def _is_network(graph: FactorGraph) -> bool:
    """Whether every variable is the last of one factor, whose rows are probabilities of it."""
    if graph.first_clause < graph.factors or graph.factors != graph.variables:
        return False
    scopes = [graph.scope_of(factor) for factor in range(graph.factors)]
    if any(len(scope) == 0 for scope in scopes):
        return False
    if len({int(scope[-1]) for scope in scopes}) < graph.variables:
        return False
    with np.errstate(over="ignore"):
        sums = [np.exp(graph.table_values(f)).sum(axis=-1) for f in range(graph.factors)]
    return all(bool((np.abs(rows - 1) <= ROW_ERROR).all()) for rows in sums)
