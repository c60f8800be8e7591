"""Inference with the `query` of pgmpy, answered here."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from orbitmc._util.loading import extra
from orbitmc.ask.marginals import marginals
from orbitmc.ask.questions.joint import joint as joint_of
from orbitmc.errors import InputError
from orbitmc.graph.evidence import Seen
from orbitmc.interop.pgmpy_networks import labelled


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
        self.network = labelled(network)
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
        asked = list(variables)
        if not asked or len(set(asked)) != len(asked):
            raise InputError("variables names each variable once, and one at least")
        seen = self._seen(evidence or {}, virtual_evidence or ())
        for variable in asked:
            self.network.require(variable)
            if variable in (evidence or {}):
                raise InputError(f"variable {variable!r} is asked for and observed")
        return self._joint(asked, seen) if joint else self._each(asked, seen)

    def _seen(self, evidence: Mapping[Hashable, Any], virtual: Sequence[Any]) -> dict[str, Seen]:
        network, found = self.network, dict[str, Seen]()
        for variable, state in evidence.items():
            place = network.number(variable, state)
            name = network.names[variable]
            found[name] = network.model.domains()[name][place]
        for cpd in virtual:
            variable = cpd.variables[0]
            network.require(variable)
            if network.names[variable] in found:
                raise InputError(f"two findings about variable {variable!r}")
            found[network.names[variable]] = self._likelihood(cpd, variable)
        return found

    def _likelihood(self, cpd: Any, variable: Hashable) -> list[float]:
        """Weights of virtual evidence, in the order of the model's states."""
        weights = np.asarray(cpd.values, dtype=np.float64).reshape(-1).tolist()
        own = (getattr(cpd, "state_names", None) or {}).get(variable)
        wanted = self.network.states[variable]
        if own is not None and set(map(repr, own)) == set(map(repr, wanted)):
            return [weights[list(own).index(state)] for state in wanted]
        if own is None or list(own) == list(range(len(weights))):  # pgmpy's, if none are given
            return weights
        raise InputError(
            f"virtual evidence has other states of {variable!r} than the network: {list(own)!r} "
            f"and {list(wanted)!r}"
        )

    def _each(self, asked: Sequence[Hashable], seen: Mapping[str, Seen]) -> dict[Hashable, Any]:
        names = [self.network.names[variable] for variable in asked]
        found = marginals(self.network.model, seen, query=names, **self.settings)
        self.about, self.converged = found.about, found.converged
        return {v: self._factor([v], found[self.network.names[v]].probability) for v in asked}

    def _joint(self, asked: Sequence[Hashable], seen: Mapping[str, Seen]) -> Any:
        names = [self.network.names[variable] for variable in asked]
        found = joint_of(self.network.model, names, seen, **self.settings)
        self.about, self.converged = found.about, found.converged
        return self._factor(asked, found.probability)

    def _factor(self, asked: Sequence[Hashable], probability: Any) -> Any:
        states = {variable: list(self.network.states[variable]) for variable in asked}
        sizes = [len(own) for own in states.values()]
        made = extra("pgmpy.factors.discrete", "pgmpy").DiscreteFactor
        return made(list(asked), sizes, np.asarray(probability).reshape(-1), state_names=states)
