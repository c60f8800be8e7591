"""Questions that take longer to prepare than to answer: what can be prepared is kept.

Which variables are observed decides how an elimination goes; their values only choose entries of
tables. So the second question about the same variables starts with all of that done.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.loading import LateModule
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.estimate.marginals import About, Marginals, Places, certain_columns
from orbitmc.estimate.verdicts import CODE, EXACT, OBSERVED
from orbitmc.exact.problem import MOST_JOINT_ENTRIES, Problem, Scope, prepare
from orbitmc.exact.templates import Elimination, Template, Upward, template
from orbitmc.graph.evidence import Evidence, ResolvedEvidence, as_mapping, resolve
from orbitmc.graph.log_weights import exact_sum, large_factors
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import relevant
from orbitmc.inference.plan import describe_cost, is_affordable
from orbitmc.inference.settings import Settings, describe_unused_settings

if TYPE_CHECKING:
    from orbitmc.exact.map import MaxTemplate

maximisation = LateModule("orbitmc.exact.map")

# What was worked out of an object, kept as long as the object is there.
#
# It belongs to that very object: a changed copy of it is another one, and shares nothing.

T = TypeVar("T")

Key = tuple[int, Hashable]


class WeakCache:
    """The last few things that were worked out, by object and by what was asked of it.

    No more than so many, and together no more than so many bytes.
    """

    def __init__(self, most: int, most_bytes: int = 2**27) -> None:
        self.most, self.most_bytes = most, most_bytes
        self._found: OrderedDict[Key, tuple[weakref.ref[Any], Any, int]] = OrderedDict()
        self._taken = 0  # bytes of all of them
        self._lock = threading.Lock()

    def of(
        self,
        owner: object,
        key: Hashable,
        make: Callable[[], T],
        size_of: Callable[[T], int] = lambda value: 0,
    ) -> T:
        """What `make` gives for an object and a key, made once; never that of another object."""
        place = (id(owner), key)
        with self._lock:
            known = self._found.get(place)
            if known is not None and known[0]() is owner:
                self._found.move_to_end(place)
                return known[1]  # type: ignore[no-any-return]
        value = make()
        with self._lock:
            self._drop(place)
            size = size_of(value)
            self._found[place] = (weakref.ref(owner), value, size)
            self._taken += size
            if self._is_full():
                self._forget()
        return value

    def __len__(self) -> int:
        return len(self._found)

    def _is_full(self) -> bool:
        return len(self._found) > self.most or self._taken > self.most_bytes

    def _forget(self) -> None:
        """Let go what belonged to objects that are gone, and what was asked for longest ago.

        Of too many an eighth goes at once, so that the next ones do not look through all again.
        """
        for place in [place for place, (owner, *_) in self._found.items() if owner() is None]:
            self._drop(place)
        if len(self._found) > self.most:
            for place in list(self._found)[: max(1, self.most // 8)]:
                self._drop(place)
        while len(self._found) > 1 and self._is_full():
            self._drop(next(iter(self._found)))

    def _drop(self, place: Key) -> None:
        *_, size = self._found.pop(place, (None, None, 0))
        self._taken -= size


MOST_VARIABLES, MOST_FACTORS = 2_000, 20_000  # more take seconds, before it is known what for
MOST_COST = 2.0**25
"""Of an order; beyond, what values rule out saves more than what is kept."""

SEARCH = 1.0  # seconds at most for an order
KEPT = WeakCache(256, most_bytes=2**28)
Names = tuple[str, ...] | None


@dataclass(frozen=True)
class Layout:
    """Where the numbers of an answer come from.

    Of the answer's flat array, `decided` is known before; `variables` of the tree go to `target`;
    `seen[k]` is where the values of the k-th observed variable begin, or -1. The `sizes` of all
    variables say how many values they have, `start` where these begin.
    """

    names: Sequence[str]
    values: Sequence[tuple[str, ...]]
    decided: Floats
    variables: tuple[int, ...]
    target: Places
    seen: Places
    verdict: Bytes
    start: Places
    sizes: Places


@dataclass(frozen=True)
class CachedElimination:
    """One row of evidence, eliminated: `values` are those of the observed variables, in order."""

    model: Model
    elimination: Elimination
    values: dict[int, int]
    upward: Upward
    log_z: float
    begun: float
    unheeded: str

    @property
    def about(self) -> About:
        """What to say of an answer."""
        seconds = time.perf_counter() - self.begun
        reason = f"{describe_cost(self.elimination.template)}{self.unheeded}"
        return About(
            method="exact",
            reason=reason,
            seconds=seconds,
            log_z=self.log_z,
            warnings=self.model.doubts,
        )

    def marginals(self, names: Names) -> Marginals | None:
        """Marginals of some names, or of all; None if they are no numbers."""
        elimination = self.elimination
        layout = KEPT.of(elimination, names, lambda: _layout(self.model, elimination, names))
        marginals = elimination.marginals(self.upward, layout.variables)
        flat = layout.decided.copy()
        if layout.variables:
            flat[layout.target] = np.concatenate([marginals[v][:, 0] for v in layout.variables])
        for first, value in zip(layout.seen, self.values.values(), strict=True):
            if first >= 0:
                flat[first + value] = 1.0
        flat /= np.repeat(np.add.reduceat(flat, layout.start), layout.sizes)
        if not np.isfinite(flat).all():
            return None
        columns = certain_columns(layout.names, layout.values, flat, layout.verdict)
        return Marginals(columns, self.about)

    def tables(self, scopes: Sequence[Scope]) -> list[Floats]:
        """Joint probabilities of variables of the model that were tied, an axis for each."""
        place = self.elimination.template.place
        places = [tuple(place[v] for v in scope if v in place) for scope in scopes]
        joints = self.elimination.joints(self.upward, places)
        problem = self.elimination.template.problem
        return [problem.joint_of(*pair, self.values) for pair in zip(scopes, joints, strict=True)]

    def likely_state(self) -> dict[int, int]:
        """A possible state of all variables of the model."""
        template = self.elimination.template
        chosen = self.elimination.likely_state(self.upward)
        free = {
            variable: int(
                possible[chosen[template.place[variable]] if variable in template.place else 0]
            )
            for variable, possible in enumerate(template.problem.possible)
        }
        return {**free, **self.values}


def find_elimination(
    model: Model,
    evidence: Evidence | None,
    settings: Settings,
    tied: Sequence[Scope] = (),
) -> CachedElimination | None:
    """Eliminate a small model with evidence; None where others must look at it."""
    begun = time.perf_counter()
    row = find_row(model, evidence, settings)
    if row is None or _are_too_large(model, tied):
        return None
    elimination = _elimination(model, row.observed, row.soft, tuple(tied))
    if elimination is None or not is_affordable(elimination.template, settings):
        return None
    return _eliminate_row(
        model, elimination, row.hard, row.findings, begun, describe_unused_settings(settings)
    )


class Row(NamedTuple):
    """What evidence says of the variables of a model, by their numbers."""

    hard: dict[int, int]
    soft: Scope
    findings: ResolvedEvidence

    @property
    def observed(self) -> Scope:
        return tuple(sorted(self.hard))


def find_row(model: Model, evidence: Evidence | None, settings: Settings) -> Row | None:
    """What evidence says; None where others must look at it."""
    settings.require_use()
    settings.schedule()  # refuses two ends
    if not _is_cacheable(model, settings):
        return None
    domains = KEPT.of(model, "domains", model.domains)
    findings = resolve(as_mapping(evidence), domains)
    model.require_consistent(findings)
    soft = tuple(sorted(findings.soft))
    hard = {model.index[name]: v for name, v in findings.hard.items() if name in model.index}
    if any(name not in model.index or model.index[name] in hard for name in soft):
        return None
    return Row(hard, tuple(model.index[name] for name in soft), findings)


def numbers_in(template: Template, values: Mapping[int, int]) -> Numbers | None:
    """A row as numbers of possible values; None if one is impossible."""
    pairs = zip(template.number, values.values(), strict=True)
    row = np.array([numbers[value] for numbers, value in pairs], np.int64)
    return None if (row < 0).any() else row.reshape(-1, 1)


def _are_too_large(model: Model, tied: Sequence[Scope]) -> bool:
    """Whether some joint table has more entries than any may have."""
    sizes = model.graph.cardinality
    return any(math.prod(sizes[list(scope)].tolist()) > MOST_JOINT_ENTRIES for scope in tied)


def _is_cacheable(model: Model, settings: Settings) -> bool:
    asked = settings.method in ("auto", "exact")
    plain = settings.checkpoint is None and settings.approximation is None
    graph = model.graph
    return asked and plain and graph.variables <= MOST_VARIABLES and graph.factors <= MOST_FACTORS


def _problem(model: Model) -> Problem | None:
    """The tables of a model, unless its weights need a closer look, or leave no state."""
    if len(large_factors(model.graph)):
        return None
    try:
        return prepare(model.graph)
    except (ContradictionError, LimitError):
        return None


def needed_part(model: Model, names: Iterable[str]) -> Model:
    """The part of a model that says something about some variables, the same one every time.

    All of it where zeros might exclude what would be left out.
    """
    index = model.index
    variables = frozenset(index[name] for name in names if name in index)

    def find_part() -> Model:
        part, left_out = relevant(model, sorted(variables))
        return part if left_out is None else model

    return KEPT.of(model, ("part", variables), find_part) if variables else model


def prepare_elimination(
    model: Model, hard: tuple[str, ...], soft: tuple[str, ...], settings: Settings
) -> Elimination | None:
    """An elimination for rows that observe these variables; None if a row costs too much."""
    if not _is_cacheable(model, settings):
        return None
    observed, likely = (tuple(model.index[name] for name in names) for names in (hard, soft))
    elimination = _elimination(model, observed, likely, ())
    return (
        elimination
        if elimination is not None and is_affordable(elimination.template, settings)
        else None
    )


def find_maxima_of_rows(
    model: Model, hard: tuple[str, ...], soft: tuple[str, ...], settings: Settings
) -> MaxTemplate | None:
    """An elimination by maxima for rows that observe these; None if a row costs too much."""
    observed, likely = (tuple(model.index[name] for name in names) for names in (hard, soft))
    return prepare_maxima(model, observed, likely, settings)


def prepare_maxima(
    model: Model, observed: Scope, soft: Scope, settings: Settings
) -> MaxTemplate | None:
    """The same, for numbers of variables."""
    if not _is_cacheable(model, settings):
        return None
    chosen = find_template(model, observed, soft, ())
    if chosen is None or not is_affordable(chosen, settings):
        return None

    def make() -> MaxTemplate:
        maximising: MaxTemplate = maximisation.MaxTemplate(chosen)
        return maximising

    return KEPT.of(model, ("maxima", observed, soft), make, lambda prepared: prepared.bytes_held)


def _elimination(
    model: Model, hard: Scope, soft: Scope, tied: tuple[Scope, ...]
) -> Elimination | None:
    chosen = find_template(model, hard, soft, tied)
    if chosen is None:
        return None
    return KEPT.of(
        model,
        (hard, soft, tied),
        lambda: Elimination(chosen),
        lambda elimination: elimination.bytes_held,
    )


def find_template(
    model: Model, hard: Scope, soft: Scope, tied: tuple[Scope, ...]
) -> Template | None:
    """How to eliminate all but observed variables; None if that costs too much."""
    problem = KEPT.of(model, "problem", lambda: _problem(model))
    if problem is None:
        return None
    return KEPT.of(
        model, ("template", hard, soft, tied), lambda: _plan_template(problem, hard, soft, tied)
    )


def _plan_template(
    problem: Problem, hard: Scope, soft: Scope, tied: tuple[Scope, ...]
) -> Template | None:
    try:
        return template(problem, hard, soft, tied, seconds=SEARCH, most=MOST_COST)
    except LimitError:
        return None


def _eliminate_row(
    model: Model,
    elimination: Elimination,
    hard: dict[int, int],
    findings: ResolvedEvidence,
    begun: float,
    idle: str,
) -> CachedElimination | None:
    """One row; None if it is impossible or its weight is no number."""
    template = elimination.template
    values = {variable: hard[variable] for variable in template.observed}
    row = numbers_in(template, values)
    if row is None:
        return None
    upward = elimination.upward(row, log_likelihoods_of(model, template, findings))
    log_z = exact_sum(float(part[0]) for part in upward.parts)
    if not math.isfinite(log_z):
        return None
    return CachedElimination(model, elimination, values, upward, log_z, begun, idle)


def log_likelihoods_of(
    model: Model, template: Template, findings: ResolvedEvidence
) -> list[Floats]:
    """Logarithms of soft evidence, of possible values only."""
    with np.errstate(divide="ignore"):
        return [
            np.log(np.array(findings.soft[model.names[v]])[template.problem.possible[v], None])
            for v in template.soft
        ]


def _layout(model: Model, elimination: Elimination, names: Names) -> Layout:
    template, domains = elimination.template, model.domains()
    chosen = model.order if names is None else names
    sizes = [len(domains[name]) for name in chosen]
    start = dict(zip(chosen, itertools.accumulate(sizes, initial=0), strict=False))
    decided = np.zeros(sum(sizes))
    for name, observed in model.observed.items():
        if name in start:
            decided[start[name] + observed.value] = 1.0
    variables: list[int] = []
    target = [np.zeros(0, dtype=np.int64)]
    for name in chosen:
        variable = model.index.get(name, -1)
        if variable in template.place:
            variables.append(template.place[variable])
            target.append(start[name] + template.problem.possible[variable])
        elif variable >= 0 and variable not in template.observed:
            decided[start[name] + template.problem.possible[variable]] = 1.0
    seen = [start.get(model.names[variable], -1) for variable in template.observed]
    hidden = {*model.observed, *(model.names[variable] for variable in template.observed)}
    verdict = [CODE[OBSERVED if name in hidden else EXACT] for name in chosen]
    return Layout(
        names=chosen,
        values=[domains[name] for name in chosen],
        decided=decided,
        variables=tuple(variables),
        target=np.concatenate(target),
        seen=np.array(seen, dtype=np.int64),
        verdict=np.array(verdict, dtype=np.uint8),
        start=np.array(list(start.values()), dtype=np.int64),
        sizes=np.array(sizes, dtype=np.int64),
    )
