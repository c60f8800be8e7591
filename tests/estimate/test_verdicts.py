"""Nobody is called well sampled who hangs on something that is not."""

import numpy as np

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.inference._marginals import marginals


def test_what_is_connected_to_an_unmixed_variable_is_not_believed():
    builder = Builder([2] * 4)
    builder.add_factor([0, 1], 12.0 * np.eye(2).ravel())  # the pair never flips in a short run
    builder.add_factor([1, 2], 0.02 * np.eye(2).ravel())  # alone it looks mixed
    builder.add_factor([3], [0.0, 0.5])  # has nothing to do with the pair
    names = ("one", "other", "near", "far")
    model = Model(builder.build(), names, (("no", "yes"),) * 4)
    found = marginals(model, method="gibbs", estimator="values", samples=400, seed=1)
    assert {name: found[name].verdict for name in names} == {
        "one": "not mixed",
        "other": "not mixed",
        "near": "tied to not mixed",
        "far": "good",
    }
    assert found["near"].r_hat.max() <= 1.05
    assert not found.converged
