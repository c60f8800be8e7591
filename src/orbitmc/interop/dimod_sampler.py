"""A sampler with the words of dimod, answered here."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.inference._draws import draws
from orbitmc.interop.dimod import from_dimod

READS = 64


def _base() -> Any:
    """What samplers of dimod are made of; without dimod, nothing that can be used."""
    return extra("dimod", "dimod").Sampler if find_spec("dimod") else object


class DimodSampler(_base()):  # type: ignore[misc]
    """Samples exp(-beta E) for dimod: exactly where that is affordable, by chains elsewhere.

    Unlike an annealer it samples at the temperature that it is given; a large `beta` looks for
    low energies. `info` of a sample set says the method and the verdict.

    >>> import orbitmc as om
    >>> found = om.interop.DimodSampler().sample_ising({}, {("a", "b"): -1.0}, num_reads=5)
    >>> len(found), found.info["verdict"]
    (5, 'exact')
    """

    def __init__(self) -> None:
        self.dimod = extra("dimod", "dimod")
        super().__init__()

    @property
    def properties(self) -> Mapping[str, Any]:
        return {"description": "orbitmc: Lifted Metropolis-Hastings"}

    @property
    def parameters(self) -> Mapping[str, Sequence[str]]:
        return {name: [] for name in ("num_reads", "beta", "seed", "method", "warm_up", "spacing")}

    def sample(
        self,
        bqm: Any,
        *,
        num_reads: int = READS,
        beta: float = 1.0,
        seed: int = 0,
        method: Any = "auto",
        warm_up: int | None = None,
        spacing: int | None = None,
        **unknown: Any,
    ) -> Any:
        """Draw `num_reads` states of a binary quadratic model, one of each chain."""
        self.remove_unknown_kwargs(**unknown)
        if isinstance(num_reads, bool) or not isinstance(num_reads, int) or num_reads < 1:
            raise InputError(f"num_reads is a whole number above 0, not {num_reads!r}")
        result = draws(
            from_dimod(bqm, beta), chains=num_reads, samples=1, seed=seed, method=method,
            warm_up=warm_up, spacing=spacing,
        )  # fmt: skip
        if not result.values.shape[1]:  # Ctrl-C in the warm-up: there is no state to give
            raise KeyboardInterrupt
        # Draws have the order of the model's names, which is that of bqm.variables.
        states = result.values[:, 0, :].astype(np.int8)
        states = 2 * states - 1 if bqm.vartype.name == "SPIN" else states
        about = {"beta": beta, "method": result.about.method, "verdict": result.verdict}
        labels = list(bqm.variables)
        return self.dimod.SampleSet.from_samples_bqm((states, labels), bqm, info=about)
