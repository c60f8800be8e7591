"""How probable an event is, and how probable given another one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from orbitmc import inference
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import Estimate, certain
from orbitmc.estimate.features import sums_by_column, worst_verdict
from orbitmc.estimate.marginals import (
    About,
    Columns,
    Marginals,
    certain_columns,
    concatenate_columns,
    no_parts,
)
from orbitmc.estimate.statistics import standard_errors
from orbitmc.estimate.verdicts import CODE, EXACT, OBSERVED
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answer, exact_about, require_possible
from orbitmc.inference.events import (
    Constant,
    Event,
    EventEncoder,
    Indicator,
    combine_events,
    condition,
    map_targets,
    masks_of,
    names_in,
    read_event,
    read_formula,
    truth,
)
from orbitmc.inference.feature_sampling import (
    choose_averaged_variable,
    sample_feature,
    variables_of,
)
from orbitmc.inference.plan import Plan, plan_model
from orbitmc.inference.query import (
    Query,
    Target,
    View,
    atom_targets,
    has_learned_tables,
    reindex,
    restrict,
    view_of,
)
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options
from orbitmc.mln.grounding.atoms import constant_text
from orbitmc.mln.grounding.queries import Pattern

if TYPE_CHECKING:
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver


CERTAIN = Constant(True)
FEW_ENTRIES = 2**12  # of a joint table of all names: such events need no elimination of their own
RARE = 1e-6  # what is given and less probable is rather made evidence, which loses no digits


@accepts_settings
@interruptible()
def probability(
    model: Model | Program,
    event: str,
    evidence: Evidence | None = None,
    *,
    given: str | None = None,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Estimate:
    """Say how probable an event is, with its error; `given` another event, if there is one.

    Events compare variables with values: `A == 'x' and (B != 'y' or C in ('u', 'v'))`; `A == B`
    compares two variables, and a name alone means that a variable is true. Of a program, events are
    formulas of ground atoms: `Smokes(Anna) ^ !Cancer(Bob)`. `method="auto"` answers exactly when
    that is affordable and samples otherwise. Ctrl-C gives the partial answer.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> print(om.probability(model, "rain != 'none' or sprinkler == 'on'", given="grass == 'wet'"))
    0.984422, exact
    """
    count = in_cells = None
    if not isinstance(model, Model):
        count = partial(inference.count_probability, model, event=event, given=given)
        in_cells = partial(inference.CellProbability, model, event, given)

    def bind(view: View) -> EventQuestion:
        return EventQuestion(view, *_read_events(event, given, view))

    finish = None
    if has_learned_tables(model):
        told = EventQuestion(view_of(model), *_read_events(event, given, view_of(model)))
        finish = inference.event_errors(model, evidence, told.scope, told.holds)
    query = Query(model, evidence, bind, count, bind, in_cells, finish)
    return answer(query, merge_options(settings, options), watchers)


def _read_events(event: str, given: str | None, view: View) -> tuple[Event, Event]:
    return (
        _read(event, view, "event"),
        CERTAIN if given is None else _read(given, view, "given"),
    )


def _read(text: str, view: View, source: str) -> Event:
    if view.program is not None:
        return read_formula(text, view.program, source)
    return read_event(text, view, source)


class EventQuestion:
    """Whether an event holds, given another one.

    What is given becomes evidence where it says of each name alone which values it may have.
    """

    can_resume = False

    def __init__(self, view: View, event: Event, given: Event) -> None:
        self.view, self.event, self.given = view, event, given
        self.scope = variables_of((*names_in(event), *names_in(given)))
        shape = [int(view.model.graph.cardinality[variable]) for variable in self.scope]
        self.scopes = [self.scope] if math.prod(shape) <= FEW_ENTRIES else None
        self.needs = self.scope

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Estimate | None:
        """The answer from the joint table of all names; None if what is given is too rare."""
        table = row.tables([self.scope])[0]
        event, given = self.holds(dict(zip(self.scope, np.indices(table.shape), strict=True)))
        holds = np.where(given, table, 0.0)
        both = np.where(event, holds, 0.0)
        if holds.sum() < RARE:
            return None
        return certain(min(1.0, float(both.sum() / holds.sum())), row.about)

    def holds(self, values: Mapping[int, Numbers]) -> tuple[Any, Any]:
        """Whether the event holds, and whether what is given does, by the values of variables."""

        def value_of(name: Target) -> Any:
            return name.meaning[values[name.variable]]

        return truth(self.event, value_of), truth(self.given, value_of)

    def plan(self, settings: Settings) -> Plan:
        self._condition()
        self.encoder = EventEncoder(self.view.model.graph.variables)
        self.signal = None if isinstance(self.event, Constant) else self.encoder.signal(self.event)
        if self.given != CERTAIN:
            self.encoder.require(self.given)
        return plan_model(self.view.model, settings, self.encoder.extend, collapses=True)

    def _condition(self) -> None:
        """Make evidence of what is given, where it is that, and where all rules are ground."""
        if self.given == Constant(False):
            raise ContradictionError("what is given is impossible")
        masks = masks_of(self.given)
        if masks is None:
            return
        if not all(mask.any() for mask in masks.values()):
            raise ContradictionError("what is given is impossible")
        if self.view.model.relations:
            return
        before, self.view = self.view, restrict(self.view, masks)
        self.event = map_targets(
            self.event, lambda name: reindex(name, before.model, self.view.model)
        )
        self.given = CERTAIN

    def from_elimination(self, plan: Plan) -> Estimate:
        if self.signal is None:
            eliminate_signals(plan, self.encoder, [])  # refuses what is impossible
            return certain(float(_holds(self.event)), exact_about(plan))
        chance = eliminate_signals(plan, self.encoder, [self.signal])[0]
        return certain(float(chance), exact_about(plan))

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimate:
        if isinstance(self.event, Constant) and self.given == CERTAIN:
            require_possible(plan)
            about = About("exact", "evidence decides the event", warnings=plan.remarks)
            return certain(float(self.event.holds), about)
        scope = variables_of((*names_in(self.event), *names_in(self.given)))
        averaged = choose_averaged_variable(plan.model, scope)
        feature = EventFeature(self.event, self.given, averaged)
        noted = sample_feature(self.view, plan, feature, observers)
        estimates = noted.features() if feature.rows == 1 else noted.ratio()
        return Estimate(
            value=float(estimates.probability[0]),
            standard_error=float(estimates.standard_error[0]),
            low=float(estimates.low[0]),
            high=float(estimates.high[0]),
            verdict=worst_verdict(estimates.verdict(), noted.verdicts),
            about=noted.about,
        )


def _holds(event: Event) -> bool:
    assert isinstance(event, Constant)
    return event.holds


def eliminate_signals(
    plan: Plan, encoder: EventEncoder, signals: Sequence[Indicator]
) -> list[float]:
    """How probable each signal is; without any, refuse a model that has no possible state."""
    graph, wanted = encoder.extend(plan.model.graph), [signal.variable for signal in signals]
    tables = eliminate(
        graph, memory=plan.settings.memory, plan=plan.elimination, wanted=wanted
    ).marginals
    pairs = zip(tables, signals, strict=True)
    return [min(1.0, float(table[signal.yes].sum())) for table, signal in pairs]


class EventFeature:
    """Whether both hold, and whether the condition holds if there is one, averaged as may be."""

    def __init__(self, event: Event, given: Event, averaged: int) -> None:
        both = combine_events("and", [event, given])
        self.events = [both] if given == CERTAIN else [both, given]
        names = (*names_in(event), *names_in(given))
        self.variables = np.array(variables_of(names), dtype=np.int64)
        self.averaged, self.rows = averaged, len(self.events)
        self.place = {variable: row for row, variable in enumerate(self.variables.tolist())}

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        expected = np.zeros((self.rows, states.shape[1]))
        for value, weight in enumerate([1.0] if chances is None else chances):
            values = partial(self._values, states, value)
            for row, event in zip(expected, self.events, strict=True):
                row += weight * truth(event, values)
        return sums_by_column(expected)

    def _values(self, states: Bytes, value: int, target: Target) -> Any:
        """The values of a name in all states; the one that is averaged over has this one."""
        if target.variable == self.averaged:
            return target.meaning[value]
        return target.meaning[states[self.place[target.variable]]]

    def errors(self, means: Floats) -> Floats:
        if self.rows == 1:
            return standard_errors(means)
        both, given = means.mean(axis=1)
        left = means[:1] - both / max(given, np.finfo(float).tiny) * means[1:]
        errors: Floats = standard_errors(left) / max(given, np.finfo(float).tiny)
        return errors


# How probable conjunctions of atoms are, as in the query `Smokes(x) ^ Cancer(x)`.
#
# Every binding of the variables is an event of its own; all are answered together, and so are the
# single atoms that the same query asks about.

MOST_EVENTS = 100_000
TRUE = ("true",)


def conjunctions_query(program: MarkovLogic) -> Query[Marginals]:
    """Ask for all atoms and conjunctions of a program's query."""

    def bind(view: View) -> ConjunctionsQuestion:
        return ConjunctionsQuestion(view, dict(_events(view.program or program)))

    return Query(program, None, bind, in_relations=bind)


class ConjunctionsQuestion:
    """Whether each of many events holds; evidence decides some of them."""

    can_resume = False
    scopes = None
    needs = None

    def __init__(self, view: View, events: Mapping[str, Event]) -> None:
        self.view, self.events = view, events
        self.open = {
            name: event for name, event in events.items() if not isinstance(event, Constant)
        }
        self.settled = {
            name: event.holds for name, event in events.items() if isinstance(event, Constant)
        }

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> None:
        return None

    def plan(self, settings: Settings) -> Plan:
        self.encoder = EventEncoder(self.view.model.graph.variables)
        self.signals = [self.encoder.signal(event) for event in self.open.values()]
        return plan_model(self.view.model, settings, self.encoder.extend, collapses=True)

    def from_elimination(self, plan: Plan) -> Marginals:
        chances = np.array(eliminate_signals(plan, self.encoder, self.signals))
        columns = certain_columns(list(self.open), [TRUE] * len(self.open), chances, EXACT)
        return self._marginals(columns, exact_about(plan))

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Marginals:
        feature = _EachEvent(list(self.open.values()))
        noted = sample_feature(self.view, plan, feature, observers)
        every = noted.features()
        verdicts = [
            worst_verdict(
                every.row(row).verdict(), [noted.verdicts[feature.place[v]] for v in variables]
            )
            for row, variables in enumerate(feature.used)
        ]
        columns = Columns(
            list(self.open),
            [TRUE] * len(self.open),
            np.arange(len(self.open) + 1),
            probability=every.probability,
            standard_error=every.standard_error,
            low=every.low,
            high=every.high,
            ess=every.ess,
            r_hat=every.r_hat,
            rare=every.rare,
            verdict=np.array([CODE[verdict] for verdict in verdicts], dtype=np.uint8),
            part=no_parts(len(self.open)),
        )
        return self._marginals(columns, noted.about)

    def _marginals(self, columns: Columns, about: About) -> Marginals:
        """All events in the order of the query."""
        holds = np.array([float(holds) for holds in self.settled.values()])
        known = certain_columns(list(self.settled), [TRUE] * len(holds), holds, OBSERVED)
        place = {name: number for number, name in enumerate([*self.open, *self.settled])}
        order = np.array([place[name] for name in self.events], dtype=np.int64)
        return Marginals(concatenate_columns([columns, known]).take(order), about)


def _events(program: MarkovLogic) -> Iterator[tuple[str, Event]]:
    """Every conjunction that is asked about by its name, then every atom."""
    for conjunction in program.conjunctions:
        yield from _groundings(program, conjunction)
    for target in atom_targets(program, program.asked):
        yield target.name, condition([target], np.array([False, True]))


def _groundings(
    program: MarkovLogic, conjunction: Sequence[Pattern]
) -> Iterator[tuple[str, Event]]:
    ground, kinds = program.ground, _kinds(program, conjunction)
    count = math.prod(ground.universe.size(kind) for kind in kinds.values())
    if count > MOST_EVENTS:
        raise LimitError(f"a conjunction of the query has {count:,} groundings: name constants")
    constants = [ground.universe.constants[kind] for kind in kinds.values()]
    for chosen in itertools.product(*constants):
        binding = dict(zip(kinds, chosen, strict=True))
        name = " ^ ".join(_text(pattern, binding) for pattern in conjunction)
        yield name, read_formula(name, program, "query")


def _kinds(program: MarkovLogic, conjunction: Sequence[Pattern]) -> dict[str, str]:
    """The variables of a conjunction with their types."""
    kinds: dict[str, str] = {}
    for pattern in conjunction:
        types = program.ground.program.predicates[pattern.predicate].types
        for (word, is_constant), kind in zip(pattern.arguments or (), types, strict=False):
            if not is_constant and kinds.setdefault(word, kind) != kind:
                raise InputError(f"the query uses {word} for a {kinds[word]} and for a {kind}")
    return kinds


def _text(pattern: Pattern, binding: Mapping[str, str]) -> str:
    words = [
        constant_text(word if is_constant else binding[word])
        for word, is_constant in pattern.arguments or ()
    ]
    return f"{pattern.predicate}({','.join(words)})" if words else pattern.predicate


class _EachEvent:
    """Whether each of some events holds; nothing is averaged over."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events, self.rows, self.averaged = events, len(events), -1
        self.used = [variables_of(names_in(event)) for event in events]
        self.variables = np.array(
            sorted({v for variables in self.used for v in variables}), dtype=np.int64
        )
        self.place = {variable: row for row, variable in enumerate(self.variables.tolist())}

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        values = partial(self._values, states)
        truths = np.zeros((self.rows, states.shape[1]))
        for row, event in zip(truths, self.events, strict=True):
            row += truth(event, values)
        return sums_by_column(truths)

    def _values(self, states: Bytes, target: Target) -> Any:
        return target.meaning[states[self.place[target.variable]]]

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means)
