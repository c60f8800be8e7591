"""numbskull's Gibbs sampler on weighted clauses.

It scores a clause 1 or -1, so half the weight means the same. Clauses are its OR of categorical
variables, because its implication reads a wrong index.
"""

from typing import Any

import numpy as np
from numbskull import numbskull
from numbskull.inference import FUNC_OR_CAT
from numbskull.numbskulltypes import Factor, FactorToVar, Variable, Weight
from protocol import Turn, serve

SWEEPS = 20  # in a call


class Clauses:
    """A graph of clauses, sampled epoch by epoch."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.variables = model["variables"]
        self.sampler = numbskull.NumbSkull(
            n_inference_epoch=SWEEPS, quiet=True, burn_in=0, nthreads=1
        )
        self.sampler.loadFactorGraph(*_graph(model))

    def run(self, seconds: float, seed: int) -> tuple[int, None]:
        updates, turn = 0, Turn(seconds)
        while turn.lasts() or not updates:
            self.sampler.inference(out=False)
            updates += SWEEPS * self.variables
        return updates, None


def _graph(model: dict[str, Any]) -> tuple[Any, ...]:
    literals = np.array(model["literals"], dtype=np.int64)  # variable, wanted value
    lengths = np.array(model["lengths"], dtype=np.int64)
    weight = np.zeros(len(model["weights"]), Weight)
    weight["isFixed"], weight["initialValue"] = True, np.array(model["weights"]) / 2
    variable = np.zeros(model["variables"], Variable)
    variable["cardinality"], variable["dataType"] = 2, 1
    factor = np.zeros(len(lengths), Factor)
    factor["factorFunction"], factor["featureValue"] = FUNC_OR_CAT, 1.0
    factor["weightId"], factor["arity"] = model["weight_of"], lengths
    factor["ftv_offset"] = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    scope = np.zeros(len(literals), FactorToVar)
    scope["vid"], scope["dense_equal_to"] = literals[:, 0], literals[:, 1]
    return weight, variable, factor, scope, np.zeros(len(variable), np.bool_), int(lengths.sum())


if __name__ == "__main__":
    serve("numbskull", Clauses)
