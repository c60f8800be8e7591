"""Any base chain: lifted and lmh mix their jumps with Gibbs, MC-SAT, or a kernel of one's own."""

from typing import NamedTuple

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.inference.plan import choose_kernel, plan_model
from orbitmc.inference.settings import Settings
from orbitmc.kernels import integer
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._mixture import Mixture
from orbitmc.kernels.mcsat.kernel import MCSat
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from tests.cli.commands import answer_of, orbitmc
from tests.oracle import brute_force

EXACT = 1e-12
LIFTED = {
    "lifted": {"method": "lifted"},
    "generators": {"method": "lmh", "generators": ["(A B)", "(A C)"]},
    "blocks": {"method": "lmh", "clusters": 1, "rank": 0},
}


class Draw(NamedTuple):
    """Flip one variable, always: a chain with a mistake."""

    share: float

    @property
    def outcomes(self):
        return ("flips",)

    def memory(self, graph, lanes):
        return ()


@om.kernels.step(Draw)
def draw(prepared, kernel, memory, values, outcomes, rng):
    variable = integer(rng, len(values))
    for lane in range(values.shape[1]):
        values[variable, lane] = 1 - values[variable, lane]
    outcomes[0] += 1


def alike(tilt=0.0):
    """Three binary variables in a ring, with a hard constraint; the same, but for a tilt."""
    pair = [[0.0, 2.0], [2.0, 1.0]]
    scopes = (["A", "B"], ["B", "C"], ["A", "C"])
    fields = [(["A"], [1.0, 1.5 + tilt]), (["B"], [1.0, 1.5]), (["C"], [1.0, 1.5])]
    return om.model(
        {name: ["no", "yes"] for name in "ABC"}, [(one, pair) for one in scopes] + fields
    )


def chosen(model, **settings):
    return choose_kernel(model, prepare_unrounded(model.graph), Settings(**settings)).kernel


def off_by(model, kernel):
    """How far a kernel is from keeping the distribution."""
    chances = brute_force.distribution(model.graph)
    matrix = transition_matrix(model.graph, one_step(prepare_unrounded(model.graph), kernel))
    return np.abs(chances @ matrix - chances).max()


@pytest.mark.parametrize("way", LIFTED)
def test_jumps_mixed_with_mcsat_keep_the_distribution(way):
    model = alike(0.0 if way == "lifted" else 0.4)
    kernel = chosen(model, base="mcsat", **LIFTED[way])
    assert isinstance(kernel, Mixture)
    assert isinstance(kernel.first, MCSat)
    assert off_by(model, kernel) <= EXACT


@pytest.mark.parametrize("way", LIFTED)
def test_gibbs_is_the_base_unless_another_is_named(way):
    kernel = chosen(alike(), **LIFTED[way])
    assert isinstance(kernel.first, RandomScan)


def test_an_own_base_is_used_as_it_is_and_its_mistakes_show():
    kernel = chosen(alike(), method="lifted", base=Draw(1.0))
    assert kernel.first == Draw(1.0)
    assert off_by(alike(), kernel) > 0.01


def test_lmh_with_another_base_jumps_as_in_the_paper_without_a_race():
    decision = plan_model(om.ising_grid(4, 4, 0.3, 0.1), Settings(method="lmh", base="mcsat"))
    assert decision.choice is None
    assert decision.settings.moves is None


@pytest.mark.parametrize("method", ["lifted", "lmh"])
def test_mcsat_as_base_answers_rightly(method):
    model = alike(0.0 if method == "lifted" else 0.4)
    shape = {"clusters": 1, "rank": 0} if method == "lmh" else {}
    found = om.marginals(model, method=method, base="mcsat", samples=200, seed=1, **shape)
    exact = om.marginals(model, method="exact")
    assert found.about.method == method
    assert "slice was drawn exactly" in found.about.reason
    assert found.about.outcomes["slices"] > 0
    for name in "ABC":
        # Student's t with 31 degrees of freedom passes 9.5 about once in 1e10 draws
        error = np.abs(found[name].probability - exact[name].probability)
        assert (error <= 9.5 * found[name].standard_error + 1e-7).all()


def test_a_base_that_nothing_uses_is_refused():
    with pytest.raises(om.InputError, match="base is for lifted and lmh, not for gibbs"):
        om.marginals(alike(), method="gibbs", base="mcsat")
    moves = {"families": [], "period": 1}
    with pytest.raises(om.InputError, match="no base"):
        om.marginals(alike(), method="lmh", base="mcsat", moves=moves)
    with pytest.raises(om.InputError, match="slices is for mcsat, not for lmh"):
        om.marginals(alike(), method="lmh", slices="samplesat")


def test_slices_are_heard_by_a_base_of_mcsat():
    settings = Settings(method="lmh", base="mcsat", slices="samplesat")
    settings.require_use()


def test_the_command_line_chooses_a_base_and_resumes_it(tmp_path):
    path, run = tmp_path / "alike.json", tmp_path / "x.run"
    om.write(alike(), path)
    words = ("infer", path, "--method", "lifted", "--set", "base=mcsat", "--samples", "50")
    found = answer_of(*words, "--checkpoint", run)
    assert found["outcomes"]["slices"] > 0
    assert answer_of("resume", run)["variables"] == found["variables"]
    done = orbitmc("infer", path, "--method", "lifted", "--set", "base=mcsatt")
    assert done.returncode == 2
    assert (
        "--set base: expected gibbs, mcsat, low-width, relations or counts, not 'mcsatt'"
        in done.stderr
    )
