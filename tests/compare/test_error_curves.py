"""Contests are fair, and the truth they use is true or refused."""

from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.compare._error_curves import (
    DEGREES,
    Estimate,
    by_method,
    combine_if_agreeing,
    error_curve,
    error_curves,
    prepare_sampler,
    reference_of,
)
from orbitmc.compare.figures import (
    FigureFiles,
    Row,
    curves,
    curves_text,
    endings,
    read_curves,
    visible_floor,
)
from orbitmc.errors import InputError, LimitError
from orbitmc.exact.contraction import marginals


@pytest.fixture(scope="module")
def grid():
    return om.ising_grid(4, 4, 0.3, np.random.default_rng(1).normal(0, 0.5, (4, 4)))


def test_the_truth_of_a_small_model_is_exact(grid):
    truth = reference_of(grid, seconds=0.1)
    assert truth.how == "exact"
    assert truth.floor.of_estimate == 0.0
    assert np.array_equal(truth.probability, np.concatenate(marginals(grid.graph).marginals))


def test_errors_shrink_and_all_start_from_the_same_states(grid):
    truth = reference_of(grid, seconds=0.1)
    racing = [prepare_sampler(by_method(grid, name, seconds=1.0)) for name in ("gibbs", "lifted")]
    turns = list(error_curves(racing, truth, seconds=1.0, seeds=[1, 2]))
    assert [(one.name, found.points[0].seed) for one, found in turns] == [
        ("gibbs", 1),
        ("lifted", 1),
        ("gibbs", 2),
        ("lifted", 2),
    ]
    for one, found in turns:
        first, last = found.points[0], found.points[-1]
        assert last.error.of_estimate < first.error.of_estimate / 4
        assert last.seconds > first.seconds >= one.seconds
        assert last.iterations > first.iterations


def test_counting_values_is_noisier_than_averaging_chances(grid):
    truth = reference_of(grid, seconds=0.1)
    one = prepare_sampler(by_method(grid, "gibbs", seconds=0.2))
    counted, averaged = (
        error_curve(one, truth, seconds=0.2, seed=1, estimator=kind)
        for kind in ("values", "rao-blackwell")
    )
    count = min(len(counted.points), len(averaged.points)) - 1
    assert counted.points[count].iterations == averaged.points[count].iterations
    assert averaged.points[count].error.of_estimate < counted.points[count].error.of_estimate


def test_two_samplers_that_agree_give_their_mean_and_a_floor():
    start = np.array([0, 2])
    one = Estimate(np.array([0.4, 0.6]), *2 * [np.array([0.01, 0.01])])
    two = Estimate(np.array([0.42, 0.58]), *2 * [np.array([0.01, 0.01])])
    truth = combine_if_agreeing([one, two], start, ["a", "b"])
    assert truth.probability == pytest.approx([0.41, 0.59])
    variance = 0.01**2 / 2
    assert truth.floor.of_estimate == pytest.approx(variance / (2 * 0.41 * 0.59))


def test_two_samplers_that_disagree_are_not_believed():
    start = np.array([0, 2])
    one = Estimate(np.array([0.4, 0.6]), *2 * [np.array([0.01, 0.01])])
    two = Estimate(np.array([0.5, 0.5]), *2 * [np.array([0.01, 0.01])])
    with pytest.raises(LimitError, match="nobody knows the truth"):
        combine_if_agreeing([one, two], start, ["a", "b"])


@pytest.mark.parametrize("variables", [5, 50, 2000])
def test_samplers_that_agree_are_hardly_ever_refused(variables):
    rng, start = np.random.default_rng(1), np.arange(0, 2 * variables + 1, 2)

    def estimate():
        columns = rng.normal(0.5, 0.1, (variables, DEGREES + 1))
        error = columns.std(axis=1, ddof=1) / np.sqrt(columns.shape[1])
        up = columns.mean(axis=1)
        return Estimate(np.column_stack([1 - up, up]).ravel(), *2 * [np.repeat(error, 2)])

    for _ in range(200):
        combine_if_agreeing([estimate(), estimate()], start, ["a", "b"])


def test_regions_that_move_together_are_seldom_refused():
    rng, start, refused = np.random.default_rng(1), np.arange(0, 2 * 3000 + 1, 2), 0
    error = np.full(2 * 3000, 0.01)

    def estimate():
        up = 0.5 + 0.01 * np.repeat(rng.standard_t(DEGREES, 30), 100)
        return Estimate(np.column_stack([1 - up, up]).ravel(), error, error)

    for _ in range(300):
        try:
            combine_if_agreeing([estimate(), estimate()], start, ["a", "b"])
        except LimitError:
            refused += 1
    assert refused <= 6


def test_a_small_shift_of_many_variables_is_not_believed():
    rng, start = np.random.default_rng(1), np.arange(0, 2001, 2)
    one, other = (0.5 + 0.01 * rng.standard_normal(1000) for _ in range(2))
    other[:100] += 0.05
    runs = [
        Estimate(np.column_stack([1 - up, up]).ravel(), *2 * [np.full(2000, 0.01)])
        for up in (one, other)
    ]
    with pytest.raises(LimitError, match="nobody knows the truth"):
        combine_if_agreeing(runs, start, ["a", "b"])


def test_exact_inference_does_not_race(grid):
    with pytest.raises(InputError, match="unknown method 'exact'"):
        by_method(grid, "exact", seconds=1.0)


def row(method, seed, iterations, kl):
    return Row(
        "p, q", method, "values", seed, iterations, 0, 2.0 * iterations, kl, kl, kl, 0.0, 0.0
    )


def test_curves_survive_the_file_and_keep_what_all_seeds_have(tmp_path):
    rows = [row("gibbs", seed, n, seed / n) for seed in (1, 2, 3) for n in (1, 2)]
    rows.append(row("gibbs", 1, 4, 0.1))
    path = tmp_path / "curves.csv"
    path.write_text(curves_text(rows))
    assert read_curves(path) == rows
    curve = curves(rows, "seconds", "kl")["gibbs", "values"]
    assert curve.axis.tolist() == [2.0, 4.0]
    assert curve.middle.tolist() == [2.0, 1.0]
    assert curve.low == pytest.approx([1.2, 0.6])
    assert curve.high == pytest.approx([2.8, 1.4])
    (end,) = endings(rows)
    assert end.kl == pytest.approx(1.0)  # the middle of 0.1, 1 and 1.5


def test_no_error_is_read_below_that_of_the_truth():
    rows = [replace(row("gibbs", 1, n, 1 / n), kl_floor=0.3) for n in (1, 2, 4)]
    assert curves(rows, "seconds", "kl")["gibbs", "values"].middle.tolist() == [1.0, 0.5, 0.3]
    assert endings(rows)[0].kl == 0.3
    assert endings(rows)[0].hellinger == 0.25  # its own floor is zero here


def test_a_floor_far_below_all_errors_is_not_drawn():
    near, far = (
        [replace(row("gibbs", 1, n, 1 / n), kl_floor=floor) for n in (1, 2, 4)]
        for floor in (0.01, 0.001)
    )
    assert visible_floor(near, "kl") == 0.01
    assert visible_floor(far, "kl") == 0.0


def test_acceptance_leaves_null_jumps_out(tmp_path):
    figure_files = FigureFiles(tmp_path, "figure_files")
    figure_files.jumps = [
        ["p", "lmh", "values", 1, 10, 4, 3, 9],
        ["p", "lmh", "values", 2, 10, 6, 2, 9],
    ]
    assert figure_files.acceptance("p", "lmh") == pytest.approx(5 / 10)
