"""The mean of any function of a state."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from orbitmc import inference, tuning
from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Estimate, Estimates, certain
from orbitmc.estimate.features import expectations, sums_by_column, worst_verdict
from orbitmc.estimate.marginals import About
from orbitmc.estimate.statistics import standard_errors
from orbitmc.estimate.verdicts import FEW
from orbitmc.exact.draws import independent_states
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.exact.problem import MOST_JOINT_ENTRIES
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answer, exact_about
from orbitmc.inference.cache import CachedElimination, find_elimination
from orbitmc.inference.counting import read_grounded
from orbitmc.inference.feature_sampling import sample_feature, variables_of
from orbitmc.inference.plan import Plan, plan_model
from orbitmc.inference.query import Query, Scope, Target, View
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options
from orbitmc.mln.grounding.atoms import atom_names
from orbitmc.mln.grounding.ground_features import evaluate
from orbitmc.mln.grounding.rewriting import without_quantifiers
from orbitmc.mln.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Term,
    Variable,
    free_variables,
    parts_of,
)

if TYPE_CHECKING:
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver


# Functions of states, and tables over a few variables, as features that are averaged.

Function = Callable[["Values"], Any] | Callable[[Mapping[str, NDArray[Any]]], Any]
Table = tuple[Sequence[str], Any]
Lookup = Callable[[Target], NDArray[Any] | None]

MOST_TRIED = 2**12  # joint values of names, for a function that was the same in all states
MOST_GROUNDINGS = 10**6  # of a formula whose true groundings are looked at in each state
ROUNDING = 1e-12  # numbers that differ by less, relative to the larger one, are the same


class Rows(NamedTuple):
    """Where the values of some names are: which variables, and what their values mean."""

    targets: Mapping[str, Target]
    variables: NDArray[np.int64]
    meaning: NDArray[np.int16]
    plain: bool


def find_rows(asked: View, names: Sequence[str]) -> Rows:
    """Look names up once; `plain` if values mean themselves and nothing is known."""
    targets = [asked.find(name) for name in names]
    most = max((len(target.meaning) for target in targets), default=1)
    meaning = np.zeros((len(targets), most), dtype=np.int16)
    for row, target in zip(meaning, targets, strict=True):
        row[: len(target.meaning)] = target.meaning
    free = all(target.known is None for target in targets)
    plain = free and all((t.meaning == np.arange(len(t.meaning))).all() for t in targets)
    places = np.array([target.variable for target in targets], dtype=np.int64)
    return Rows({target.name: target for target in targets}, places, meaning, plain)


class Values(Mapping[str, NDArray[Any]]):
    """The values of names in some states, found when one asks; notes who was asked about."""

    def __init__(self, asked: View, lookup: Lookup, count: int) -> None:
        self.asked, self.lookup, self.count = asked, lookup, count
        self.used: dict[str, Target] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        target = self.asked.find(name)
        self.used[target.name] = target
        known = target.known
        states = None if known is not None else self.lookup(target)
        return np.full(self.count, known or 0) if states is None else target.meaning[states]

    def array(self, names: Iterable[str] | None = None) -> NDArray[Any]:
        """The values of some names, or of all, as one array `[name, state]`."""
        chosen = self.asked.names if names is None else names
        rows = [self[name] for name in chosen]
        return np.array(rows, np.int16) if rows else np.zeros((0, self.count), np.int16)

    def __iter__(self) -> Iterator[str]:
        return iter(self.asked.names)

    def __len__(self) -> int:
        return len(self.asked.names)


class StateValues(Values):
    """Values in states `[variable, state]`; names that come together are looked up once."""

    def __init__(self, asked: View, states: Bytes, known: dict[tuple[str, ...], Rows]) -> None:
        super().__init__(asked, lambda target: states[target.variable], states.shape[1])
        self.states, self.known = states, known

    def array(self, names: Iterable[str] | None = None) -> NDArray[Any]:
        key = tuple(self.asked.names if names is None else names)
        if key not in self.known:
            self.known[key] = find_rows(self.asked, key)
        rows = self.known[key]
        self.used.update(rows.targets)
        if rows.plain:
            return self.states[rows.variables].astype(np.int16)
        numbers = np.where(rows.variables[:, None] < 0, 0, self.states[rows.variables])
        values: NDArray[np.int16] = np.take_along_axis(
            rows.meaning, numbers.astype(np.intp), axis=1
        )
        return values


@dataclass(frozen=True)
class FunctionQuery:
    """A feature under its name: a function of the values of names in many states."""

    name: str
    function: Function

    def __call__(self, values: Values) -> Floats:
        """A number for each state; anything else is refused."""
        numbers = np.asarray(self.function(values))
        if numbers.shape == ():
            numbers = np.full(values.count, numbers)
        if numbers.shape != (values.count,):
            raise InputError(
                f"the function {self.name!r} gave an array of shape {numbers.shape} for "
                f"{values.count} states; give one number for each"
            )
        if numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
            raise InputError(f"the function {self.name!r} gave what is not a finite number")
        return numbers.astype(np.float64)


def features_from(
    features: Mapping[str, Function | Table | str], asked: View
) -> list[FunctionQuery]:
    """Check what is asked for, before anything is sampled."""
    _require_features(features)
    return [
        FunctionQuery(name, _function(name, feature, asked)) for name, feature in features.items()
    ]


def _require_features(features: Mapping[str, Function | Table | str]) -> None:
    if not isinstance(features, Mapping) or not features:
        raise InputError(
            "expected a mapping from names to functions of states, to tables or to formulas"
        )


def _function(name: str, feature: Function | Table | str, asked: View) -> Function:
    if callable(feature):
        return feature
    if isinstance(feature, str):
        if asked.program is None:
            raise InputError(f"the feature {name!r} is a formula: these are for programs")
        return true_groundings(feature, asked.program, name)
    if not isinstance(feature, tuple) or len(feature) != 2:
        raise InputError(f"the feature {name!r} is neither a function nor (names, table)")
    listed = [feature[0]] if isinstance(feature[0], str) else list(feature[0])
    named = asked.named(listed)
    table, shape = np.asarray(feature[1]), tuple(len(each.values) for each in named)
    if table.shape != shape:
        raise InputError(f"the table {name!r} has the shape {table.shape}, expected {shape}")
    return lambda values: table[tuple(values[each.name] for each in named)]


def true_groundings(text: str, program: MarkovLogic, name: str) -> Callable[[Values], Floats]:
    """How many groundings of a formula are true, as a function of a state."""
    rule = read_grounded(text, program, name)
    universe, tables, _ = program.source.atoms
    formula = without_quantifiers(rule.formula, rule.types, universe)
    free = free_variables(formula)
    sizes = [universe.size(rule.types[variable]) for variable in free]
    count = math.prod(sizes)
    if count > MOST_GROUNDINGS:
        raise LimitError(
            f"the formula {name!r} has {count:,} groundings, the limit is {MOST_GROUNDINGS:,}"
        )
    numbers = dict(zip(free, np.indices(sizes).reshape(len(sizes), count), strict=True))

    def constants(term: Term, kind: str) -> NDArray[np.int64]:
        if isinstance(term, Variable):
            return numbers[term.name]
        if isinstance(term, Constant):
            return np.full(count, universe.numbers[kind][term.name])
        raise InputError(f"the formula {name!r} calculates, which cannot be counted here")

    def names(atom: Atom) -> tuple[str, ...]:
        kinds = program.source.program.predicates[atom.predicate].types
        columns = [constants(*pair) for pair in zip(atom.arguments, kinds, strict=True)]
        atoms = tables[atom.predicate]
        return tuple(atom_names(atoms, atoms.codes(columns, count), universe))

    def comparison(part: Comparison) -> NDArray[np.bool_]:
        variables = [term for term in (part.left, part.right) if isinstance(term, Variable)]
        kind = rule.types[variables[0].name]
        left, right = constants(part.left, kind), constants(part.right, kind)
        if part.operator not in ("=", "!="):
            raise InputError(f"the formula {name!r} orders constants, which is not counted here")
        return np.asarray((left == right) == (part.operator == "="))[:, None]

    parts = dict.fromkeys(parts_of(formula))
    atoms = {part: names(part) for part in parts if isinstance(part, Atom)}
    known = {part: comparison(part) for part in parts if isinstance(part, Comparison)}

    def number(values: Values) -> Floats:
        truth = known | {part: values.array(named) == 1 for part, named in atoms.items()}
        holds = np.broadcast_to(evaluate(formula, truth), (count, values.count))
        return np.asarray(holds.sum(axis=0), np.float64)

    return number


class FunctionFeature:
    """Sums of functions and of their squares, in turns, and the least and largest of each."""

    averaged = -1

    def __init__(self, functions: Sequence[FunctionQuery], asked: View) -> None:
        self.functions, self.asked = functions, asked
        self.variables = np.arange(asked.model.graph.variables)
        self.rows = 2 * len(functions)
        self.low, self.high = np.full((2, len(functions)), np.inf)
        self.high *= -1
        self.used: list[dict[str, Target]] = [{} for _ in functions]
        self.known = dict[tuple[str, ...], Rows]()
        self.alone = (
            threading.Lock()
        )  # packs work in threads; whose functions these are need not know

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        with self.alone:
            return self._sums(states)

    def _sums(self, states: Bytes) -> Floats:
        powers = np.zeros((self.rows, states.shape[1]))
        for place, function in enumerate(self.functions):
            values = StateValues(self.asked, states, self.known)
            numbers = function(values)
            self.used[place].update(values.used)
            self.low[place] = min(self.low[place], numbers.min())
            self.high[place] = max(self.high[place], numbers.max())
            powers[2 * place], powers[2 * place + 1] = numbers, numbers**2
        return sums_by_column(powers)

    def ends(self, place: int) -> tuple[float, float] | None:
        """The least and the largest number that a function may be; None if nobody knows.

        They are those that were seen. Where these are the same, the function is tried for all
        joint values of the names that it looks at: states that were not seen may differ.
        """
        low, high = float(self.low[place]), float(self.high[place])
        if high - low > ROUNDING * max(abs(low), abs(high)):
            return low, high
        numbers = self._everywhere(place)
        return None if numbers is None else (min(low, numbers.min()), max(high, numbers.max()))

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
            values = Values(self.asked, lambda target, s=states: s.get(target.variable), count)  # type: ignore[misc]
            try:
                with np.errstate(all="ignore"):
                    numbers = self.functions[place](values)
            except Exception:  # it is not ours, and need not know what to do in impossible states
                return None
            if set(variables_of(values.used.values())) <= set(scope):
                return numbers
            used.update(values.used)

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means[0::2])

    def depends(self) -> list[int]:
        """The variables that any function has looked at."""
        used = (
            target for targets in self.used for target in targets.values() if target.known is None
        )
        return list(dict.fromkeys(target.variable for target in used))


TRIED = 64  # states in which functions show what they depend on


@accepts_settings
@interruptible()
def expect(
    model: Model | Program,
    features: Mapping[str, Function | Table | str],
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Estimates:
    """Say what functions of a state are on average, each with its error.

    A function gets a mapping from names to arrays, the places of values in many states, and gives
    an array with a number for each state: `lambda s: s["A"] + 2 * (s["B"] == 1)`. It must be
    elementwise. `s.array(names)` has the values of many names as rows, of all without names:
    `lambda s: s.array().mean(axis=0)`. A feature may also be a table:
    `(["A", "B"], [[0, 1], [1, 2]])`. Answers are exact where elimination affords the joint of all
    names that a function looks at; sampled elsewhere. What a sampled function might be in states
    that were not seen is taken from its range in those that were; one that was the same in all of
    them is tried for all values that it may look at, and is not believed where these are too many.
    Ctrl-C gives the partial answer.

    Of a program, a feature may be a formula: how many of its groundings are true. If all are, and
    the program can be counted, so are they, exactly and without any grounding.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> wet = {"sources": lambda s: 1 * (s["rain"] > 0) + s["sprinkler"]}
    >>> print(om.expect(model, wet, {"grass": "wet"})["sources"])
    1.11127, exact
    >>> program = om.read("examples/smokers.mln", "examples/smokers.db")
    >>> print(om.expect(program, {"cases": "Cancer(x)"}, method="counting")["cases"])
    0.735149, exact
    """

    def bind(view: View) -> ExpectationQuestion:
        return ExpectationQuestion(view, features_from(features, view))

    count = None
    if not isinstance(model, Model) and (formulas := _only_formulas(features)):
        count = partial(inference.count_true_groundings, model, formulas)
    query = Query(model, evidence, bind, count, in_relations=bind)
    return answer(query, merge_options(settings, options), watchers)


def _only_formulas(features: Mapping[str, Function | Table | str]) -> Mapping[str, str]:
    """The features, if all are formulas; nothing elsewhere."""
    _require_features(features)
    formulas = {name: text for name, text in features.items() if isinstance(text, str)}
    return formulas if len(formulas) == len(features) else {}


class ExpectationQuestion:
    """The means of functions; which names they look at is found by trying them."""

    can_resume = False
    scopes: Sequence[Scope] = ()
    needs = None

    def __init__(self, view: View, functions: Sequence[FunctionQuery]) -> None:
        self.view, self.functions = view, functions
        self.known = dict[tuple[str, ...], Rows]()

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Estimates | None:
        state = row.likely_state()
        used = self._names_used(lambda name: np.array([state[name.variable]]), 1)
        while True:
            scopes = [variables_of(names.values()) for names in used]
            tied = find_elimination(self.view.model, evidence, settings, scopes)
            if tied is None:
                return None
            means = self._means(used, scopes, tied.tables(scopes))
            if means is not None:
                return _exact(self.functions, means, tied.about)

    def plan(self, settings: Settings) -> Plan:
        """A plan in which functions can be tried, and then one that ties the names they use."""
        features = tuning.AskedFeatures(len(self.functions), self._evaluate)
        plan = plan_model(self.view.model, settings, collapses=True, features=features)
        if plan.elimination is None:
            return plan
        states = independent_states(plan.one_elimination, TRIED, seed=plan.settings.seed)
        used = self._names_used(lambda name: states[name.variable], TRIED)
        while True:
            scopes = [variables_of(names.values()) for names in used]
            plan = plan_model(
                self.view.model,
                settings,
                lambda graph, s=scopes: tie_scopes(graph, s),  # type: ignore[misc]
                too_wide=self._describe_width(scopes),
                collapses=True,
                features=features,
            )
            if plan.elimination is None:
                return plan
            self.means = self._means(used, scopes, joints(plan.one_elimination, scopes))
            if self.means is not None:
                return plan

    def _describe_width(self, scopes: Sequence[Scope]) -> str:
        """Why no elimination has the joint of what a function looks at; nothing if one may."""
        sizes, most = self.view.model.graph.cardinality, max(map(len, scopes), default=0)
        entries = max((math.prod(sizes[list(scope)].tolist()) for scope in scopes), default=0)
        too_large = entries > MOST_JOINT_ENTRIES
        return f"a function looks at {most:,} variables, too many for a table" if too_large else ""

    def from_elimination(self, plan: Plan) -> Estimates:
        assert self.means is not None
        return _exact(self.functions, self.means, exact_about(plan))

    def _names_used(self, lookup: Lookup, count: int) -> list[dict[str, Target]]:
        """The names that each function looks at in so many states."""
        used = []
        for function in self.functions:
            values = Values(self.view, lookup, count)
            function(values)
            used.append(values.used)
        return used

    def _evaluate(self, states: Bytes) -> Floats:
        """The numbers of all functions in states `[variable, state]`."""
        values = (StateValues(self.view, states, self.known) for _ in self.functions)
        return np.array([query(one) for query, one in zip(self.functions, values, strict=True)])

    def _means(
        self,
        used: Sequence[dict[str, Target]],
        scopes: Sequence[Scope],
        tables: Sequence[Floats],
    ) -> list[float] | None:
        """The means of functions; None if some look at other names, too, which are then `used`."""
        each = zip(self.functions, used, scopes, tables, strict=True)
        means = [_mean(self.view, *query) for query in each]
        return None if None in means else [mean for mean in means if mean is not None]

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimates:
        functions, feature = self.functions, FunctionFeature(self.functions, self.view)
        noted = sample_feature(self.view, plan, feature, observers, feature.depends)
        ends = [feature.ends(place) for place in range(len(functions))]
        seen = list(zip(feature.low.tolist(), feature.high.tolist(), strict=True))
        pairs = [proven or plain for proven, plain in zip(ends, seen, strict=True)]
        low, high = np.array(pairs).T
        rows = (noted.sums, noted.recorded, noted.lanes, noted.known, noted.rows)
        every = expectations(*rows, (low, high))
        estimates = {}
        for place, function in enumerate(functions):
            mean = every.row(place)
            if ends[place] is not None and low[place] == high[place]:  # the same in all states
                estimates[function.name] = certain(float(mean.probability[0]), noted.about)
                continue
            estimates[function.name] = Estimate(
                value=float(mean.probability[0]),
                standard_error=float(mean.standard_error[0]),
                low=float(mean.low[0]),
                high=float(mean.high[0]),
                verdict=worst_verdict(mean.verdict() if ends[place] else FEW, noted.verdicts),
                about=noted.about,
            )
        return Estimates(estimates, noted.about)


def _exact(functions: Sequence[FunctionQuery], means: Sequence[float], about: About) -> Estimates:
    pairs = zip(functions, means, strict=True)
    return Estimates({query.name: certain(mean, about) for query, mean in pairs}, about)


def _mean(
    asked: View,
    function: FunctionQuery,
    used: dict[str, Target],
    scope: Sequence[int],
    table: Floats,
) -> float | None:
    """The mean of a function over a joint table; None if it looks at other names, too."""
    possible = np.flatnonzero(table.reshape(-1) > 0)
    places = np.unravel_index(possible, table.shape) if scope else ()
    states = dict(zip(scope, places, strict=True))
    values = Values(asked, lambda target: states.get(target.variable), len(possible))
    numbers = function(values)
    if not set(variables_of(values.used.values())) <= set(scope):
        used.update(values.used)
        return None
    return float(table.reshape(-1)[possible] @ numbers)
