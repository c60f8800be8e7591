"""How probable an event is, and how probable given another one."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import Estimate, certain
from orbitmc.estimate.marginals import (
    About,
    Columns,
    Marginals,
    certain_columns,
    concatenate_columns,
    no_parts,
)
from orbitmc.estimate.verdicts import CODE, EXACT, OBSERVED
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import extend
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
    read_formula,
    truth,
)
from orbitmc.inference.feature_sampling import (
    exact_about,
    explain_contradictions,
    require_no_checkpoint,
    require_possible,
    sample_feature,
    variables_of,
)
from orbitmc.inference.plan import Decision, decide
from orbitmc.inference.query import Target, View, atom_targets, reindex, restrict, view_of
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options
from orbitmc.mln.grounding.atoms import constant_text
from orbitmc.mln.grounding.queries import Pattern

if TYPE_CHECKING:
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
    chosen = merge_options(settings, options)
    require_no_checkpoint(chosen)
    found = _from_cache(view_of(model), event, given, evidence, chosen)
    if found is not None:
        return found
    asked = view_of(model, evidence)
    wanted, when = _read_events(event, given, asked)
    return explain_contradictions(asked, lambda: _solve(asked, wanted, when, chosen, watchers))


def _read_events(event: str, given: str | None, asked: View) -> tuple[Event, Event]:
    return (
        _read(event, asked, "event"),
        CERTAIN if given is None else _read(given, asked, "given"),
    )


def _from_cache(
    plain: View, event: str, given: str | None, evidence: Evidence | None, settings: Settings
) -> Estimate | None:
    """An exact answer from the joint table of all names, if that is small; None elsewhere."""
    wanted, when = _read_events(event, given, plain)
    scope = variables_of((*names_in(wanted), *names_in(when)))
    shape = [int(plain.model.graph.cardinality[variable]) for variable in scope]
    if math.prod(shape) > FEW_ENTRIES:
        return None
    row = plain.quick_row(evidence, settings, [scope])
    if row is None:
        return None
    table = row.tables([scope])[0]
    places = dict(zip(scope, np.indices(shape), strict=True))
    holds = np.where(truth(when, lambda one: one.meaning[places[one.variable]]), table, 0.0)
    both = np.where(truth(wanted, lambda one: one.meaning[places[one.variable]]), holds, 0.0)
    if holds.sum() < RARE:
        return None
    return certain(min(1.0, float(both.sum() / holds.sum())), row.about)


def _read(text: str, asked: View, source: str) -> Event:
    if asked.program is not None:
        from orbitmc.inference.events import read_formula

        return read_formula(text, asked.program, source)
    from orbitmc.inference.events import read_event

    return read_event(text, asked, source)


def _solve(
    asked: View, event: Event, given: Event, settings: Settings, watchers: Iterable[RunObserver]
) -> Estimate:
    """Turn what is given into evidence where it is that; then event and condition remain."""
    if given == Constant(False):
        raise ContradictionError("what is given is impossible")
    masks = masks_of(given)
    if masks is not None:
        if not all(mask.any() for mask in masks.values()):
            raise ContradictionError("what is given is impossible")
        seen = restrict(asked, masks)
        event = map_targets(event, lambda one: reindex(one, asked.model, seen.model))
        asked, given = seen, CERTAIN
    return _answer_event(asked, event, given, settings, watchers)


def _answer_event(
    asked: View, event: Event, given: Event, settings: Settings, watchers: Iterable[RunObserver]
) -> Estimate:
    begun, wires = time.perf_counter(), EventEncoder(asked.model.graph.variables)
    signal = None if isinstance(event, Constant) else wires.signal(event)
    if given != CERTAIN:
        wires.require(given)
    decision = decide(
        asked.model, settings, lambda graph: extend(graph, wires.factors, wires.sizes)
    )
    if decision.plan is None:
        if isinstance(event, Constant) and given == CERTAIN:
            require_possible(decision)
            said = About("exact", "evidence decides the event", warnings=decision.remarks)
            return certain(event.holds, said)
        return _sample_event(asked, event, given, decision, watchers)
    chance = _eliminate(decision, wires, signal)
    if isinstance(event, Constant):
        chance = float(event.holds)
    return certain(chance, exact_about(decision, begun))


def _eliminate(decision: Decision, wires: EventEncoder, signal: Indicator | None) -> float:
    """How probable a signal is; without one, whether any state is possible."""
    from orbitmc.exact.contraction import marginals

    graph = extend(decision.model.graph, wires.factors, wires.sizes)
    wanted = [] if signal is None else [signal.variable]
    memory, plan = decision.settings.memory, decision.plan
    found = marginals(graph, memory=memory, plan=plan, wanted=wanted).marginals
    return 1.0 if signal is None else min(1.0, float(found[0][signal.yes].sum()))


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
        from orbitmc.estimate.features import sums_by_column

        found = np.zeros((self.rows, states.shape[1]))
        for value, weight in enumerate([1.0] if chances is None else chances):
            values = partial(self._values, states, value)
            for row, event in zip(found, self.events, strict=True):
                row += weight * truth(event, values)
        return sums_by_column(found)

    def _values(self, states: Bytes, value: int, one: Target) -> Any:
        """The values of a name in all states; the one that is averaged over has this one."""
        if one.variable == self.averaged:
            return one.meaning[value]
        return one.meaning[states[self.place[one.variable]]]

    def errors(self, means: Floats) -> Floats:
        from orbitmc.estimate.statistics import standard_errors

        if self.rows == 1:
            return standard_errors(means)
        both, given = means.mean(axis=1)
        left = means[:1] - both / max(given, np.finfo(float).tiny) * means[1:]
        found: Floats = standard_errors(left) / max(given, np.finfo(float).tiny)
        return found


def _sample_event(
    asked: View, event: Event, given: Event, decision: Decision, watchers: Iterable[RunObserver]
) -> Estimate:
    from orbitmc.estimate.features import worst_verdict
    from orbitmc.inference.feature_sampling import choose_averaged_variable

    names = (*names_in(event), *names_in(given))
    averaged = choose_averaged_variable(decision.model.graph, variables_of(names))
    feature = EventFeature(event, given, averaged)
    noted = sample_feature(asked, decision, feature, watchers)
    if feature.rows == 2 and not any(own[:, 1].any() for own in noted.sums):
        raise LimitError(
            f"what is given was true in none of {noted.recorded} samples of each chain: nothing is "
            "known of the event then; sample longer, or ask for method exact"
        )
    found = noted.features() if feature.rows == 1 else noted.ratio()
    return Estimate(
        value=float(found.probability[0]),
        standard_error=float(found.standard_error[0]),
        low=float(found.low[0]),
        high=float(found.high[0]),
        verdict=worst_verdict(found.verdict(), noted.verdicts),
        about=noted.about,
    )


# How probable conjunctions of atoms are, as in the query `Smokes(x) ^ Cancer(x)`.
#
# Every binding of the variables is an event of its own; all are answered together, and so are the
# single atoms that the same query asks about.

MOST_EVENTS = 100_000
TRUE = ("true",)


def conjunctions(
    program: MarkovLogic, settings: Settings, watchers: Iterable[RunObserver]
) -> Marginals:
    """How probable all atoms and conjunctions of a program's query are."""
    require_no_checkpoint(settings)
    asked = view_of(program)
    events = dict(_events(program))
    begun, wires = time.perf_counter(), EventEncoder(asked.model.graph.variables)
    open_ones = {name: event for name, event in events.items() if not isinstance(event, Constant)}
    signals = [wires.signal(event) for event in open_ones.values()]
    decision = decide(
        asked.model, settings, lambda graph: extend(graph, wires.factors, wires.sizes)
    )
    if decision.plan is None:
        found, about = _sample_conjunctions(asked, open_ones, decision, watchers)
    else:
        from orbitmc.exact.contraction import marginals

        graph = extend(decision.model.graph, wires.factors, wires.sizes)
        wanted = [signal.variable for signal in signals]
        answer = marginals(graph, memory=settings.memory, plan=decision.plan, wanted=wanted)
        pairs = zip(answer.marginals, signals, strict=True)
        chances = np.array([min(1.0, float(own[signal.yes].sum())) for own, signal in pairs])
        found = certain_columns(list(open_ones), [TRUE] * len(open_ones), chances, EXACT)
        about = exact_about(decision, begun)
    settled = {name: event for name, event in events.items() if isinstance(event, Constant)}
    holds = np.array([float(event.holds) for event in settled.values()])
    known = certain_columns(list(settled), [TRUE] * len(settled), holds, OBSERVED)
    place = {name: number for number, name in enumerate([*open_ones, *settled])}
    order = np.array([place[name] for name in events], dtype=np.int64)
    return Marginals(concatenate_columns([found, known]).take(order), about)


def _events(program: MarkovLogic) -> Iterator[tuple[str, Event]]:
    """Every conjunction that is asked about by its name, then every atom."""
    for conjunction in program.conjunctions:
        yield from _groundings(program, conjunction)
    for one in atom_targets(program, program.asked):
        yield one.name, condition([one], np.array([False, True]))


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
    found: dict[str, str] = {}
    for pattern in conjunction:
        types = program.ground.program.predicates[pattern.predicate].types
        for (word, is_constant), kind in zip(pattern.arguments or (), types, strict=False):
            if not is_constant and found.setdefault(word, kind) != kind:
                raise InputError(f"the query uses {word} for a {found[word]} and for a {kind}")
    return found


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
        self.variables = np.array(sorted({v for own in self.used for v in own}), dtype=np.int64)
        self.place = {variable: row for row, variable in enumerate(self.variables.tolist())}

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        from orbitmc.estimate.features import sums_by_column

        values = partial(self._values, states)
        found = np.zeros((self.rows, states.shape[1]))
        for row, event in zip(found, self.events, strict=True):
            row += truth(event, values)
        return sums_by_column(found)

    def _values(self, states: Bytes, one: Target) -> Any:
        return one.meaning[states[self.place[one.variable]]]

    def errors(self, means: Floats) -> Floats:
        from orbitmc.estimate.statistics import standard_errors

        return standard_errors(means)


def _sample_conjunctions(
    asked: View, events: Mapping[str, Event], decision: Decision, watchers: Iterable[RunObserver]
) -> tuple[Columns, Any]:
    from orbitmc.estimate.features import worst_verdict

    feature = _EachEvent(list(events.values()))
    noted = sample_feature(asked, decision, feature, watchers)
    every = noted.features()
    verdicts = [
        worst_verdict(every.row(row).verdict(), [noted.verdicts[feature.place[v]] for v in own])
        for row, own in enumerate(feature.used)
    ]
    columns = Columns(
        list(events),
        [TRUE] * len(events),
        np.arange(len(events) + 1),
        probability=every.probability,
        standard_error=every.standard_error,
        low=every.low,
        high=every.high,
        ess=every.ess,
        r_hat=every.r_hat,
        rare=every.rare,
        verdict=np.array([CODE[verdict] for verdict in verdicts], dtype=np.uint8),
        part=no_parts(len(events)),
    )
    return columns, noted.about
