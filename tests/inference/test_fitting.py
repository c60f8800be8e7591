"""Large models get as many chains as memory and time allow; what was asked for stays."""

import importlib
import itertools
from types import SimpleNamespace
from typing import Unpack

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba import compile_log
from orbitmc._numba.compile_log import (
    asked_before,
    latest_time,
    spent_before,
    time_limit,
    working_time,
)
from orbitmc.conditionals.prepared import FEW_LIMITS, prepare
from orbitmc.errors import LimitError
from orbitmc.graph.builder import Builder
from orbitmc.inference._sweep import _is_affordable_at_all, _share_of_time
from orbitmc.inference.plan import (
    ENOUGH,
    LARGE,
    NO_TIME_FOR_SYMMETRIES,
    SHARE,
    _fit_slices_to_seconds,
    choose_kernel,
    fit_to_budget,
    plan_elimination,
    plan_for_kernel,
    plan_model,
    prepare_within,
    sample_seconds,
    sampling_bytes,
)
from orbitmc.inference.rows import Kind, SampledRows
from orbitmc.inference.settings import Options, Settings, accepts_settings
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.sampling import pack

answer = importlib.import_module("orbitmc.inference.answer")
log_z_question = importlib.import_module("orbitmc.inference._log_z")
SIDE = 230
GRAPH = om.ising_grid(SIDE, SIDE, 0.3).graph


def shape(settings):
    return settings.pack_count, settings.lane_count, settings.spacing


def test_the_grid_is_large():
    assert GRAPH.variables > LARGE


@pytest.mark.parametrize("seconds", [0.01, 10.0])
def test_small_models_have_the_usual_packs(seconds):
    asked = Settings(seconds=seconds, memory=10**6)
    assert fit_to_budget(om.ising_grid(10, 10, 0.3).graph, asked) is asked


def test_little_time_means_fewer_lanes_and_then_fewer_sweeps_between_samples():
    found = [
        fit_to_budget(GRAPH, Settings(seconds=seconds)) for seconds in (30.0, 2.0, 1.0, 0.5, 1e-3)
    ]
    assert shape(found[0]) == (4, 64, None)
    lanes = [one.lane_count for one in found]
    sweeps = [(one.spacing or 4 * GRAPH.variables) // GRAPH.variables for one in found]
    assert lanes == sorted(lanes, reverse=True)
    assert sweeps == sorted(sweeps, reverse=True)
    assert (lanes[-1], sweeps[-1]) == (32, 1)


@pytest.mark.parametrize("seconds", [30.0, 1.0])
def test_there_is_time_for_enough_samples(seconds):
    found = fit_to_budget(GRAPH, Settings(seconds=seconds))
    assert ENOUGH * sample_seconds(GRAPH, found) <= SHARE * seconds


def test_counted_samples_take_as_long_as_they_take():
    assert shape(fit_to_budget(GRAPH, Settings(samples=10**6))) == (4, 64, None)


def test_little_memory_means_fewer_packs_and_then_fewer_lanes():
    needed = {
        (packs, lanes): sampling_bytes(GRAPH, Settings(packs=packs, lanes=lanes))
        for packs in (1, 2, 3, 4)
        for lanes in (32, 64)
    }
    for packs in (1, 2, 3, 4):
        found = fit_to_budget(GRAPH, Settings(memory=needed[packs, 64]))
        assert shape(found)[:2] == (packs, 64)
    assert shape(fit_to_budget(GRAPH, Settings(memory=needed[1, 64] - 1)))[0] >= 1
    assert shape(fit_to_budget(GRAPH, Settings(memory=needed[1, 64] - 1)))[1] == 32


def test_what_was_asked_for_stays():
    asked = Settings(packs=4, lanes=64, spacing=7, seconds=0.01, memory=10**6)
    assert shape(fit_to_budget(GRAPH, asked)) == (4, 64, 7)
    assert fit_to_budget(GRAPH, Settings(lanes=96, seconds=0.01)).lane_count == 96


def test_what_does_not_fit_is_refused_with_the_figure():
    model = om.ising_grid(SIDE, SIDE, 0.3)
    with pytest.raises(LimitError, match=r"1 pack of 32 chains need .* give it more memory"):
        plan_model(model, Settings(method="gibbs", memory=10**6))
    with pytest.raises(LimitError, match=r"4 packs of 64 chains need .* fewer packs or lanes"):
        plan_model(model, Settings(method="gibbs", memory=10**6, packs=4, lanes=64))


def test_a_large_model_is_answered_within_little_memory():
    model = om.ising_grid(SIDE, SIDE, 0.1, np.full((SIDE, SIDE), 0.2))
    memory = sampling_bytes(model.graph, Settings(packs=1, lanes=32)) + 10**5
    found = om.marginals(model, method="gibbs", samples=2, warm_up=4, memory=memory, seed=1)
    assert found.about.chains == 32
    up = np.array([found[name].probability[1] for name in list(model.names)[:200]])
    assert abs(up.mean() - 0.65) < 0.1


def test_the_same_question_has_the_same_packs_again():
    one, two = (fit_to_budget(GRAPH, Settings(seconds=0.7, seed=seed)) for seed in (1, 2))
    assert shape(one) == shape(two)


def ternary(variables):
    """A ring in which every variable meets the next four: 2 * 3^8 limits would be too many."""
    builder = Builder(np.full(variables, 3))
    own, rng = np.arange(variables), np.random.default_rng(0)
    for shift in (1, 2):
        pairs = np.column_stack([own, (own + shift) % variables])
        builder.add_factors(pairs, builder.add_tables(rng.normal(size=(variables, 9))))
    return builder.build()


def test_a_short_run_makes_fewer_tables_of_conditionals():
    graph = ternary(12_000)  # 2 * 3^4 limits each
    counted, short = (
        prepare_within(graph, Settings(**end).schedule())
        for end in ({"samples": 5}, {"seconds": 0.1})
    )
    assert len(counted.conditionals.limit) == 12_000 * 2 * 3**4
    assert len(short.conditionals.limit) <= FEW_LIMITS < len(counted.conditionals.limit)


def test_many_values_make_a_sample_longer():
    few, many = Builder([2] * 100).build(), ternary(100)
    settings = Settings(seconds=1.0)
    assert sample_seconds(many, settings) > 20 * sample_seconds(few, settings)


def test_a_timed_run_with_few_tables_goes_on_as_if_it_had_not_stopped(tmp_path):
    """A run of one pack is stopped in its middle; it must find the same tables again."""
    graph = ternary(12_000)
    names = tuple(f"v{k}" for k in range(graph.variables))
    model = om.Model(graph, names, (("a", "b", "c"),) * graph.variables)

    def stop(run):
        run.stop()

    how = {"method": "gibbs", "seconds": 0.1, "packs": 1, "lanes": 32, "seed": 1}
    path = tmp_path / "ring.run"
    om.marginals(model, **how, checkpoint=path, watchers=[stop])
    prepared = []
    om.resume(path, model, watchers=[lambda run: prepared.append(run.prepared)])
    assert len(prepared[0].conditionals.limit) <= FEW_LIMITS


def test_log_z_is_refused_where_there_is_no_time_for_a_pass(monkeypatch):
    monkeypatch.setattr(log_z_question, "LATEST", 0.0)
    monkeypatch.setattr(log_z_question, "MORE", 0.0)
    model = om.ising_grid(60, 60, 0.3, 0.1)
    with pytest.raises(LimitError, match="no time"):
        om.log_z(model, method="gibbs", seconds=1.0)
    assert om.log_z(model, method="gibbs", samples=2).about.samples == 2


def test_a_pass_that_is_late_leaves_the_one_before(monkeypatch):
    passes = importlib.import_module("orbitmc.sampling.annealed_importance")
    cool, made = passes.cool_down, []

    def second_is_late(*given, **how):
        made.append(1)
        if len(made) == 2:
            raise LimitError("late")
        return cool(*given, **how)

    monkeypatch.setattr(passes, "cool_down", second_is_late)
    found = om.log_z(om.ising_grid(12, 12, 0.3, 0.1), method="gibbs", samples=4)
    assert (len(made), found.about.samples) == (2, 2)
    assert not found.about.interrupted


def test_what_was_done_before_a_timed_question_counts_as_its_own():
    model = om.ising_grid(3, 3, 0.3)
    with asked_before(50.0):
        timed = plan_model(model, Settings(method="gibbs", seconds=1.0))
        counted = plan_model(model, Settings(method="gibbs", samples=1))
        given = plan_for_kernel(model, om.kernels.gibbs(), Settings(seconds=1.0))
    assert timed.seconds >= 50.0
    assert given.seconds >= 50.0
    assert counted.seconds < 50.0
    assert plan_model(model, Settings(method="gibbs", seconds=1.0)).seconds < 50.0


def test_an_exact_answer_has_the_time_that_is_left():
    graph = om.ising_grid(3, 3, 0.3).graph
    assert plan_elimination(graph, Settings(seconds=40.0))[0] is not None
    with asked_before(50.0):
        assert plan_elimination(graph, Settings(seconds=40.0))[0] is None
        assert plan_elimination(graph, Settings(seconds=40.0, method="exact"))[0] is not None


def test_the_time_of_a_question_runs_from_its_beginning(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compile_log, "working_time", lambda: now[0])

    @accepts_settings
    def inner(**options: Unpack[Options]):
        now[0] += 1.0
        return spent_before()

    @accepts_settings
    def outer(**options: Unpack[Options]):
        now[0] += 2.0
        return inner()

    assert inner() == 1.0
    assert outer() == 3.0  # a question within another is part of it
    with asked_before(7.0):
        assert outer() == 10.0
    assert spent_before() == 0.0


def test_rows_share_what_is_left_of_the_time():
    kinds = [Kind(om.ising_grid(2, 2, 0.3), [row]) for row in range(4)]
    rows = SampledRows(Settings(seconds=60.0), ("s0_0",))
    rows.kinds += kinds
    with asked_before(20.0):
        assert rows._share(1).seconds == pytest.approx(10.0, abs=0.1)
        rows.sampled_kinds = 2
        assert rows._share(1).seconds == pytest.approx(20.0, abs=0.1)
    with asked_before(90.0):
        assert rows._share(2).seconds == pytest.approx(6.0)  # a little is always left


def test_all_temperatures_are_eliminated_only_if_there_is_time_for_it():
    """Ten temperatures take at least eighty eliminations of a tenth of a second."""
    plan, ten = SimpleNamespace(seconds=0.1), [1.0] * 10
    measured = []

    def affordable(betas, settings):
        return _is_affordable_at_all(measured.append, betas, plan, settings)

    assert affordable(ten, Settings(seconds=9.0))
    assert measured == [1.0]
    assert not affordable(ten, Settings(seconds=7.0))
    with asked_before(5.0):
        assert not affordable(ten, Settings(seconds=9.0))
    assert affordable(ten, Settings(seconds=7.0, method="exact"))
    assert affordable([1.0] * 1000, Settings())
    assert measured == [1.0]


def test_an_energy_is_measured_before_all_are_promised(monkeypatch):
    """Large tables may take longer to load than to sum."""
    plan, seconds = SimpleNamespace(seconds=0.01), iter([0.5, 0.05])

    class Watch:
        def __enter__(self):
            self.seconds = next(seconds)
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr("orbitmc.inference._sweep.Stopwatch", Watch)
    asked = [1.0] * 10, plan, Settings(seconds=9.0)
    assert not _is_affordable_at_all(lambda beta: 0.0, *asked)
    assert _is_affordable_at_all(lambda beta: 0.0, *asked)


def dense(variables):
    pairs = list(itertools.combinations(range(variables), 2))
    return om.ising(np.zeros(variables), pairs, np.linspace(-0.5, 0.5, len(pairs)))


def test_a_dense_model_is_not_read_into_tables_where_there_is_no_time_for_it(monkeypatch):
    """It has few variables, but 31,125 factors."""
    model, read = dense(250), []
    for module in ("orbitmc.exact.problem", "orbitmc.inference.cache"):
        monkeypatch.setattr(f"{module}.prepare", read.append)
    with pytest.raises(LimitError):
        om.log_z(model, seconds=1e-3)
    with asked_before(10.0):
        om.best(model, seconds=1.0)
    with pytest.warns(UserWarning, match="1 rows were sampled"):
        om.predict(model, [{model.names[0]: 1}], query=[model.names[1]], seconds=0.1)
    assert read == []


def test_temperatures_one_after_the_other_share_what_is_left_of_the_time():
    with asked_before(20.0):
        assert _share_of_time(Settings(seconds=60.0), 4).seconds == pytest.approx(10.0, abs=0.1)
        assert _share_of_time(Settings(samples=9), 4) == Settings(samples=9)


def large_table():
    builder = Builder([2] * 20)
    builder.add_factor(range(20), np.zeros((2,) * 20))
    return builder.build()


def test_mcsat_has_fewer_chains_where_a_slice_takes_long_and_is_refused_where_none_fit():
    """Two slices of a million entries take some 48 ms in each lane."""
    graph = large_table()
    asked = Settings(method="mcsat", seconds=100.0)
    assert _fit_slices_to_seconds(graph, asked) == asked
    fewer = _fit_slices_to_seconds(graph, Settings(method="mcsat", seconds=2.0))
    assert (fewer.packs, fewer.lanes) == (2, 32)
    with pytest.raises(LimitError, match="1,048,576 entries"):
        _fit_slices_to_seconds(graph, Settings(method="mcsat", seconds=1.0))
    for other in (Settings(method="gibbs", seconds=1.0), Settings(method="mcsat", samples=1)):
        assert _fit_slices_to_seconds(graph, other) == other


def test_symmetries_are_not_looked_for_in_tables_that_take_too_long():
    names = [f"v{number}" for number in range(20)]
    model = om.model(dict.fromkeys(names, "01"), [(names, np.ones((2,) * 20))])
    prepared = prepare(model.graph)
    hasty = choose_kernel(model, prepared, Settings(method="lifted", seconds=1.0))
    assert hasty.about == NO_TIME_FOR_SYMMETRIES
    assert isinstance(hasty.kernel, RandomScan)
    small = om.ising_grid(3, 3, 0.3)
    usual = choose_kernel(small, prepare(small.graph), Settings(method="lifted", seconds=1.0))
    assert "order 8" in usual.about


ASKED = {
    "marginals": om.marginals,
    "draws": om.draws,
    "log z": om.log_z,
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_auto_samples_where_elimination_takes_much_longer_than_expected(ask, monkeypatch):
    monkeypatch.setattr(answer, "_elimination_in_time", lambda *_: time_limit(-1.0))
    model = om.ising_grid(20, 20, 0.1)  # too wide to be remembered
    given = ask(model, samples=20, seed=1)
    assert given.about.method in ("gibbs", "annealed importance sampling")
    assert given.about.reason.startswith("exact elimination took longer than expected")


def test_auto_lets_elimination_take_what_was_expected():
    model = om.ising_grid(12, 12, 0.1)
    assert om.marginals(model, seconds=60, memory=2**30).about.method == "exact"


def test_a_model_that_cannot_be_made_ready_in_time_is_refused(monkeypatch):
    monkeypatch.setattr("orbitmc.inference.plan.SECONDS_PER_EDGE", 1.0)
    model = om.ising_grid(3, 3, 0.3)
    for ask in (
        lambda: om.marginals(model, method="gibbs", seconds=2.0),
        lambda: om.marginals(model, kernel=om.kernels.gibbs(), seconds=2.0),
    ):
        with pytest.raises(LimitError, match="9 variables and 12 factors ready takes about 24 s"):
            ask()
    assert om.marginals(model, method="gibbs", samples=10).about.samples == 10


def test_what_there_is_no_time_for_is_refused_before_a_graph_is_made_for_it(monkeypatch):
    monkeypatch.setattr("orbitmc.inference.plan.SECONDS_PER_EDGE", 1e-4)

    def tie(graph):
        raise AssertionError("a graph was made")

    model = om.ising_grid(SIDE, SIDE, 0.3)
    with pytest.raises(LimitError, match=r"ask for more seconds"):
        plan_model(model, Settings(seconds=0.5), tie)
    with pytest.raises(AssertionError):
        plan_model(model, Settings(), tie)


VERBS = {
    "marginals": om.marginals,
    "joint": lambda model, **how: om.joint(model, ["a", "b"], **how),
    "draws": om.draws,
    "log Z": om.log_z,
    "best": om.best,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_search_for_a_state_to_start_from_ends_with_the_seconds(verb, monkeypatch):
    """Where zeros are many, nobody knows how long it takes."""
    limits, search = [], pack.possible_states

    def listen(*given):
        limits.append(latest_time() - working_time())
        return search(*given)

    monkeypatch.setattr(pack, "possible_states", listen)
    values = {name: ["0", "1"] for name in "abcdefghijkl"}
    apart = [(pair, [[0.0, 1.0], [2.0, 3.0]]) for pair in itertools.combinations(values, 2)]
    VERBS[verb](om.model(values, apart), method="gibbs", seconds=0.2, seed=1)
    assert limits
    assert max(limits) <= 0.2 + 1.1
