"""How probable conjunctions of atoms are, as in the query `Smokes(x) ^ Cancer(x)`.

Every binding of the variables is an event of its own; all are answered together, and so are the
single atoms that the same query asks about.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.ask.method.decisions import Decision, decide
from orbitmc.ask.questions.events.expressions import Event, Settled, condition, names_in, truth
from orbitmc.ask.questions.events.formulas import read_formula
from orbitmc.ask.questions.events.wires import Wires
from orbitmc.ask.questions.features.answering import (
    exact_about,
    require_no_checkpoint,
    sample_feature,
    variables_of,
)
from orbitmc.ask.questions.subject import Named, Subject, atoms_named, subject
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.marginals import (
    Columns,
    Marginals,
    certain_columns,
    concatenate_columns,
    no_parts,
)
from orbitmc.estimate.verdicts import CODE, EXACT, OBSERVED
from orbitmc.graph.transforms import extended
from orbitmc.mln.grounding.atoms import constant_text
from orbitmc.mln.grounding.queries import Pattern

if TYPE_CHECKING:
    from orbitmc.ask.programs import MarkovLogic
    from orbitmc.ask.settings import Settings
    from orbitmc.sampling.run import Watcher

MOST_EVENTS = 100_000
TRUE = ("true",)


def conjunctions(
    program: MarkovLogic, settings: Settings, watchers: Iterable[Watcher]
) -> Marginals:
    """How probable all atoms and conjunctions of a program's query are."""
    require_no_checkpoint(settings)
    asked = subject(program)
    events = dict(_events(program))
    begun, wires = time.perf_counter(), Wires(asked.model.graph.variables)
    open_ones = {name: event for name, event in events.items() if not isinstance(event, Settled)}
    signals = [wires.signal(event) for event in open_ones.values()]
    decision = decide(
        asked.model, settings, lambda graph: extended(graph, wires.factors, wires.sizes)
    )
    if decision.plan is None:
        found, about = _sample_conjunctions(asked, open_ones, decision, watchers)
    else:
        from orbitmc.exact.contraction import marginals

        graph = extended(decision.model.graph, wires.factors, wires.sizes)
        wanted = [signal.variable for signal in signals]
        answer = marginals(graph, memory=settings.memory, plan=decision.plan, wanted=wanted)
        pairs = zip(answer.marginals, signals, strict=True)
        chances = np.array([min(1.0, float(own[signal.yes].sum())) for own, signal in pairs])
        found = certain_columns(list(open_ones), [TRUE] * len(open_ones), chances, EXACT)
        about = exact_about(decision, begun)
    settled = {name: event for name, event in events.items() if isinstance(event, Settled)}
    holds = np.array([float(event.holds) for event in settled.values()])
    known = certain_columns(list(settled), [TRUE] * len(settled), holds, OBSERVED)
    place = {name: number for number, name in enumerate([*open_ones, *settled])}
    order = np.array([place[name] for name in events], dtype=np.int64)
    return Marginals(concatenate_columns([found, known]).taken(order), about)


def _events(program: MarkovLogic) -> Iterator[tuple[str, Event]]:
    """Every conjunction that is asked about by its name, then every atom."""
    for conjunction in program.conjunctions:
        yield from _groundings(program, conjunction)
    for one in atoms_named(program, program.asked):
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
        from orbitmc.estimate.features import by_column

        values = partial(self._values, states)
        found = np.zeros((self.rows, states.shape[1]))
        for row, event in zip(found, self.events, strict=True):
            row += truth(event, values)
        return by_column(found)

    def _values(self, states: Bytes, one: Named) -> Any:
        return one.meaning[states[self.place[one.variable]]]

    def errors(self, means: Floats) -> Floats:
        from orbitmc.estimate.statistics import spread_of

        return spread_of(means)


def _sample_conjunctions(
    asked: Subject, events: Mapping[str, Event], decision: Decision, watchers: Iterable[Watcher]
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
