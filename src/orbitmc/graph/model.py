"""A factor graph and the names people use for its variables and values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import Floats, short_repr
from orbitmc._util.loading import HtmlRepr
from orbitmc._util.text import quote
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.builder import Builder, SharedTables
from orbitmc.graph.causal_influence import NoisyGate, add_helpers
from orbitmc.graph.evidence import Evidence, ResolvedEvidence, Seen, as_mapping, resolve
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum
from orbitmc.graph.transforms import (
    ImpossibleFactorError,
    at_beta,
    condition,
    extend,
    merge_factors,
    require_beta,
    sum_out,
)


@dataclass(frozen=True)
class Observed:
    """A variable whose value evidence has fixed: its value names, and which one holds."""

    values: tuple[str, ...]
    value: int


@dataclass(frozen=True)
class Equivalence:
    """An equivalence relation between items that no factor of a graph says.

    `variables[k]` is 1 if the items `first[k]` and `second[k]` are equivalent. Items whose pair is
    no variable are known not to be. Where both are one item, the relation is partial: the variable
    is 0 if the item is equivalent to none, not even to itself.
    """

    name: str
    items: int
    variables: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def kind(self) -> str:
        partial = bool((self.first == self.second).any())
        return f"{'a partial' if partial else 'an'} equivalence relation"


@dataclass(frozen=True)
class ItemOrder:
    """A total order of items.

    `variables[k]` is 1 if the item `first[k]` comes before `second[k]`. Of the rows of `known` the
    first item is known to come before the second. Variables `themselves`, with an item each, are 1
    if the order is `reflexive`, else 0.
    """

    kind: ClassVar[str] = "a total order"
    name: str
    items: int
    variables: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    known: NDArray[np.int64]
    reflexive: bool = False
    themselves: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))


@dataclass(frozen=True)
class ItemMatching:
    """A matching of rows and columns that no factor of a graph says.

    `table[row, column]` is the variable that is 1 if the two are matched, -1 if they never are.
    Rows and columns that are `needed` are always matched.
    """

    kind: ClassVar[str] = "a matching"
    name: str
    table: NDArray[np.int32]
    rows_needed: NDArray[np.uint8]
    columns_needed: NDArray[np.uint8]

    @property
    def variables(self) -> NDArray[np.int64]:
        return self.table[self.table >= 0].astype(np.int64)


@dataclass(frozen=True)
class ItemForest:
    """A forest of items that no factor of a graph says.

    `variables[k]` is 1 if the item `first[k]` is an ancestor of `second[k]`. Of the rows of `known`
    the first item is known to be one of the second; items whose pair is neither are known not to
    be.
    """

    kind: ClassVar[str] = "a forest"
    name: str
    items: int
    variables: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    known: NDArray[np.int64]


UngroundRelation = Equivalence | ItemOrder | ItemMatching | ItemForest


@dataclass(frozen=True)
class TablePrecision:
    """How sure the tables of a Bayesian network are, which were learned from so many `rows`.

    `same_as[v]` is the variable whose table variable `v` has, itself if it is tied to no other, and
    -1 where the table was given. `counts[v]` are the rows behind each row of its table, those that
    the prior is worth included; the table of another variable has none. Where rows left something
    open, `information` is a matrix over the free entries of all tables: minus the second
    derivatives by their log-odds.
    """

    rows: int
    same_as: tuple[int, ...]
    counts: tuple[Floats, ...]
    information: Floats | None = None

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True, repr=False)
class Model(HtmlRepr):
    """A distribution over named variables, some of them already observed.

    `names` and `values` belong to the variables of `graph`, in its order; `observed` holds the
    variables that evidence has removed from it; `order` lists all of them as their author did.
    Variables that it does not list are helpers, of noisy gates: they are summed out, and no answer
    tells of them.
    `doubts` say what looks wrong in the source of the model; answers repeat them as warnings.
    States that are none of the `relations` are impossible, though no factor says so: only kernels
    that know them may sample such a model, and nothing else may answer about it. Of the `orders`
    factors say everything; kernels may make use of them.
    `precision` says how sure the tables are, if they were learned.
    """

    graph: FactorGraph
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    observed: Mapping[str, Observed] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    relations: tuple[UngroundRelation, ...] = ()
    orders: tuple[ItemOrder, ...] = ()
    precision: TablePrecision | None = None

    def __post_init__(self) -> None:
        if not self.order:
            object.__setattr__(self, "order", self.names)
        if len(self.names) != self.graph.variables or len(self.values) != self.graph.variables:
            raise InputError(
                f"{self.graph.variables} variables need as many names and lists of value names, "
                f"got {len(self.names)} and {len(self.values)}"
            )
        if len(set(self.names)) != len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise InputError(f"two variables are called {quote(twice)}")
        named = np.fromiter(map(len, self.values), dtype=np.int64, count=len(self.values))
        for variable in np.flatnonzero(named != self.graph.cardinality).tolist():
            raise InputError(
                f"variable {quote(self.names[variable])} has {self.graph.cardinality[variable]} "
                f"values but {named[variable]} names"
            )

    def __str__(self) -> str:
        sizes = f"{len(self.free_names)} variables, {self.graph.factors} factors"
        return f"Model({sizes}, {len(self.observed)} observed)"

    def given(self, evidence: Evidence | None = None, **seen: Seen) -> "Model":
        """Condition on evidence: a value (hard) or weights of the values (soft) per variable.

        Hard evidence removes the variable, soft evidence becomes a factor of its own. Variables
        whose names are words of Python can be named by keywords.
        """
        all_evidence = {**as_mapping(evidence), **seen}
        if not all_evidence:
            return self
        self.require_all_factors()
        findings = resolve(all_evidence, self.domains())
        self.require_consistent(findings)
        softened = self._with_likelihoods(findings)
        index = self.index
        hard = {index[name]: value for name, value in findings.hard.items() if name in index}
        try:
            graph = condition(softened, hard)
        except ImpossibleFactorError as error:
            scope = [self.names[variable] for variable in softened.scope_of(error.factor)]
            scope = [name for name in scope if name not in self.helpers] or scope
            raise ContradictionError(
                f"the evidence is impossible: it contradicts the factor over {', '.join(scope)}"
            ) from None
        free = [variable for variable in range(self.graph.variables) if variable not in hard]
        newly = {self.names[v]: Observed(self.values[v], value) for v, value in hard.items()}
        return Model(
            graph=graph,
            names=tuple(self.names[variable] for variable in free),
            values=tuple(self.values[variable] for variable in free),
            observed={**self.observed, **newly},
            order=self.order,
            doubts=self.doubts,
        )

    def require_all_factors(self) -> None:
        """Refuse what looks at the graph alone, where that does not say everything."""
        for relation in self.relations:
            raise LimitError(
                f"{relation.name} is {relation.kind} whose rules are not ground: only samples of "
                "it answer questions about the program"
            )

    def at(self, beta: float) -> "Model":
        """The model at another inverse temperature: all log-weights times `beta`.

        What is impossible stays impossible, so at 0 all other states are alike. Noisy gates become
        tables first: what sums over helpers is raised to a power, not what is summed.
        """
        require_beta(beta)
        if beta == 1:
            return self
        plain = self.without_helpers()
        return plain.with_graph(at_beta(plain.graph, float(beta)))

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Variables that nobody sees, because noisy gates need them and people do not."""
        if len(self.order) == len(self.names) + len(self.observed):
            return frozenset()
        return frozenset(self.names).difference(self.order)

    @property
    def free_names(self) -> tuple[str, ...]:
        """Variables that are not observed and that people see."""
        if not self.helpers:
            return self.names
        return tuple(name for name in self.names if name not in self.helpers)

    def without_helpers(self) -> "Model":
        """The same distribution of what people see, with a table for each noisy gate.

        Gates with too many causes are refused.
        """
        if not self.helpers:
            return self
        places = {v for v, name in enumerate(self.names) if name in self.helpers}
        free = [v for v in range(len(self.names)) if v not in places]
        try:
            graph = sum_out(self.graph, sorted(places))
        except LimitError as error:
            raise LimitError(f"a noisy gate has too many causes to be one table: {error}") from None
        return Model(
            graph=graph,
            names=tuple(self.names[v] for v in free),
            values=tuple(self.values[v] for v in free),
            observed=self.observed,
            order=self.order,
            doubts=self.doubts,
            relations=self.relations,
        )

    def with_graph(self, graph: FactorGraph) -> "Model":
        """The same names with other factors, of which nobody knows how sure they are."""
        return Model(
            graph, self.names, self.values, self.observed, self.order, self.doubts,
            self.relations, self.orders,
        )  # fmt: skip

    def domains(self) -> dict[str, tuple[str, ...]]:
        """Value names of every variable, observed ones included, in the author's order."""
        free = dict(zip(self.names, self.values, strict=True))
        return {n: free[n] if n in free else self.observed[n].values for n in self.order}

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Where each free variable stands in the graph."""
        return {name: variable for variable, name in enumerate(self.names)}

    def require_consistent(self, findings: ResolvedEvidence) -> None:
        """Refuse findings that contradict what is observed already."""
        for name, value in findings.hard.items():
            known = self.observed.get(name)
            if known and known.value != value:
                raise ContradictionError(
                    f"{quote(name)} is already observed to be "
                    f"{quote(known.values[known.value])}, not {quote(known.values[value])}"
                )
        for name, weights in findings.soft.items():
            known = self.observed.get(name)
            if known and weights[known.value] == 0:
                raise ContradictionError(
                    f"{quote(name)} is already observed to be "
                    f"{quote(known.values[known.value])}, which has weight 0 in the new evidence"
                )

    def _with_likelihoods(self, findings: ResolvedEvidence) -> FactorGraph:
        if not findings.soft:
            return self.graph
        factors, constant = [], [self.graph.constant]
        for name, weights in findings.soft.items():
            with np.errstate(divide="ignore"):
                likelihood = np.log(np.asarray(weights))
            if name in self.observed:
                constant.append(float(likelihood[self.observed[name].value]))
            else:
                factors.append(((self.index[name],), likelihood))
        return merge_factors(extend(self.graph, factors)._replace(constant=exact_sum(constant)))


def model(
    values: Mapping[str, Sequence[str]],
    factors: Sequence[tuple[Sequence[str], ArrayLike] | NoisyGate],
) -> Model:
    """Build a small model by names; tables hold weights (not logarithms), last variable fastest.

    Beside tables, factors may be noisy gates: `om.noisy_or("fever", {"flu": 0.8, "cold": 0.3})`.

    >>> coin = model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])])
    >>> coin.graph.variables
    1
    """
    names = tuple(values)
    index = {name: variable for variable, name in enumerate(names)}
    for name in names:
        if len(set(values[name])) != len(values[name]):
            twice = Counter(values[name]).most_common(1)[0][0]
            raise InputError(f"two values of variable {quote(name)} are called {quote(twice)}")
    gates = {
        place: gate.resolve(values)
        for place, gate in enumerate(factors)
        if isinstance(gate, NoisyGate)
    }
    helpers = add_helpers(gates.values(), values)
    builder = Builder([len(domain) for domain in [*values.values(), *helpers.values()]])
    tables = SharedTables(builder)
    helper = len(names)
    for place, factor in enumerate(factors):
        if isinstance(factor, NoisyGate):
            for members, link in gates[place].chain(helper, index):
                with np.errstate(divide="ignore"):
                    builder.add_factors([members], tables.number(np.log(link)))
            helper += gates[place].helpers
            continue
        scope, weights = factor
        table = np.asarray(weights, dtype=np.float64)
        if (table < 0).any():
            raise InputError(f"factor over {list(scope)} has a negative weight")
        unknown = [name for name in scope if name not in index]
        if unknown:
            raise InputError(f"factor over {list(scope)} reads {quote(unknown[0])}, not a variable")
        with np.errstate(divide="ignore"):
            builder.add_factor([index[name] for name in scope], np.log(table))
    domains = {**{name: tuple(values[name]) for name in names}, **helpers}
    return Model(builder.build(), tuple(domains), tuple(domains.values()), order=names)
