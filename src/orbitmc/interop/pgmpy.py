"""Discrete networks and factor graphs of pgmpy."""

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import extra
from orbitmc._util.text import format_names
from orbitmc.errors import InputError
from orbitmc.formats.assembly import Rows, normalise_rounded_rows, row_doubts
from orbitmc.graph.evidence import Seen
from orbitmc.graph.model import Model, model
from orbitmc.inference._joint import joint as joint_of
from orbitmc.inference._marginals import marginals

NETWORK_KINDS = "DiscreteBayesianNetwork, DiscreteMarkovNetwork or FactorGraph"


@dataclass(frozen=True)
class Labelled:
    """A model, what its variables are called elsewhere, and what their values are, in order."""

    model: Model
    names: Mapping[Hashable, str]
    states: Mapping[Hashable, tuple[Any, ...]]

    def number(self, variable: Hashable, state: Any) -> int:
        """The place of a state among those of its variable."""
        self.require(variable)
        for place, label in enumerate(self.states[variable]):
            if label == state and isinstance(label, bool) == isinstance(state, bool):
                return place
        labels = ", ".join(map(repr, self.states[variable]))
        raise InputError(f"unknown state {state!r} of variable {variable!r}; it has {labels}")

    def require(self, variable: Hashable) -> None:
        if variable not in self.names:
            known = ", ".join(map(repr, self.names))
            raise InputError(f"unknown variable {variable!r}; there are {known}")


def from_pgmpy(network: Any) -> Model:
    """The model of a discrete Bayesian network, Markov network or factor graph of pgmpy.

    Names and states that are no text become text. Tables are read by the names of their states,
    so that factors may list them in any order.

    >>> from pgmpy.factors.discrete import TabularCPD
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> import orbitmc as om
    >>> network = DiscreteBayesianNetwork()
    >>> network.add_node("coin")
    >>> network.add_cpds(TabularCPD("coin", 2, [[0.75], [0.25]]))
    >>> om.marginals(om.from_pgmpy(network))["coin"].probability.round(3).tolist()
    [0.75, 0.25]
    """
    return label_model(network).model


def label_model(network: Any) -> Labelled:
    """The model, with what pgmpy calls its variables and states."""
    factors = list(_factors(network))
    states: dict[Hashable, tuple[Any, ...]] = {}
    for factor in factors:
        for variable, size in zip(factor.variables, factor.cardinality, strict=True):
            states.setdefault(variable, _states(factor, variable, int(size)))
    _require_tables(network, states)
    names = dict(zip(states, format_names(states), strict=True))
    domains = {names[variable]: format_names(labels) for variable, labels in states.items()}
    tables = [([names[v] for v in entry.variables], _table(entry, states)) for entry in factors]
    if not hasattr(network, "get_cpds"):
        return Labelled(model(domains, tables), names, states)
    tables = [(scope, normalise_rounded_rows(table, axis=0)) for scope, table in tables]
    doubts = row_doubts(_rows(*entry, domains) for entry in tables)
    return Labelled(replace(model(domains, tables), doubts=doubts), names, states)


def _rows(scope: Sequence[str], table: Floats, domains: Mapping[str, tuple[str, ...]]) -> Rows:
    """A table of pgmpy, which has the child first, with the child last."""
    names = [*scope[1:], scope[0]]
    return Rows(names, [domains[name] for name in names], np.moveaxis(table, 0, -1))


def _factors(network: Any) -> Iterator[Any]:
    """Tables of a network, as factors."""
    if hasattr(network, "get_cpds"):
        every = network.get_cpds()
        if any(not hasattr(cpd, "to_factor") for cpd in every):
            raise InputError("expected discrete conditional probabilities (TabularCPD) only")
        return (cpd.to_factor() for cpd in every)
    if hasattr(network, "get_factors"):
        return iter(network.get_factors())
    raise InputError(f"expected a {NETWORK_KINDS} of pgmpy, not a {type(network).__name__}")


def _states(factor: Any, variable: Hashable, size: int) -> tuple[Any, ...]:
    """What a factor calls the states of a variable: numbers from 0, unless it says otherwise."""
    names = (getattr(factor, "state_names", None) or {}).get(variable)
    labels = tuple(range(size)) if names is None else tuple(names)
    if len(labels) != size or len(set(map(repr, labels))) != size:
        raise InputError(f"variable {variable!r} needs {size} different states, has {labels!r}")
    return labels


def _require_tables(network: Any, states: Mapping[Hashable, Any]) -> None:
    """Refuse variables that no table tells about: nobody knows how many values they have."""
    known = getattr(network, "get_variable_nodes", network.nodes)
    for variable in known():
        if variable not in states:
            raise InputError(f"variable {variable!r} has no table; add its factor or CPD first")
    if hasattr(network, "get_cpds") and len(network.get_cpds()) != len(network.nodes()):
        raise InputError("a Bayesian network has one CPD for each variable")


def _table(factor: Any, states: Mapping[Hashable, Sequence[Any]]) -> Floats:
    """The table of a factor, with the states of each variable in the order of the model."""
    table = np.asarray(factor.values, dtype=np.float64)
    for axis, (variable, size) in enumerate(zip(factor.variables, table.shape, strict=True)):
        labels, wanted = list(_states(factor, variable, size)), list(states[variable])
        if labels == wanted:
            continue
        if sorted(map(repr, labels)) != sorted(map(repr, wanted)):
            raise InputError(
                f"factors disagree about the states of {variable!r}: {wanted!r} and {labels!r}"
            )
        table = table.take([labels.index(state) for state in wanted], axis=axis)
    return table


# Inference with the `query` of pgmpy, answered here.


class PgmpyInference:
    """Takes the place of `pgmpy.inference.VariableElimination`; factors are normalised.

    Settings, as of `om.marginals`, hold for all questions: `PgmpyInference(network, seconds=5)`.
    `about` says how the last question was answered, and `converged` whether to believe it.

    >>> from pgmpy.factors.discrete import DiscreteFactor
    >>> from pgmpy.models import DiscreteMarkovNetwork
    >>> network = DiscreteMarkovNetwork([("a", "b")])
    >>> network.add_factors(DiscreteFactor(["a", "b"], [2, 2], [1, 2, 3, 4]))
    >>> PgmpyInference(network).query(["b"], {"a": 1}).values.round(3).tolist()
    [0.429, 0.571]
    """

    def __init__(self, network: Any, **settings: Any) -> None:
        self.network = label_model(network)
        for doubt in self.network.model.doubts:
            warnings.warn(doubt, stacklevel=2)
        self.settings = settings
        self.about: Any = None
        self.converged = True

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: Mapping[Hashable, Any] | None = None,
        virtual_evidence: Sequence[Any] | None = None,
        elimination_order: Any = None,
        joint: bool = True,
        show_progress: bool = True,
    ) -> Any:
        """The factor of all variables together, or one of each in a mapping if not `joint`.

        States are those of the network. `elimination_order` and `show_progress` are accepted and
        change nothing.
        """
        targets = list(variables)
        if not targets or len(set(targets)) != len(targets):
            raise InputError("variables names each variable once, and one at least")
        observations = self._observations(evidence or {}, virtual_evidence or ())
        for variable in targets:
            self.network.require(variable)
            if variable in (evidence or {}):
                raise InputError(f"variable {variable!r} is asked for and observed")
        return self._joint(targets, observations) if joint else self._each(targets, observations)

    def _observations(
        self, evidence: Mapping[Hashable, Any], virtual: Sequence[Any]
    ) -> dict[str, Seen]:
        network, observations = self.network, dict[str, Seen]()
        for variable, state in evidence.items():
            place = network.number(variable, state)
            name = network.names[variable]
            observations[name] = network.model.domains()[name][place]
        for cpd in virtual:
            variable = cpd.variables[0]
            network.require(variable)
            if network.names[variable] in observations:
                raise InputError(f"two findings about variable {variable!r}")
            observations[network.names[variable]] = self._likelihood(cpd, variable)
        return observations

    def _likelihood(self, cpd: Any, variable: Hashable) -> list[float]:
        """Weights of virtual evidence, in the order of the model's states."""
        weights = np.asarray(cpd.values, dtype=np.float64).reshape(-1).tolist()
        labels = (getattr(cpd, "state_names", None) or {}).get(variable)
        wanted = self.network.states[variable]
        if labels is not None and set(map(repr, labels)) == set(map(repr, wanted)):
            return [weights[list(labels).index(state)] for state in wanted]
        if labels is None or list(labels) == list(
            range(len(weights))
        ):  # pgmpy's, if none are given
            return weights
        raise InputError(
            f"virtual evidence has other states of {variable!r} than the network: {list(labels)!r} "
            f"and {list(wanted)!r}"
        )

    def _each(
        self, targets: Sequence[Hashable], observations: Mapping[str, Seen]
    ) -> dict[Hashable, Any]:
        names = [self.network.names[variable] for variable in targets]
        answer = marginals(self.network.model, observations, query=names, **self.settings)
        self.about, self.converged = answer.about, answer.converged
        return {v: self._factor([v], answer[self.network.names[v]].probability) for v in targets}

    def _joint(self, targets: Sequence[Hashable], observations: Mapping[str, Seen]) -> Any:
        names = [self.network.names[variable] for variable in targets]
        answer = joint_of(self.network.model, names, observations, **self.settings)
        self.about, self.converged = answer.about, answer.converged
        return self._factor(targets, answer.probability)

    def _factor(self, targets: Sequence[Hashable], probability: Any) -> Any:
        states = {variable: list(self.network.states[variable]) for variable in targets}
        sizes = [len(labels) for labels in states.values()]
        factor_type = extra("pgmpy.factors.discrete", "pgmpy").DiscreteFactor
        return factor_type(
            list(targets), sizes, np.asarray(probability).reshape(-1), state_names=states
        )
