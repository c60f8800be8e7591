"""Packs on the workers of an executor: the same bytes as here, whatever happens to workers."""

import multiprocessing
import os
import pickle
import signal
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, OrbitError
from orbitmc.sampling import executor as sending
from orbitmc.sampling import executor as working
from orbitmc.sampling import remote_packs as packs
from orbitmc.sampling import remote_packs as rounds
from orbitmc.sampling import sampler
from orbitmc.sampling.pack import _advance
from tests.sampling.executors import Copying, Forgetting, Losing, Silent

GRID = om.ising_grid(6, 5, 0.4, 0.1)
HARD = om.model(
    {name: ["x", "y", "z"] for name in "abcd"},
    [(pair, [[1, 0, 2], [0, 3, 1], [2, 1, 0]]) for pair in ("ab", "bc", "cd")],
)


@pytest.fixture(autouse=True)
def fresh():
    working._opened.clear()


def same(one, other):
    columns = ("probability", "standard_error", "ess", "r_hat", "verdict")
    for column in columns:
        assert getattr(one.columns, column).tobytes() == getattr(other.columns, column).tobytes()
    assert one.about.outcomes == other.about.outcomes
    assert one.about.samples == other.about.samples


@pytest.mark.parametrize(
    ("model", "how"),
    [
        (GRID, {"method": "gibbs", "samples": 400}),  # long enough for control variates
        (GRID, {"method": "gibbs", "samples": 50, "packs": 7, "lanes": 32}),
        (GRID, {"method": "gibbs", "samples": 50, "estimator": "values"}),
        (GRID, {"method": "gibbs", "samples": 50, "scan": "random"}),
        (GRID, {"method": "lmh", "samples": 50, "alpha": 0.8}),
        (GRID, {"method": "lifted", "samples": 50}),
        (GRID, {"method": "gibbs", "standard_error": 0.02}),
        (HARD, {"method": "gibbs", "samples": 50, "base": "low-width"}),
        (HARD, {"method": "mcsat", "samples": 20}),
    ],
)
def test_marginals_have_the_same_bytes(model, how):
    same(om.marginals(model, seed=3, executor=Copying(), **how), om.marginals(model, seed=3, **how))


def test_other_questions_have_the_same_bytes():
    how = {"method": "gibbs", "samples": 60, "seed": 2}

    def answers(**more):
        yield om.joint(GRID, ["s0_0", "s3_3"], **how, **more).probability
        yield om.draws(GRID, chains=40, **how, **more).values
        yield om.draws(GRID, chains=40, **how, **more).log_weight
        yield np.array(float(om.probability(GRID, "s0_0 == 'up' or s1_1 == 'up'", **how, **more)))
        same_spin = {"same": lambda state: state["s0_0"] == state["s1_1"]}
        yield np.array(om.expect(GRID, same_spin, **how, **more)["same"].standard_error)
        yield np.array([one.value for one in om.information(GRID, "s0_0", **how, **more).values()])
        yield np.array([rung.energy.value for rung in om.sweep(GRID, [0.5, 1.0], **how, **more)])
        yield np.array(om.log_z(om.ising_grid(12, 12, 0.3), **how, **more).value)

    for here, there in zip(answers(), answers(executor=Copying()), strict=True):
        assert here.tobytes() == there.tobytes()


@pytest.mark.parametrize("kind", [Copying, Losing])
def test_best_states_are_searched_on_workers(kind):
    """A glass, so that rounds differ; two packs of chains in three rounds."""
    glass = om.random_chimera(2, 2, beta=2.0, field=0.5, seed=1)
    how = {"method": "gibbs", "samples": 3, "packs": 2, "seed": 2, "k": 3}
    executor = kind()
    here, there = om.best(glass, **how), om.best(glass, executor=executor, **how)
    assert [dict(state) for state in here] == [dict(state) for state in there]
    assert [state.log_weight for state in here] == [state.log_weight for state in there]
    assert there.about.chains == 128
    assert len(executor.sent) == 6 + getattr(executor, "lost", 0)
    assert there[0].log_weight == pytest.approx(om.best(glass)[0].log_weight, rel=1e-12)


def test_what_workers_are_sent_compiles_nothing_anew():
    om.marginals(GRID, method="gibbs", samples=400, seed=3)
    before = len(_advance.dispatcher.signatures)
    om.marginals(GRID, method="gibbs", samples=400, seed=3, executor=Copying())
    assert len(_advance.dispatcher.signatures) == before


def test_processes_give_the_same_bytes():
    how = {"method": "gibbs", "samples": 40, "seed": 3}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        same(om.marginals(GRID, executor=pool, **how), om.marginals(GRID, **how))


def test_a_killed_process_loses_nothing():
    """The pool is broken then; the rest is done here, and says so."""
    how = {"method": "gibbs", "samples": 400, "seed": 3, "estimator": "rao-blackwell"}
    killed = []

    def kill(run):
        if not killed and run.recorded:
            killed.append(next(iter(pool._processes)))
            os.kill(killed[0], signal.SIGKILL)

    with (
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.warns(UserWarning, match="has lost its workers"),
    ):
        found = om.marginals(GRID, executor=pool, watchers=[kill], **how)
    assert killed
    same(found, om.marginals(GRID, **how))


@pytest.mark.parametrize("error", [ConnectionError, RuntimeError, KeyError])
def test_work_that_is_lost_is_done_again(error):
    how, losing = {"method": "gibbs", "samples": 100, "seed": 3}, Losing(error)
    same(om.marginals(GRID, executor=losing, **how), om.marginals(GRID, **how))
    assert losing.lost > 0


def test_a_broken_executor_leaves_the_work_to_this_process():
    how, losing = {"method": "gibbs", "samples": 100, "seed": 3}, Losing(BrokenExecutor)
    with pytest.warns(UserWarning, match="has lost its workers"):
        found = om.marginals(GRID, executor=losing, **how)
    same(found, om.marginals(GRID, **how))
    assert losing.lost == 1


def test_an_executor_that_was_shut_down_leaves_the_work_to_this_process():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    how = {"method": "gibbs", "samples": 30, "seed": 3}
    with pytest.warns(UserWarning, match="has lost its workers"):
        same(om.marginals(GRID, executor=pool, **how), om.marginals(GRID, **how))


def test_a_worker_that_knows_nothing_asks_for_it():
    how, forgetting = {"method": "gibbs", "samples": 30, "seed": 3}, Forgetting()
    same(om.marginals(GRID, executor=forgetting, **how), om.marginals(GRID, **how))


def test_the_model_is_sent_once():
    copying = Copying()
    om.marginals(GRID, method="gibbs", samples=400, seed=3, estimator="values", executor=copying)
    first, later = copying.sent[:4], copying.sent[4:]
    assert later
    assert max(later) < min(first)


class Wrong(Copying):
    def done(self, function, arguments, options):
        raise ZeroDivisionError("always")


def test_work_that_never_succeeds_is_an_error():
    with pytest.raises(OrbitError, match=r"failed 4 times on the workers, .*always"):
        om.marginals(GRID, method="gibbs", samples=30, executor=Wrong())


def test_what_is_no_executor_is_refused():
    with pytest.raises(InputError, match=r"executor: expected an executor of concurrent\.futures"):
        om.marginals(GRID, method="gibbs", samples=30, executor=4)


def a_run():
    prepared = om.kernels.prepare(GRID.graph)
    return om.sample(prepared, om.kernels.gibbs(), om.Schedule(samples=8), seed=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": "0.0.1"}, "a worker has another orbitmc than version 0.0.1"),
        ({"sources": "other"}, "install the same one everywhere"),
        ({"digests": ("a", "b")}, "another model or other jumps"),
    ],
)
def test_a_worker_that_differs_refuses_to_work(changed, message):
    context = replace(packs.context_of(a_run()), **changed)
    with pytest.raises(OrbitError, match=message):
        pickle.loads(pickle.dumps(context)).open()


def test_a_worker_compares_the_jumps_it_got(monkeypatch):
    """Jumps that change on the way are found out, and nothing is computed with them."""
    original = packs.context_of

    def tampered(run):
        context = original(run)
        other = context.graph._replace(table=context.graph.table * 1.5)
        return replace(context, graph=other)

    monkeypatch.setattr(rounds, "context_of", tampered)
    with pytest.raises(OrbitError, match="another model or other jumps"):
        om.marginals(GRID, method="gibbs", samples=30, executor=Copying())


def test_what_cannot_be_sent_is_refused():
    class Own:
        def open(self):
            return self

    with pytest.raises(InputError, match="defined in a module that workers can import"):
        sending.pack_shared(Own())


def test_a_run_is_kept_and_goes_on_anywhere(tmp_path):
    how = {"method": "gibbs", "samples": 200, "seed": 3, "estimator": "rao-blackwell"}
    whole = om.marginals(GRID, **how)

    def stop(run):
        if run.recorded > 0:
            run.stop()

    for first, second in [(Copying(), None), (None, Copying()), (Copying(), Losing())]:
        path = tmp_path / f"{type(first).__name__}{type(second).__name__}.run"
        om.marginals(GRID, executor=first, checkpoint=path, watchers=[stop], **how)
        same(om.resume(path, GRID, executor=second), whole)


def test_an_executor_that_never_answers_can_be_left(monkeypatch):
    monkeypatch.setattr(sending, "PATIENCE", 0.0)
    monkeypatch.setattr(sending, "LOOK", 0.01)
    found = sending.Sender(Silent()).all(
        packs.advance_pack, sending.pack_shared(packs.context_of(a_run())), [1], lambda: True
    )
    assert found is None


def test_an_early_end_leaves_all_packs_equal(monkeypatch):
    """What came back of a round that nobody waits for is not used."""
    monkeypatch.setattr(sending, "PATIENCE", 0.0)
    monkeypatch.setattr(sending, "LOOK", 0.01)

    class Halting(Copying):
        def submit(self, function, /, *arguments, **options):
            if len(self.sent) < 9:
                return super().submit(function, *arguments, **options)
            runs[0].stop()
            return Silent().submit(function)

    runs = []
    found = om.marginals(
        GRID,
        method="gibbs",
        samples=10_000,
        seed=3,
        executor=Halting(),
        watchers=[runs.append],
    )
    assert found.about.interrupted
    counts = {int(pack.outcomes.sum()) for pack in runs[0].packs}
    assert len(counts) == 1


def test_seconds_are_kept_with_an_executor():
    with ThreadPoolExecutor(2) as pool:
        found = om.marginals(GRID, method="gibbs", seconds=0.5, seed=1, executor=pool)
    assert found.about.samples > 0
    assert not found.about.interrupted


def test_workers_are_counted_where_an_executor_says_how_many():
    with ThreadPoolExecutor(3) as pool:
        assert sending.workers_of(pool, 8) == 3
        assert sending.workers_of(pool, 2) == 2
    assert sending.workers_of(Copying(), 8) == 8


ROWS = [{"a": value} for value in "xyz"] * 3 + [{"a": "x", "d": "z"}, {}, {"d": "nothing"}]


@pytest.mark.parametrize("how", [{}, {"method": "gibbs", "samples": 20, "seed": 1}])
def test_rows_have_the_same_bytes(how):
    from orbitmc.inference._predict import predictions
    from orbitmc.inference.settings import Settings

    here = predictions(HARD, ROWS, query=["b", "c"], settings=Settings(**how))
    there = predictions(HARD, ROWS, query=["b", "c"], settings=Settings(executor=Losing(), **how))
    assert here.probability.tobytes() == there.probability.tobytes()
    assert here.problems == there.problems
    assert here.sampled == there.sampled
    assert bool(here.sampled) == bool(how)


def test_many_rows_are_spread(monkeypatch):
    from orbitmc.exact import templates as batches
    from orbitmc.inference._predict import predictions
    from orbitmc.inference.settings import Settings

    monkeypatch.setattr(batches, "BYTES_TOGETHER", 1)
    rng = np.random.default_rng(1)
    rows = [{name: str(rng.choice(["down", "up"])) for name in GRID.names[:14]} for _ in range(200)]
    copying = Copying()
    there = predictions(GRID, rows, query=["s5_4"], settings=Settings(executor=copying))
    here = predictions(GRID, rows, query=["s5_4"], settings=Settings())
    assert here.probability.tobytes() == there.probability.tobytes()
    assert len(copying.sent) > 4


def test_threads_and_rounds_elsewhere_are_the_same_kind_of_thing():
    public = ("begin", "advance", "most_samples", "round_seconds", "__enter__", "__exit__")
    assert all(hasattr(sampler.Threads, name) for name in public)
    remote = rounds.Remote(Copying(), 1)
    assert all(hasattr(remote, name) for name in public)
