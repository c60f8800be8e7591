"""Answers by MC-SAT: right, honest about SampleSAT, and able to move what Gibbs cannot."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.inference._marginals import marginals
from orbitmc.kernels._mixture import lifted
from orbitmc.kernels._orbital import orbital
from orbitmc.kernels.mcsat.kernel import mc_sat
from orbitmc.sampling.checkpoint import load, save
from orbitmc.sampling.pack import arrays_of
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule
from tests.cli.commands import orbitmc
from tests.groups.builders import from_row

SIZE = 24


@pytest.fixture(scope="module")
def row():
    """Of each two neighbours in a row one is 1, and some ones are costly: many solutions."""
    builder = Builder([2] * SIZE)
    for variable in range(SIZE - 1):
        builder.add_clause([variable, variable + 1], [1, 1], np.inf)
    for variable in range(0, SIZE, 2):
        builder.add_clause([variable], [1], -0.7)
    names = tuple(f"x{variable}" for variable in range(SIZE))
    return Model(builder.build(), names, (("0", "1"),) * SIZE)


def in_errors(model, found):
    """How many standard errors lie between an answer and the truth, for each variable."""
    exact = marginals(model, method="exact")
    return np.array(
        [
            abs(found[name].probability[1] - exact[name].probability[1])
            / found[name].standard_error[1]
            for name in found
        ]
    )


def test_walks_in_large_components_are_exact(row):
    found = marginals(row, method="mcsat", samples=200, seed=3)
    assert found.about.method == "mcsat"
    assert found.about.outcomes["components walked"] > 1000
    assert "walked in, which is exact" in found.about.reason
    assert found.converged
    assert not found.about.warnings
    # Student's t with 31 degrees passes 8 about once in 1e8 draws; there are 24.
    assert in_errors(row, found).max() < 8


def test_slices_and_jumps_along_a_wrong_group_are_exact_together(row):
    prepared = prepare(row.graph)
    turn = permutation_group(SIZE, [from_row([*range(2, SIZE), 0, 1])])
    kernel = lifted(mc_sat(row.graph), [orbital(row.graph, turn)], alpha=0.7)
    run = sample(prepared, kernel, Schedule(samples=200), seed=5)
    assert 0 < run.outcomes["accepted"] < run.outcomes["proposals"]
    assert run.outcomes["components walked"] > 1000
    known, exact = run.statistics(), marginals(row, method="exact")
    truth = np.array([exact[name].probability[1] for name in row.names])
    assert (np.abs(known.probability - truth) / known.standard_error).max() < 8


def test_sample_sat_is_biased_and_the_answer_says_so(row):
    found = marginals(row, method="mcsat", slices="samplesat", samples=200, seed=3)
    assert found.about.outcomes["components by SampleSAT"] > 1000
    assert any("approximate" in warning for warning in found.about.warnings)
    assert in_errors(row, found).max() > 8


def test_equal_variables_are_frozen_one_at_a_time_but_not_for_slices(tmp_path):
    same = [(["a", "b"], [[1, 0], [0, 3]])]
    path = tmp_path / "x.json"
    om.write(om.model({"a": ["0", "1"], "b": ["0", "1"]}, same), path)
    done = orbitmc("infer", path, "--method", "mcsat", "--samples", "400")
    assert done.returncode == 0, done.stderr
    assert "every slice was drawn exactly" in done.stderr
    assert "converged" in done.stderr
    alone = ("--method", "gibbs", "--set", "scan=systematic")
    assert orbitmc("infer", path, *alone, "--samples", "400").returncode == 3


def test_unknown_slices_are_refused(row):
    with pytest.raises(InputError, match="expected walk or samplesat"):
        marginals(row, method="mcsat", slices="guess", samples=1)


def test_a_stopped_run_continues_as_if_it_never_stopped(row, tmp_path):
    prepared, kernel = prepare(row.graph), mc_sat(row.graph)
    schedule = Schedule(samples=60, warm_up=7, spacing=31)

    def stop(run):
        if run.recorded > 5:
            run.stop()

    def run(*watchers):
        return sample(prepared, kernel, schedule, packs=1, watchers=watchers)

    partial = run(stop)
    assert partial.recorded < 60
    save(partial, tmp_path / "half.run", {})
    resumed = continue_sampling(load(tmp_path / "half.run").restore(prepared, kernel))
    assert everything(resumed) == everything(run())


def everything(run):
    return {name: array.tobytes() for name, array in arrays_of(run.packs[0], "pack")}
