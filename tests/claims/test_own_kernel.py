"""A kernel of one's own: registered, proven, mixed, sampled."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import uniform

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.kernels import bernoulli, integer


class Heat(NamedTuple):
    """Give one variable a value that is drawn without looking at the model."""

    bias: float

    @property
    def outcomes(self):
        return ("draws",)

    def memory(self, prepared, lanes):
        return ()


@om.kernels.step(Heat)
def heat(prepared, kernel, memory, values, outcomes, rng):
    variable = integer(rng, len(values))
    if bernoulli(rng, kernel.bias):
        for lane in range(values.shape[1]):
            values[variable, lane] = 0
    outcomes[0] += 1


def test_gibbs_passes_the_check():
    report = om.testing.check_kernel(om.kernels.gibbs())
    assert report.models == 8
    assert report.stationary <= 1e-12


def test_a_kernel_that_ignores_the_model_is_found_out():
    with pytest.raises(AssertionError, match="Heat does not keep the distribution"):
        om.testing.check_kernel(Heat(0.5))


def test_a_kernel_that_does_nothing_keeps_every_distribution_and_is_not_ergodic():
    report = om.testing.check_kernel(Heat(0.0))
    assert report.stationary <= 1e-12
    assert not report.ergodic
    assert report.remark.startswith("Heat never changes anything: it is not ergodic on its own")


class Copying(NamedTuple):
    """Copy every other lane over the next one; `first` says where lanes are copied from."""

    first: int

    outcomes = ("copies",)

    def memory(self, prepared, lanes):
        return ()


@om.kernels.step(Copying)
def copying(prepared, kernel, memory, values, outcomes, rng):
    for lane in range(kernel.first, values.shape[1] - 1, 2):
        for variable in range(len(values)):
            values[variable, lane + 1] = values[variable, lane]
    outcomes[0] += 1


class Leading(NamedTuple):
    """Let the first lane decide what is drawn for all: right in one lane, wrong in others."""

    outcomes = ()

    def memory(self, prepared, lanes):
        return om.kernels.scratch(prepared, lanes)


@om.kernels.step(Leading)
def leading(prepared, kernel, memory, values, outcomes, rng):
    variable = 0 if values[len(values) - 1, 0] == 0 else 1
    om.kernels.draw(prepared, memory, values, variable, rng)


@pytest.mark.parametrize("kernel", [Copying(0), Copying(1), Leading()])
def test_a_lane_that_depends_on_another_is_found(kernel):
    with pytest.raises(AssertionError, match="where a lane goes depends on other lanes"):
        om.testing.check_kernel(kernel)


class Falling(NamedTuple):
    """Draw the first variable unless all are 0: right, but it cannot leave that state."""

    outcomes = ()

    def memory(self, prepared, lanes):
        return np.zeros(lanes, dtype=np.uint8), om.kernels.scratch(prepared, lanes)


@om.kernels.step(Falling)
def falling(prepared, kernel, memory, values, outcomes, rng):
    kept, scratch = memory
    for lane in range(values.shape[1]):
        kept[lane] = values[0, lane]
    om.kernels.draw(prepared, scratch, values, 0, rng)
    for lane in range(values.shape[1]):
        others = 0
        for variable in range(1, len(values)):
            others += values[variable, lane]
        if others == 0:
            values[0, lane] = kept[lane]


class SharedValue(NamedTuple):
    """Sets a variable to a value that is drawn once for all lanes."""

    variables: int

    @property
    def outcomes(self):
        return ("accepted",)

    def memory(self, prepared, lanes):
        factors = np.arange(prepared.graph.factors, dtype=np.uint32)
        proposed = np.zeros((prepared.graph.variables, lanes), dtype=np.uint8)
        return proposed, np.zeros(lanes), np.zeros(lanes, dtype=np.uint8), factors


@om.kernels.step(SharedValue)
def set_shared_value(prepared, kernel, memory, values, outcomes, rng):
    proposed, change, accepted, factors = memory
    variable, value = om.kernels.integer(rng, kernel.variables), om.kernels.integer(rng, 2)
    for other in range(kernel.variables):
        for lane in range(values.shape[1]):
            proposed[other, lane] = value if other == variable else values[other, lane]
    om.kernels.log_weight_change(prepared.graph, factors, values, proposed, change)
    om.kernels.accept_by_log_ratio(rng, change, accepted)
    for lane in range(values.shape[1]):
        if accepted[lane]:
            values[variable, lane] = value
            outcomes[0] += 1


def test_a_kernel_that_moves_all_lanes_together_is_found():
    """It keeps the distribution on average; the spread of lanes would be too small an error."""
    model = om.ising_grid(2, 2, 0.4, 0.1)
    with pytest.raises(AssertionError, match="on average, but not given what is drawn for all"):
        om.testing.check_kernel(SharedValue(4), models=[model])


def test_a_kernel_that_cannot_leave_a_state_is_reported():
    report = om.testing.check_kernel(Falling(), models=[om.ising_grid(1, 2, 0.4, 0.1)])
    assert report.stationary <= 1e-12
    assert report.lanes == 4
    assert "Falling cannot leave the state {'s0_0': 0, 's0_1': 0}" in report.remark


@pytest.mark.parametrize(
    "kernel",
    [om.kernels.gibbs(), om.kernels.RandomScan(), lambda p: om.kernels.low_width(p.graph)],
)
def test_base_chains_are_ergodic_in_several_lanes(kernel):
    report = om.testing.check_kernel(kernel)
    assert (report.ergodic, report.remark, report.lanes) == (True, "", 4)


def test_a_kernel_that_draws_lane_by_lane_is_run_in_one_lane():
    model = om.model({"a": ["0", "1"]}, [(["a"], [1.0, 3.0])])
    report = om.testing.check_kernel(lambda p: om.kernels.mc_sat(p.graph), models=[model])
    assert (report.lanes, report.ergodic) == (1, True)


def test_a_step_that_leaves_the_states_is_named():
    with pytest.raises(AssertionError, match=r"Tripling: a step leads from .* which is no state"):
        om.testing.check_kernel(Tripling())


class Tripling(NamedTuple):
    """Write 3 into a variable, whatever values it has."""

    outcomes = ("steps",)

    def memory(self, prepared, lanes):
        return ()


@om.kernels.step(Tripling)
def tripling(prepared, kernel, memory, values, outcomes, rng):
    variable = integer(rng, len(values))
    for lane in range(values.shape[1]):
        values[variable, lane] = 3
    outcomes[0] += 1


def test_a_kernel_is_checked_on_some_model():
    with pytest.raises(InputError, match="at least one model"):
        om.testing.check_kernel(Heat(0.0), models=[])


GRID = om.ising_grid(3, 3, 0.2, 0.1)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Tripling(), "Tripling"),
        (
            om.kernels.alternation(om.kernels.gibbs(), Tripling(), period=20),
            "Alternation of SystematicScan and Tripling",
        ),
    ],
)
def test_values_that_a_variable_does_not_have_end_a_run(kernel, name):
    words = f"the kernel {name} has given 's[0-2]_[0-2]' the value 3, but it has 2 values"
    with pytest.raises(InputError, match=words):
        om.marginals(GRID, kernel=kernel, samples=50, seed=1)


class Late(NamedTuple):
    """Write 2 into the fifth variable after so many steps."""

    after: int

    outcomes = ("steps",)

    def memory(self, prepared, lanes):
        return np.zeros(1, dtype=np.int64)


@om.kernels.step(Late)
def late(prepared, kernel, memory, values, outcomes, rng):
    memory[0] += 1
    if memory[0] >= kernel.after:
        values[4, 7] = 2


def test_values_are_checked_before_anything_is_recorded_and_at_the_end():
    seen = []
    with pytest.raises(InputError, match="the kernel Late has given 's1_1' the value 2"):
        om.marginals(GRID, kernel=Late(1), samples=50, watchers=[lambda r: seen.append(r.recorded)])
    assert set(seen) == {0}
    with pytest.raises(InputError, match="the kernel Late has given 's1_1' the value 2"):
        om.marginals(
            GRID, kernel=Late(2000), samples=100, watchers=[lambda r: seen.append(r.recorded)]
        )
    assert max(seen) == 100


def test_a_resumed_run_is_checked_too(tmp_path):
    def stop(run):
        run.stop()

    kernel, kept = Late(2000), tmp_path / "late.run"
    om.marginals(GRID, kernel=kernel, samples=100, checkpoint=kept, watchers=[stop])
    with pytest.raises(InputError, match="'s1_1' the value 2"):
        om.resume(kept, GRID, kernel=kernel)


def test_a_given_kernel_answers_and_is_named():
    model = om.ising_grid(3, 3, 0.2, 0.1)
    kernel = om.kernels.lifted(om.kernels.gibbs(), [Heat(0.0)], alpha=0.7)
    found = om.marginals(model, kernel=kernel, samples=100, seed=1)
    exact = om.marginals(model, method="exact")
    assert found.about.method == "Mixture"
    assert found.about.outcomes["draws"] > 0
    for name in model.names:
        error = found[name].standard_error
        assert (np.abs(found[name].probability - exact[name].probability) < 8 * error).all()
    with pytest.raises(InputError, match="leave out the method 'gibbs'"):
        om.marginals(model, kernel=kernel, method="gibbs")
    with pytest.raises(InputError, match="leave out base"):
        om.marginals(model, kernel=kernel, base="mcsat")


class Untyped(NamedTuple):
    """Read what the kernel does not have."""

    bias: float

    outcomes = ("draws",)

    def memory(self, prepared, lanes):
        return ()


@om.kernels.step(Untyped)
def untyped(prepared, kernel, memory, values, outcomes, rng):
    variable = integer(rng, len(values))
    for lane in range(values.shape[1]):
        values[variable, lane] = kernel.chance


def test_what_cannot_be_compiled_is_said_in_a_line_with_its_place():
    with pytest.raises(InputError, match=r"Unknown attribute 'chance'") as refusal:
        om.marginals(om.ising_grid(2, 2, 0.3), kernel=Untyped(0.5), samples=5)
    error = refusal.value
    assert error.source == __file__
    assert error.line == untyped.__code__.co_firstlineno + 4
    assert error.message.startswith("the step of the kernel Untyped cannot be compiled: ")
    assert "\n" not in str(error)


def test_a_step_that_draws_from_numpy_is_refused_and_told_what_to_use():
    def drawing(prepared, kernel, memory, values, outcomes, rng):
        values[np.random.randint(len(values)), 0] = 1  # noqa: NPY002

    with pytest.raises(InputError, match=r"drawing draws from np.random, .* draw through"):
        om.kernels.step(Heat)(drawing)
    assert not om.testing.check_kernel(Heat(0.0)).ergodic  # the step that it had is still there


def test_what_only_looks_like_numpys_numbers_is_accepted():
    def reading(prepared, kernel, memory, values, outcomes, rng):
        outcomes[0] += np.int64(memory.random)

    def borrowed(prepared, kernel, memory, values, outcomes, rng):
        outcomes[0] += uniform() > 0.5  # noqa: NPY002

    assert om.kernels.step(Untyped)(reading) is reading
    with pytest.raises(InputError, match="borrowed draws from uniform"):
        om.kernels.step(Untyped)(borrowed)
