"""What is in a model, what it will cost, and what looks wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc import inference
from orbitmc._util.arrays import MOST_VALUES
from orbitmc._util.text import MEMORY
from orbitmc.errors import LimitError, OrbitError
from orbitmc.estimate.marginals import Checks, GroupTexts, Marginals, Provenance
from orbitmc.exact.groups import predict_marginals
from orbitmc.formats.assembly import Rows, row_doubts, wrong_tables
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import Fringe
from orbitmc.graph.hardening import harden
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components, relevant
from orbitmc.graph.support import Domains, possible_values
from orbitmc.groups.cycles import cycle_text
from orbitmc.inference.plan import (
    ENOUGH_SECONDS,
    EXACT_SECONDS,
    find_fringe,
    fit_to_budget,
    most_seconds,
    plan_elimination,
    sampling_bytes,
    split_components,
)
from orbitmc.inference.query import resolve_query
from orbitmc.inference.settings import Settings
from orbitmc.symmetry._automorphisms import automorphisms

ORDER_SECONDS = 2.0
LONG = 256  # longer factors are not multiplied out to count neighbours
NAMED = 3  # variables named as examples


@dataclass(frozen=True)
class ExactCost:
    """What exact elimination takes; `refusal` says why it is out of the question, if it is."""

    bytes: int | None
    seconds: float | None
    width: int | None
    refusal: str | None


@dataclass(frozen=True)
class Overview:
    """Counts, costs and remarks on a model; all plain numbers and words.

    `cardinalities` says how many variables have how many values. Degrees count the other
    variables that share a factor with one. `zeros` is the share of impossible table entries. A
    question needs `needed` variables; of these `auto` eliminates `exact_variables`, and samples
    the others. If no jumps along symmetries pay, `summed_out` of these are exact given the rest.
    """

    variables: int
    observed: int
    forced: int
    factors: int
    clauses: int
    tables: int
    entries: int
    zeros: float
    cardinalities: dict[int, int]
    smallest_degree: int
    mean_degree: float
    largest_degree: int
    components: int
    largest_component: int
    exact: ExactCost
    needed: int
    exact_variables: int
    summed_out: int
    packs: int
    lanes: int
    sampling_bytes: int
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers, words, lists and dictionaries."""
        return asdict(self)


def overview(model: Model, *, query: Sequence[str] | None = None, memory: int = MEMORY) -> Overview:
    """Look at a model; `memory` is what an exact answer may take, to all or to a `query`.

    >>> import orbitmc as om
    >>> found = om.overview(om.ising_grid(3, 3, 0.3))
    >>> found.variables, found.factors, found.exact.width
    (9, 12, 3)
    """
    model.require_all_factors()
    graph = model.graph
    domains = possible_values(graph) if graph.has_zeros() else None
    degrees = _degrees(graph)
    parts = np.bincount(components(graph)[_seen(model)])
    sizes, counts = np.unique(graph.cardinality[_seen(model)], return_counts=True)
    used = _entries(graph)
    settings = Settings(memory=memory)
    sampling = fit_to_budget(graph, settings)
    needed = _needed(model, query)
    exact = _exact_cost(needed, memory)
    sampled = _sampled_part(needed, exact, settings)
    fringe = None if sampled is None else find_fringe(sampled.graph, settings)
    return Overview(
        variables=len(model.order),
        observed=len(model.observed),
        forced=len(_forced(model, domains)),
        factors=graph.first_clause,
        clauses=graph.factors - graph.first_clause,
        tables=len(np.unique(graph.table_of)),
        entries=len(used),
        zeros=float(np.isneginf(used).mean()) if len(used) else 0.0,
        cardinalities=dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
        smallest_degree=int(degrees.min(initial=degrees.max(initial=0))),
        mean_degree=float(degrees.mean()) if len(degrees) else 0.0,
        largest_degree=int(degrees.max(initial=0)),
        components=len(parts),
        largest_component=int(parts.max(initial=0)),
        exact=exact,
        needed=int(_seen(needed).sum()),
        exact_variables=int(_seen(needed).sum() - (0 if sampled is None else _seen(sampled).sum())),
        summed_out=0 if fringe is None or sampled is None else _summed_out(sampled, fringe),
        packs=sampling.pack_count,
        lanes=sampling.lane_count,
        sampling_bytes=sampling_bytes(graph, sampling),
        remarks=tuple(_remarks(model, domains, degrees)),
    )


def _seen(model: Model) -> NDArray[np.bool_]:
    """Which free variables people see: all but helpers."""
    return np.array([name not in model.helpers for name in model.names], dtype=np.bool_)


def _summed_out(model: Model, fringe: Fringe) -> int:
    """How many variables that people see a fringe sums out."""
    seen = _seen(model)
    return sum(bool(seen[step.variable]) for step in fringe.network)


def _needed(model: Model, query: Sequence[str] | None) -> Model:
    """What a question about some variables needs of a model; all of it if none are named."""
    if query is None:
        return model
    place = {name: variable for variable, name in enumerate(model.names)}
    asked = [place[name] for name in resolve_query(query, model) or () if name in place]
    return relevant(model, asked)[0]


def _sampled_part(model: Model, cost: ExactCost, settings: Settings) -> Model | None:
    """What `auto` does not eliminate, if no seconds are asked for; None if that is nothing."""
    if cost.refusal is None and (cost.seconds or 0.0) <= most_seconds(settings):
        return None
    firm = harden(model).model
    split = split_components(firm, settings)
    return firm if split is None else split.hard


def _degrees(graph: FactorGraph) -> NDArray[np.int64]:
    """How many other variables each one shares a factor with."""
    pairs, least = [np.zeros(0, dtype=np.int64)], np.zeros(graph.variables, dtype=np.int64)
    for scopes in _scopes_by_length(graph, graph.factors):
        length = scopes.shape[1]
        if length > LONG:
            least[scopes] = np.maximum(least[scopes], length - 1)
            continue
        for shift in range(1, length):
            shifted = np.roll(scopes, shift, axis=1)
            pairs.append((scopes * graph.variables + shifted).reshape(-1))
    links = np.unique(np.concatenate(pairs))
    degrees = np.bincount(links // max(graph.variables, 1), minlength=graph.variables)
    return np.maximum(degrees, least)


def _scopes_by_length(graph: FactorGraph, factors: int) -> Iterator[NDArray[np.int64]]:
    """The scopes of the first factors as rows, one array for each length."""
    starts = graph.scope_start[: factors + 1].astype(np.int64)
    lengths = np.diff(starts)
    for length in np.unique(lengths):
        first = starts[:-1][lengths == length]
        yield graph.scope[first[:, None] + np.arange(length)].astype(np.int64)


def _entries(graph: FactorGraph) -> NDArray[np.float64]:
    """Log-potentials of all tables that a factor reads."""
    starts = graph.table_start.astype(np.int64)
    used = np.unique(graph.table_of)
    pieces = [graph.table[starts[table] : starts[table + 1]] for table in used]
    return np.concatenate([np.zeros(0), *pieces])


def _exact_cost(model: Model, memory: int) -> ExactCost:
    try:
        graph = harden(model).model.graph
        plan = predict_marginals(
            graph,
            memory=memory,
            seconds=ORDER_SECONDS,
            within=EXACT_SECONDS,
            enough=ENOUGH_SECONDS,
        )
    except LimitError as error:
        return ExactCost(None, None, None, str(error))
    refusal = None
    if plan.bytes > memory:
        refusal = f"it needs {plan.bytes / 2**30:.3g} GiB, the limit is {memory / 2**30:.3g} GiB"
    return ExactCost(plan.bytes, plan.seconds, plan.width, refusal)


def _forced(model: Model, domains: Domains | None) -> list[int]:
    """Variables that people see and that have one possible value."""
    if domains is None or len(domains.value_start) < 2:
        return []
    left = np.add.reduceat(domains.allowed.astype(np.int64), domains.value_start[:-1])
    return np.flatnonzero((left == 1) & _seen(model)).tolist()


def _remarks(model: Model, domains: Domains | None, degrees: NDArray[np.int64]) -> list[str]:
    """Say what looks wrong, or may surprise."""
    graph = model.graph
    remarks = []
    silent = np.flatnonzero(np.diff(graph.incident_start.astype(np.int64)) == 0)
    if len(silent):
        remarks.append(
            f"no factor reads {_name_some(model, silent)}: every value is equally probable"
        )
    alone = np.flatnonzero((degrees == 0) & (np.diff(graph.incident_start.astype(int)) > 0))
    if len(alone):
        remarks.append(f"no factor connects {_name_some(model, alone)} to any other variable")
    single = np.flatnonzero(graph.cardinality == 1)
    if len(single):
        remarks.append(f"only one value exists for {_name_some(model, single)}")
    many = np.flatnonzero(graph.cardinality > MOST_VALUES)
    if len(many):
        remarks.append(
            f"more than {MOST_VALUES} values, too many for sampling: {_name_some(model, many)}"
        )
    return [*remarks, *_remarks_on_factors(model), *_remarks_on_zeros(model, domains)]


def _remarks_on_factors(model: Model) -> list[str]:
    graph = model.graph
    remarks = []
    repeated = sum(
        len(scopes) - len(np.unique(np.sort(scopes, axis=1), axis=0))
        for scopes in _scopes_by_length(graph, graph.first_clause)
    )
    if repeated:
        remarks.append(f"{repeated:,} factors read the same variables as an earlier one")
    flat = int(_flat_tables(graph)[graph.table_of[: graph.first_clause]].sum())
    if flat:
        remarks.append(f"{flat:,} factors have equal entries only, so they have no effect")
    unfair = [] if model.doubts else _unfair_rows(model)
    remarks += [f"this looks like a Bayesian network, but {words}" for words in row_doubts(unfair)]
    return [*remarks, *model.doubts]


def _flat_tables(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which tables hold the same number everywhere."""
    if not len(graph.table):
        return np.zeros(len(graph.table_start) - 1, dtype=np.bool_)
    first = graph.table_start[:-1].astype(np.int64)
    largest = np.maximum.reduceat(graph.table, first)
    return np.equal(largest, np.minimum.reduceat(graph.table, first))


def _unfair_rows(model: Model) -> list[Rows]:
    """Children whose tables do not sum to one, where most others of the network do."""
    graph = model.graph
    children = [int(graph.scope_of(factor)[-1:].sum()) for factor in range(graph.first_clause)]
    if graph.factors != graph.variables or sorted(children) != list(range(graph.variables)):
        return []
    wrong = list(wrong_tables(model))
    return wrong if 2 * len(wrong) < len(children) else []


def _remarks_on_zeros(model: Model, domains: Domains | None) -> list[str]:
    if domains is None:
        return []
    remarks = []
    forced = _forced(model, domains)
    if forced:
        remarks.append(f"constraints leave one value only to {_name_some(model, forced)}")
    remarks.append(
        "some states are impossible, so Gibbs may be frozen, and will report it; MC-SAT changes "
        "several variables at once; exact answers are not affected"
    )
    return remarks


def _name_some(model: Model, variables: Any) -> str:
    seen = [model.names[v] for v in variables if model.names[v] not in model.helpers]
    names = seen[:NAMED]
    more = len(seen) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


# What a page shows beside an answer: symmetries, and exact marginals where they are affordable.

CHECK_SECONDS = 5.0  # that an exact answer may take beside a sampled one
SYMMETRY_SECONDS = 2.0
MOST_VARIABLES_FOR_SYMMETRIES = 20_000  # in which symmetries are looked for


def check_marginals(answer: Marginals) -> Checks:
    """Look for what a page shows beside an answer that says what was asked."""
    assert answer.asked is not None
    return Checks(*_symmetries(answer.asked.conditioned_model), *_exact(answer, answer.asked))


def _symmetries(model: Model) -> tuple[GroupTexts | None, str]:
    if model.graph.variables > MOST_VARIABLES_FOR_SYMMETRIES:
        return (
            None,
            f"Not looked for: the model has more than {MOST_VARIABLES_FOR_SYMMETRIES:,} variables.",
        )
    try:
        report = automorphisms(model.graph, seconds=SYMMETRY_SECONDS)
    except OrbitError as error:
        return None, f"Not found: {error}."
    texts = [cycle_text(element, model.names) for element in report.group.generators()]
    orbits = [[int(place) for place in orbit] for orbit in report.orbits]
    return GroupTexts(report.order, texts, orbits, report.complete, report.how), ""


def _exact(answer: Marginals, asked: Provenance) -> tuple[Marginals | None, str]:
    if answer.about.is_exact:
        return None, "The answer is exact."
    model = asked.conditioned_model
    try:
        elimination, reason = plan_elimination(model.graph, Settings(seconds=CHECK_SECONDS))
        if elimination is None:
            return None, f"There is no exact answer to compare with: {reason}."
        marginals = inference.marginals(model, method="exact")
    except OrbitError as error:
        return None, f"There is no exact answer to compare with: {error}."
    in_words = marginals if asked.in_atoms is None else asked.in_atoms(marginals)
    return in_words.only(list(answer)), ""
