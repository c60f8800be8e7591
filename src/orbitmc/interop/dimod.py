"""Binary quadratic models of dimod, and back.

dimod minimises an energy E; here a state has the weight exp(-beta E).
"""

from typing import Any

import numpy as np

from orbitmc._util.loading import extra
from orbitmc._util.text import format_names
from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import require_beta
from orbitmc.models._ising import (
    SPIN,
    VARTYPE_VALUES,
    Quadratic,
    number,
    pair_places,
    quadratic_model,
)
from orbitmc.models._ising import SPIN_VALUES as UP_AND_DOWN


def from_dimod(bqm: Any, beta: float = 1.0) -> Model:
    """The distribution exp(-beta E) of a binary quadratic model of dimod.

    Values are called "-1" and "1" for spins, "0" and "1" for binary variables; `log_z` counts the
    offset.

    >>> import dimod
    >>> import orbitmc as om
    >>> bqm = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.0, "SPIN")
    >>> om.marginals(om.from_dimod(bqm, beta=0.5))["a"].probability.round(3).tolist()
    [0.731, 0.269]
    """
    vartype = str(getattr(getattr(bqm, "vartype", None), "name", None))
    if vartype not in VARTYPE_VALUES or not hasattr(bqm, "iter_quadratic"):
        raise InputError(
            f"expected a BinaryQuadraticModel of dimod (SPIN or BINARY), not a {type(bqm).__name__}"
        )
    labels = {label: place for place, label in enumerate(bqm.variables)}
    linear = np.zeros(len(labels))
    for label, bias in bqm.iter_linear():
        linear[labels[label]] = number(bias, f"the bias of {label!r}")
    terms = list(bqm.iter_quadratic())
    energy = Quadratic(
        vartype=vartype,
        names=format_names(labels),
        linear=linear,
        pairs=pair_places([(first, second) for first, second, _ in terms], labels),
        quadratic=np.array([number(bias, f"the bias of {a!r}, {b!r}") for a, b, bias in terms]),
        offset=number(bqm.offset, "the offset"),
    )
    return quadratic_model(energy, beta)


def to_dimod(model: Model, beta: float = 1.0, *, vartype: str | None = None) -> Any:
    """A binary quadratic model of dimod with the energy -log weight / beta of every state.

    The first value of a variable is -1 or 0, the second 1. Unless `vartype` says SPIN or BINARY,
    variables whose values are called so are spins. Observed variables are left out. A model with
    more values, factors of more than two variables, or impossible states has no such energy.

    >>> import orbitmc as om
    >>> bqm = om.to_dimod(om.ising([0.5, 0.0], [(0, 1)], 2.0))
    >>> float(bqm.energy({"s0": 1, "s1": 1}))
    -2.5
    """
    require_beta(beta)
    if beta == 0:
        raise InputError("beta is a number above 0, not 0: all energies would be infinite")
    model.require_all_factors()
    model = model.without_helpers()
    kind = _vartype(model) if vartype is None else str(vartype).upper()
    if kind not in VARTYPE_VALUES:
        raise InputError(f"vartype is SPIN or BINARY, not {vartype!r}")
    _require_binary(model)
    dimod = extra("dimod", "dimod")
    bqm = dimod.BinaryQuadraticModel("BINARY")
    for name in model.names:
        bqm.add_variable(name)
    bqm.offset -= model.graph.constant / beta
    for factor in range(model.graph.factors):
        _add_energy(bqm, model, factor, beta)
    return bqm.change_vartype(kind, inplace=False)


def _vartype(model: Model) -> str:
    spins = (SPIN, UP_AND_DOWN)
    return "SPIN" if model.values and all(values in spins for values in model.values) else "BINARY"


def _require_binary(model: Model) -> None:
    for name, values in zip(model.names, model.values, strict=True):
        if len(values) != 2:
            raise InputError(f"dimod has binary variables only, and {name!r} has {len(values)}")


def _add_energy(bqm: Any, model: Model, factor: int, beta: float) -> None:
    names = [model.names[variable] for variable in model.graph.scope_of(factor)]
    if len(names) > 2:
        raise InputError(
            f"dimod has pairs of variables only, and a factor reads {', '.join(names)}"
        )
    table = -model.graph.full_table(factor) / beta
    if not np.isfinite(table).all():
        scope = ", ".join(names)
        raise InputError(f"dimod has finite energies only, and a factor over {scope} has a zero")
    first = float(table.flat[0])
    bqm.offset += first
    if len(names) == 1:
        bqm.add_linear(names[0], float(table[1]) - first)
    elif len(names) == 2:
        bqm.add_linear(names[0], float(table[1, 0]) - first)
        bqm.add_linear(names[1], float(table[0, 1]) - first)
        twist = table[1, 1] - table[1, 0] - table[0, 1] + table[0, 0]
        bqm.add_quadratic(names[0], names[1], float(twist))


# A sampler that dimod and the libraries around it can use.
