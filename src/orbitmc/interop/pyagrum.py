"""Networks of pyAgrum as models, and inference with the words of pyAgrum."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.formats.assembly import network_of_rows, normalise_rounded_rows
from orbitmc.graph.evidence import Seen
from orbitmc.graph.model import Model, model
from orbitmc.inference._joint import joint
from orbitmc.inference._marginals import marginals

if TYPE_CHECKING:
    from orbitmc import Marginals

# Bayesian networks and Markov random fields of pyAgrum.


def from_pyagrum(network: Any) -> Model:
    """The model of a BayesNet or a MarkovRandomField of pyAgrum.

    >>> import pyagrum
    >>> import orbitmc as om
    >>> network = pyagrum.BayesNet()
    >>> _ = network.add("coin", 2)
    >>> _ = network.cpt("coin").fillWith([0.75, 0.25])
    >>> om.marginals(om.from_pyagrum(network))["coin"].probability.round(3).tolist()
    [0.75, 0.25]
    """
    tensors = list(_tensors(network))
    variables = [network.variable(node) for node in network.nodes()]
    domains = {variable.name(): tuple(variable.labels()) for variable in variables}
    tables = [(names_in(tensor), table_in(tensor)) for tensor in tensors]
    if not hasattr(network, "cpt"):
        return model(domains, tables)
    return network_of_rows(
        model(domains, [(names, normalise_rounded_rows(table)) for names, table in tables])
    )


def _tensors(network: Any) -> Iterator[Any]:
    if hasattr(network, "cpt") and hasattr(network, "nodes") and not hasattr(network, "utility"):
        return (network.cpt(node) for node in network.nodes())
    if hasattr(network, "factors") and hasattr(network, "nodes"):
        return (network.factor(scope) for scope in network.factors())
    raise InputError(
        f"expected a BayesNet or a MarkovRandomField of pyAgrum, not a {type(network).__name__}"
    )


def names_in(tensor: Any) -> list[str]:
    """The variables of a tensor in the order of its array.

    In pyAgrum the first variable is the fastest one, in an array the last axis is. With equal
    cardinalities, the other order would transpose the table and nothing would notice.
    """
    return [tensor.variable(place).name() for place in reversed(range(tensor.nbrDim()))]


def table_in(tensor: Any) -> Floats:
    """The numbers of a tensor, an axis for each of `names_in`."""
    return np.asarray(tensor.toarray(), dtype=np.float64)


class PyAgrumInference:
    """Takes the place of `pyagrum.LazyPropagation` for evidence, posteriors and joint posteriors.

    Settings, as of `om.marginals`, hold for all questions: `PyAgrumInference(network, seconds=5)`.
    Evidence is a label, the number of a label from 0, or a weight for each label. `about` says how
    the last question was answered, and `converged` whether to believe it.

    >>> import pyagrum
    >>> network = pyagrum.BayesNet()
    >>> _ = network.add("coin", 2)
    >>> _ = network.cpt("coin").fillWith([0.75, 0.25])
    >>> PyAgrumInference(network).posterior("coin").toarray().round(3).tolist()
    [0.75, 0.25]
    """

    def __init__(self, network: Any, **settings: Any) -> None:
        self.network, self.settings = network, settings
        self.model = from_pyagrum(network)
        for doubt in self.model.doubts:
            warnings.warn(doubt, stacklevel=2)
        self.evidence: dict[str, Seen] = {}
        self.answer: Marginals | None = None
        self.about: Any = None
        self.converged = True

    def setEvidence(self, evidence: Mapping[Any, Any]) -> None:  # noqa: N802
        """Let this be all that is observed."""
        self.evidence = {
            self._name(variable): self._observation(variable, value)
            for variable, value in evidence.items()
        }
        self.answer = None

    def addEvidence(self, variable: Any, value: Any) -> None:  # noqa: N802
        """Observe one variable more."""
        if self._name(variable) in self.evidence:
            raise InputError(
                f"{self._name(variable)!r} is observed already: chgEvidence changes it"
            )
        self.chgEvidence(variable, value, new=True)

    def chgEvidence(self, variable: Any, value: Any, *, new: bool = False) -> None:  # noqa: N802
        """Change what was observed of a variable."""
        if self._name(variable) not in self.evidence and not new:
            raise InputError(f"{self._name(variable)!r} is not observed: addEvidence observes it")
        self.evidence[self._name(variable)] = self._observation(variable, value)
        self.answer = None

    def eraseEvidence(self, variable: Any) -> None:  # noqa: N802
        """Forget what was observed of a variable."""
        self.evidence.pop(self._name(variable), None)
        self.answer = None

    def eraseAllEvidence(self) -> None:  # noqa: N802
        """Forget all that was observed."""
        self.setEvidence({})

    def makeInference(self) -> None:  # noqa: N802
        """Ask for all posteriors; `posterior` does so by itself where it is needed."""
        answer = marginals(self.model, self.evidence, **self.settings)
        self.answer, self.about, self.converged = answer, answer.about, answer.converged

    def posterior(self, variable: Any) -> Any:
        """The probabilities of the values of a variable, as a Tensor."""
        if self.answer is None:
            self.makeInference()
        assert self.answer is not None
        name = self._name(variable)
        return self._tensor([name], self.answer[name].probability)

    def jointPosterior(self, variables: Iterable[Any]) -> Any:  # noqa: N802
        """The probabilities of the joint values of some variables, as a Tensor."""
        names = [self._name(variable) for variable in variables]
        answer = joint(self.model, names, self.evidence, **self.settings)
        self.about, self.converged = answer.about, answer.converged
        return self._tensor(names, answer.probability)

    def _tensor(self, names: list[str], probability: Any) -> Any:
        """A tensor whose array has the axes of `names`: the last one is added first."""
        tensor = extra("pyagrum", "pyagrum").Tensor()
        for name in reversed(names):
            tensor.add(self.network.variableFromName(name))
        tensor.fillWith(np.asarray(probability).reshape(-1).tolist())
        return tensor

    def _name(self, variable: Any) -> str:
        """The name of a variable, given by its name or its number."""
        name = variable if isinstance(variable, str) else self.network.variable(variable).name()
        if name not in self.model.index:
            raise InputError(f"unknown variable {variable!r}")
        return str(name)

    def _observation(self, variable: Any, value: Any) -> Seen:
        """What was observed; a whole number is the place of a label, whatever labels are called."""
        labels = self.model.domains()[self._name(variable)]
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return value
        if not 0 <= value < len(labels):
            raise InputError(
                f"{self._name(variable)!r} has labels 0 to {len(labels) - 1}, not {value}"
            )
        return labels[int(value)]
