"""Answers of symmetric Markov logic programs by counting, before anything is ground."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from orbitmc import lifted
from orbitmc._numba.compile_log import working_time
from orbitmc._simd.random import Stream
from orbitmc._util.arrays import Floats
from orbitmc._util.text import format_bytes, quote, suggestion
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import (
    BestState,
    BestStates,
    Draws,
    Estimate,
    Estimates,
    Joint,
    certain,
)
from orbitmc.estimate.marginals import (
    About,
    Columns,
    Marginals,
    Provenance,
    certain_columns,
    concatenate_columns,
)
from orbitmc.estimate.verdicts import EXACT, OBSERVED
from orbitmc.exact.plan import predict
from orbitmc.inference._draws import weigh_states
from orbitmc.inference.events import Constant, Event, read_formula_about, truth
from orbitmc.inference.plan import asked_at, is_affordable, most_seconds
from orbitmc.inference.program import GROUND_AT_ONCE, TRUTH, MarkovLogic
from orbitmc.inference.query import TRUTHS, Target
from orbitmc.inference.settings import Settings, describe_unused_settings
from orbitmc.lifted.fragment import constants_of
from orbitmc.mln import data, grounding, language
from orbitmc.mln.data.database import TRUE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orbitmc.mln.data.database import Ints
    from orbitmc.mln.grounding.queries import Pattern
    from orbitmc.mln.language.syntax import Rule

MOST_ROWS = 10_000  # of a predicate that nobody asked about: more are shown in classes
MOST_ASKED_ROWS = 2_000_000  # of a predicate that somebody asked about
LOOK_SECONDS = 0.2  # for an elimination order of a small program
LONGEST = 3600.0  # seconds, where nobody said how long it may take
MOST_JOINT_ATOMS = 8  # that are counted together
NUMBERS_AT_A_TIME = 2**24  # of states that are drawn together


def count_marginals(
    logic: MarkovLogic, settings: Settings, provenance: Callable[[], Provenance]
) -> Marginals | None:
    """Exact marginals of atoms, or None where another method answers.

    Predicates that nobody named are shown in classes of equal atoms where they have many. The
    `provenance` is told with the answer if the program is ground.
    """
    begun = asked_at(settings)
    lifting = plan_counting(logic, settings)
    counted = None if lifting is None else _count(lifting, settings)
    if lifting is None or counted is None:
        return None
    columns = concatenate_columns(list(_columns(logic, counted)))
    about = _about(logic, lifting, counted, settings, begun)
    if left_out := _left_out(logic, counted):
        words = f"name atoms of {', '.join(left_out)} to see them: they are too many"
        about = replace(about, warnings=(*about.warnings, words))
    return Marginals(columns, about, provenance() if logic.is_ground else None)


def count_log_z(logic: MarkovLogic, settings: Settings) -> Estimate | None:
    """The exact logarithm of the sum of all weights, or None where another method answers."""
    begun = asked_at(settings)
    lifting = plan_counting(logic, settings)
    counted = None if lifting is None else _count(lifting, settings)
    if lifting is None or counted is None:
        return None
    return certain(counted.log_z, _about(logic, lifting, counted, settings, begun))


def count_joint(logic: MarkovLogic, settings: Settings, names: Sequence[str]) -> Joint | None:
    """The exact joint law of a few ground atoms, or None where another method answers."""
    begun = asked_at(settings)
    lifting = plan_counting(logic, settings)
    if lifting is None:
        return None
    atoms, texts = find_atoms(logic, names)
    law = _count_law(logic, lifting, settings, atoms)
    if law is None:
        return None
    about = _about_law(logic, settings, len(atoms), begun)
    law, none = np.exp(law), np.zeros_like(law)
    return Joint(tuple(texts), (TRUTHS,) * len(texts), law, none, law, law, none > 0, EXACT, about)


def find_atoms(
    logic: MarkovLogic, names: Sequence[str]
) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    """The predicates and codes of ground atoms, and their names as the program says them."""
    atoms = [_find_atom(logic, name) for name in names]
    for place, atom in enumerate(atoms):
        if atom in atoms[:place]:
            raise InputError(f"{quote(names[place])} is named twice")
    tables = logic.source.atoms
    texts = [
        grounding.atom_names(tables.atoms[predicate], np.array([code]), tables.universe)[0]
        for predicate, code in atoms
    ]
    return atoms, tuple(texts)


def count_probability(
    logic: MarkovLogic, settings: Settings, event: str, given: str | None
) -> Estimate | None:
    """How probable an event about a few ground atoms is, or None where another method answers."""
    begun = asked_at(settings)
    lifting = plan_counting(logic, settings)
    if lifting is None:
        return None
    atoms, wanted, condition = read_events(logic, event, given)
    law = _count_law(logic, lifting, settings, atoms)
    if law is None:
        return None
    holds = np.where(where(condition, len(atoms)), law, -np.inf)
    if not np.isfinite(holds).any():
        raise ContradictionError("what is given is impossible")
    weights = np.exp(holds - holds.max())
    chance = float((weights * where(wanted, len(atoms))).sum() / weights.sum())
    return certain(chance, _about_law(logic, settings, len(atoms), begun))


def count_true_groundings(
    logic: MarkovLogic, formulas: Mapping[str, str], settings: Settings
) -> Estimates | None:
    """How many groundings of formulas are true on average, or None where another method answers.

    They are counted as rules of no weight.
    """
    begun, source = asked_at(settings), logic.source
    asked = [read_grounded(text, logic, name) for name, text in formulas.items()]
    rules = (*source.program.rules, *asked)
    with_formulas = replace(source, program=replace(source.program, rules=rules), affordable={})
    logic = replace(logic, source=with_formulas, conjunctions=())
    lifting = plan_counting(logic, settings)
    counted = None if lifting is None else _count(lifting, settings)
    if lifting is None or counted is None:
        return None
    about = _about(logic, lifting, counted, settings, begun)
    numbers = lifted.expected_true_groundings(counted)[-len(asked) :].tolist()
    pairs = zip(formulas, numbers, strict=True)
    return Estimates({name: certain(number, about) for name, number in pairs}, about)


def read_grounded(text: str, logic: MarkovLogic, name: str) -> Rule:
    """Read a formula whose true groundings are asked for; constants that nobody knows are refused.

    A name says which of several formulas is wrong.
    """
    program, universe = logic.source.program, logic.source.atoms.universe
    rule = language.read_formula(text, program, source=name)
    for constant, kind in constants_of(rule, program):
        if constant.name not in universe.numbers[kind]:
            near = suggestion(constant.name, universe.constants[kind])
            raise rule.place.error(f"{quote(constant.name)} is no constant of type {kind}{near}")
    return rule


def read_events(
    logic: MarkovLogic, event: str, given: str | None
) -> tuple[list[tuple[str, int]], Event, Event]:
    """The ground atoms of two events, and the events; targets are numbers of atoms."""
    atoms: list[tuple[str, int]] = []

    def find(pattern: Pattern) -> list[Target]:
        atom = _only_atom(logic, pattern)
        if atom is None:
            return []
        if atom not in atoms:
            atoms.append(atom)
        return [Target(str(atom), TRUTHS, atoms.index(atom), np.arange(2))]

    wanted = read_formula_about(event, logic, "event", find)
    condition = Constant(True) if given is None else read_formula_about(given, logic, "given", find)
    return atoms, wanted, condition


def where(event: Event, atoms: int) -> Floats:
    """1 where an event holds, in the table of all truth values of some atoms."""
    places = np.indices((2,) * atoms)
    holds = truth(event, lambda target: places[target.variable])
    return np.broadcast_to(np.asarray(holds, np.float64), (2,) * atoms)


# States: the best one, and independent draws.


def count_best(logic: MarkovLogic, settings: Settings, k: int) -> BestStates | None:
    """A most probable state, proven, or None where another method answers.

    It tells atoms that were asked about; of predicates that nobody named, those with few atoms.
    """
    begun, asked = asked_at(settings), settings.method == "counting"
    if k != 1 and not asked:
        return None
    lifting = plan_counting(logic, settings)
    if lifting is None:
        return None
    if k != 1:
        raise InputError("counting finds one best state: constants that are alike make many more")
    atoms = AskedAtoms(logic)
    try:
        truth, weight = lifted.best_atoms(lifting.setting, atoms.codes)
    except (lifted.NotLiftableError, LimitError) as refusal:
        if asked:
            raise LimitError(f"counting finds no best state: {refusal}") from None
        return None
    holds = np.concatenate([np.zeros(0, np.bool_), *truth])
    state = {name: TRUTHS[int(true)] for name, true in zip(atoms.names, holds, strict=True)}
    reason = f"the best counts of cells instead of {logic.source.unknown_atoms:,} atoms"
    about = _about_states(logic, reason, atoms, settings, begun)
    return BestStates((BestState(state, weight),), True, weight, about)


def count_draws(logic: MarkovLogic, samples: int, chains: int, settings: Settings) -> Draws | None:
    """Independent states, or None where another method answers.

    Atoms are those of `count_best`. If not all are drawn, nobody knows what a state weighs.
    """
    begun = asked_at(settings)
    lifting = plan_counting(logic, settings)
    if lifting is None:
        return None
    atoms, count = AskedAtoms(logic), chains * samples
    room = count * (atoms.size + 8)
    if room >= settings.memory:
        raise LimitError(
            f"{chains} chains of {samples} draws of {atoms.size:,} atoms need "
            f"{format_bytes(room)}, the limit is {format_bytes(settings.memory)}; draw fewer, or "
            "name the atoms to draw"
        )
    counted = _count(lifting, settings)
    if counted is None:
        return None
    rng = np.random.default_rng(
        np.random.SeedSequence(settings.seed, spawn_key=(Stream.COUNTED_DRAWS,))
    )
    if logic.is_ground:
        values, weights = _draw_ground(logic, counted, atoms, rng, count)
    else:
        truth = lifted.draw_atoms(counted, atoms.codes, rng, count)
        nothing = np.zeros((count, 0), np.bool_)
        values, weights = np.concatenate([nothing, *truth], axis=1), np.full(count, np.nan)
    reason = f"independent draws of counts of cells instead of {logic.source.unknown_atoms:,} atoms"
    about = replace(
        _about_states(logic, reason, atoms, settings, begun),
        seed=settings.seed,
        samples=samples,
        chains=chains,
    )
    return Draws(
        tuple(atoms.names),
        (TRUTHS,) * atoms.size,
        values.astype(np.uint8).reshape(chains, samples, atoms.size),
        weights.reshape(chains, samples),
        EXACT,
        about,
    )


def count_names(logic: MarkovLogic) -> int:
    """How many atoms draws of a program tell, if it is counted."""
    return AskedAtoms(logic).size


def _draw_ground(
    logic: MarkovLogic,
    counted: lifted.Counted,
    atoms: AskedAtoms,
    rng: np.random.Generator,
    count: int,
) -> tuple[NDArray[np.bool_], Floats]:
    """Whole states of a program that is ground: the atoms asked about, and what states weigh."""
    tables, graph, asked = logic.ground.atoms, logic.model.graph, logic.asked
    unknown = [(name, table.unknown()) for name, table in tables.items() if table.variables]
    place = {name: number for number, name in enumerate(asked.names)}
    order = np.array([place[name] for name in atoms.names], dtype=np.int64)
    variable, value, status = (
        column[order] for column in (asked.variable, asked.value, asked.status)
    )
    truth, weights = np.zeros((count, atoms.size), np.bool_), np.zeros(count)
    at_a_time = max(1, NUMBERS_AT_A_TIME // max(1, graph.variables))
    for first in range(0, count, at_a_time):
        some = slice(first, min(first + at_a_time, count))
        states = np.zeros((graph.variables, some.stop - first), np.int64)
        drawn = lifted.draw_atoms(counted, unknown, rng, some.stop - first)
        for (name, codes), holds in zip(unknown, drawn, strict=True):
            variables, values = tables[name].literals(codes)
            np.maximum.at(states, variables, np.where(holds.T, values[:, None], 0))
        weights[some] = weigh_states(graph, states)
        chosen = states[np.maximum(variable, 0)].T if graph.variables else value
        truth[some] = np.where(variable < 0, status == TRUE, chosen == value)
    return truth, weights


class AskedAtoms:
    """Atoms that a program was asked about, each once; large predicates only if they are named."""

    def __init__(self, logic: MarkovLogic) -> None:
        universe, tables, _ = logic.source.atoms
        self.codes: list[tuple[str, Ints]] = []
        self.names: list[str] = []
        self.left_out: list[str] = []
        earlier: dict[str, list[Ints]] = {}
        for pattern in logic.patterns:
            atoms = tables[pattern.predicate]
            fitting = grounding.fit_pattern(logic.source.program, universe, atoms, pattern)
            if fitting.size > MOST_ROWS and not logic.named:
                self.left_out.append(pattern.predicate)
                continue
            _require_few(fitting.size, pattern.predicate)
            codes = fitting.codes()
            for other in earlier.setdefault(pattern.predicate, []):
                codes = np.setdiff1d(codes, other)
            earlier[pattern.predicate].append(codes)
            self.codes.append((pattern.predicate, codes))
            self.names += grounding.atom_names(atoms, codes, universe)
        if not self.names:
            raise InputError(
                f"name atoms of {', '.join(self.left_out)}: they are too many to tell them all"
            )

    @property
    def size(self) -> int:
        return len(self.names)


def _about_states(
    logic: MarkovLogic, reason: str, atoms: AskedAtoms, settings: Settings, begun: float
) -> About:
    words = [f"name atoms of {', '.join(atoms.left_out)} to see them: they are too many"]
    return About(
        method="counting",
        reason=f"{reason}{describe_unused_settings(settings)}",
        seconds=working_time() - begun,
        warnings=(*logic.doubts, *(words if atoms.left_out else ())),
    )


def _require_few(count: int, predicate: str) -> None:
    if count > MOST_ASKED_ROWS:
        raise LimitError(
            f"the query asks about {count:,} atoms of {predicate}, the limit is "
            f"{MOST_ASKED_ROWS:,}; name fewer"
        )


def _count_law(
    logic: MarkovLogic,
    lifting: lifted.Lifting,
    settings: Settings,
    atoms: Sequence[tuple[str, int]],
) -> Floats | None:
    """Log-probabilities of the joint truth values of ground atoms; None if they are too many."""
    asked, sums = settings.method == "counting", _sums_of(len(atoms))
    seconds = sums * (lifting.preparation + lifting.seconds)
    if len(atoms) > MOST_JOINT_ATOMS or seconds > _most_seconds(settings):
        if asked:
            raise LimitError(
                f"to count {len(atoms)} atoms together takes {sums:,.0f} sums, about "
                f"{seconds:.2g} s"
            )
        return None
    try:
        return lifted.count_joint(logic.source.program, logic.source.atoms, atoms)
    except (lifted.NotLiftableError, LimitError) as refusal:
        if asked:
            raise InputError(f"these atoms cannot be counted together: {refusal}") from None
        return None


def _sums_of(atoms: int) -> float:
    """How many sums of counts the joint law of so many atoms takes."""
    return float(2.0**atoms - 1)


def _about_law(logic: MarkovLogic, settings: Settings, atoms: int, begun: float) -> About:
    sums = _sums_of(atoms)
    reason = f"{sums:,.0f} {_plural(sums, 'sum')} of counts instead of "
    reason += f"{logic.source.unknown_atoms:,} atoms{describe_unused_settings(settings)}"
    spent = working_time() - begun
    return About(method="counting", reason=reason, seconds=spent, warnings=logic.doubts)


def _find_atom(logic: MarkovLogic, name: str) -> tuple[str, int]:
    """The predicate and the code of a ground atom."""
    patterns = grounding.read_query(name, logic.source.program)
    atom = _only_atom(logic, patterns[0]) if len(patterns) == 1 else None
    if atom is None:
        raise InputError(f"{quote(name)} fits several atoms: name one ground atom")
    return atom


def _only_atom(logic: MarkovLogic, pattern: Pattern) -> tuple[str, int] | None:
    """The predicate and the code of the one ground atom that fits a pattern, if it is one."""
    tables = logic.source.atoms
    fitting = grounding.fit_pattern(
        logic.source.program, tables.universe, tables.atoms[pattern.predicate], pattern
    )
    return (pattern.predicate, int(fitting.codes()[0])) if fitting.size == 1 else None


def _most_seconds(settings: Settings) -> float:
    asked = settings.method == "counting"
    return (settings.seconds or LONGEST) if asked else most_seconds(settings)


def _count(lifting: lifted.Lifting, settings: Settings) -> lifted.Counted | None:
    """Count; `auto` gives up where that takes far more than expected."""
    try:
        return lifting.count()
    except LimitError:
        if settings.method == "counting":
            raise
        return None


@dataclass(frozen=True)
class CountingCost:
    """What counting a program takes; `refusal` says which rule is in the way, if one is.

    `cells` is the most that a constant may be in, after those that no rule tells apart are joined.
    """

    unknown_atoms: int
    states: float | None
    seconds: float | None
    cells: int | None
    refusal: str | None


def counting_cost(logic: MarkovLogic) -> CountingCost:
    """What counting would take; nothing is ground for that.

    >>> import orbitmc as om
    >>> program = om.read_logic("examples/smokers.mln", "examples/smokers.db")
    >>> om.inference.counting_cost(program).refusal is None
    True
    """
    atoms = logic.source.unknown_atoms
    try:
        lifting = logic.source.lifting
    except ContradictionError as error:
        lifting = str(error)
    if isinstance(lifting, str):
        instead = "; cells of its constants are sampled instead" if logic.prefers_cells else ""
        return CountingCost(atoms, None, None, None, f"{lifting}{instead}")
    seconds = lifting.preparation + lifting.seconds
    return CountingCost(atoms, lifting.states, seconds, lifting.most_cells, None)


def plan_counting(logic: MarkovLogic, settings: Settings) -> lifted.Lifting | None:
    """How to count, if that is asked for, or if `auto` finds nothing cheaper."""
    if settings.method == "counting":
        settings.require_use()
        return _plan_requested(logic, settings)
    if settings.method != "auto" or settings.checkpoint is not None or logic.conjunctions:
        return None
    if settings.approximation is not None:
        return None
    try:
        lifting = logic.source.lifting
    except ContradictionError:
        if logic.is_ground:
            return None  # grounding says which formulas are to blame
        raise
    if isinstance(lifting, str) or lifting.seconds > most_seconds(settings):
        return None
    if _affords_elimination(logic, settings):
        return None
    settings.require_use()
    return lifting


def _plan_requested(logic: MarkovLogic, settings: Settings) -> lifted.Lifting:
    lifting = logic.source.lifting
    if isinstance(lifting, str):
        raise InputError(f"this program cannot be counted: {lifting}")
    limit = _most_seconds(settings)
    if lifting.seconds > limit:
        raise LimitError(
            f"counting would add up about {lifting.states:.2g} states, which takes about "
            f"{lifting.seconds:.2g} s; the limit is {limit:g} s"
        )
    return lifting


def _affords_elimination(logic: MarkovLogic, settings: Settings) -> bool:
    """Whether a small program is eliminated, as far as a short look can tell."""
    if not logic.is_ground or logic.source.unknown_atoms > GROUND_AT_ONCE:
        return False
    seen, limits = logic.source.affordable, (settings.memory, settings.seconds)
    if limits not in seen:
        try:
            plan = predict(logic.model.graph, memory=settings.memory, seconds=LOOK_SECONDS)
            seen[limits] = is_affordable(plan, settings)
        except LimitError:
            seen[limits] = False
        except ContradictionError:
            seen[limits] = True  # elimination says which rules contradict each other
    return seen[limits]


def _about(
    logic: MarkovLogic,
    lifting: lifted.Lifting,
    counted: lifted.Counted,
    settings: Settings,
    begun: float,
) -> About:
    cells = lifting.most_cells
    reason = (
        f"counting adds up {counted.states:,.0f} {_plural(counted.states, 'state')} of counts "
        f"({cells} {_plural(cells, 'cell')} of a constant) instead of "
        f"{logic.source.unknown_atoms:,} atoms"
    )
    if lifting.width:
        reason += f"; constants of observed pairs are eliminated (width {lifting.width})"
    if counted.dropped > 0:
        reason += f"; at most {counted.dropped:.1g} of the sum was left out"
    return About(
        method="counting",
        reason=f"{reason}{describe_unused_settings(settings)}",
        seconds=working_time() - begun,
        warnings=logic.doubts,
        log_z=counted.log_z,
    )


def _plural(count: float, word: str) -> str:
    return word if round(count) == 1 else f"{word}s"


def _columns(logic: MarkovLogic, counted: lifted.Counted) -> Iterator[Columns]:
    """Rows of atoms, pattern by pattern; each atom once."""
    universe, tables, _ = logic.source.atoms
    limit = MOST_ASKED_ROWS if logic.named else MOST_ROWS
    earlier: dict[str, list[Ints]] = {}
    for pattern in logic.patterns:
        atoms = tables[pattern.predicate]
        fitting = grounding.fit_pattern(logic.source.program, universe, atoms, pattern)
        if fitting.size > limit and pattern.arguments is None:
            if counted.most_classes(pattern.predicate) <= MOST_ROWS:
                yield _class_columns(logic, counted, pattern)
                continue
            if not logic.named:
                continue
        _require_few(fitting.size, pattern.predicate)
        codes = fitting.codes()
        for other in earlier.setdefault(pattern.predicate, []):
            codes = np.setdiff1d(codes, other)
        earlier[pattern.predicate].append(codes)
        yield _atom_columns(logic, counted, pattern.predicate, codes)


def _left_out(logic: MarkovLogic, counted: lifted.Counted) -> list[str]:
    """Predicates that nobody named and whose atoms are too many, also in classes."""
    tables = logic.source.atoms.atoms
    return [
        pattern.predicate
        for pattern in logic.patterns
        if not logic.named
        and tables[pattern.predicate].size > MOST_ROWS
        and counted.most_classes(pattern.predicate) > MOST_ROWS
    ]


def _atom_columns(
    logic: MarkovLogic, counted: lifted.Counted, predicate: str, codes: Ints
) -> Columns:
    universe, tables, _ = logic.source.atoms
    atoms = tables[predicate]
    status = atoms.status(codes)
    names = grounding.atom_names(atoms, codes, universe)
    probability = (status == data.TRUE).astype(np.float64)
    unknown = np.flatnonzero(status == data.UNKNOWN)
    if len(unknown):
        probability[unknown] = counted.probabilities(predicate, codes[unknown])
    columns = certain_columns(names, [TRUTH] * len(names), probability, EXACT)
    verdict = certain_columns(names, [TRUTH] * len(names), probability, OBSERVED).verdict
    return replace(columns, verdict=np.where(status == data.UNKNOWN, columns.verdict, verdict))


def _class_columns(logic: MarkovLogic, counted: lifted.Counted, pattern: Pattern) -> Columns:
    """A row for each class of unknown atoms: one of them, and how many more there are."""
    universe, tables, _ = logic.source.atoms
    classes = list(counted.atom_classes(pattern.predicate))
    codes = np.array([one.code for one in classes], dtype=np.int64)
    names = grounding.atom_names(tables[pattern.predicate], codes, universe)
    words = [
        name if one.count == 1 else f"{name} and {one.count - 1:,} more"
        for name, one in zip(names, classes, strict=True)
    ]
    probability = np.array([one.probability for one in classes])
    return certain_columns(words, [TRUTH] * len(words), probability, EXACT)
