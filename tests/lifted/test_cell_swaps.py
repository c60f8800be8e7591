"""Jumps between constants of one sort: exact, and of use where their numbers are held fast."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import orbitmc as om
from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.inference.cell_sampling import add_swaps
from orbitmc.kernels import _count_gibbs
from orbitmc.kernels._count_gibbs import cell_swaps
from orbitmc.kernels.protocol import count_plan, start_states, steps
from orbitmc.kernels.testing.exact import outcomes, restorer
from orbitmc.lifted import build_cell_chain
from orbitmc.sampling.pack import advance, start_pack
from tests.kernels.test_compiled_code import compiled_steps
from tests.lifted.test_count_gibbs import (
    EXACT,
    MOST_STATES,
    cell_law,
    chain_of_people,
    random_chain,
)
from tests.lifted.test_counting import read
from tests.oracle.slow_generator import SlowGenerator


def chains(seeds):
    """Random chains with two constants of one sort, few states, and swaps of these."""
    for seed in seeds:
        if (pair := random_chain(seed)) is None:
            continue
        chain = pair[1]
        sorts = [np.flatnonzero(chain.sort == sort) for sort in range(len(chain.cells))]
        states = np.prod(chain.model.graph.cardinality.astype(float))
        if states <= MOST_STATES and max(map(len, sorts)) > 1:
            yield chain, cell_swaps(chain.kernel, sorts, pairs=1)


def residuals(seeds):
    """How far swaps are from keeping the law of cells and from detailed balance, at worst."""
    worst, balance, count, moving = 0.0, 0.0, 0, 0
    for chain, kernel in chains(seeds):
        states, law = cell_law(chain)
        number = {state: place for place, state in enumerate(states)}
        prepared = prepare_unrounded(chain.model.graph)
        memory = kernel.memory(prepared, 1)
        restore = restorer(memory)

        def run(values, rng, prepared=prepared, kernel=kernel, memory=memory, restore=restore):
            restore()
            steps(prepared, kernel, memory, values, np.zeros(4, dtype=np.int64), rng, 1)

        matrix = np.eye(len(states))
        for place in np.flatnonzero(law > 0):
            matrix[place, place] = 0.0
            for end, chance in outcomes(run, states[place]).items():
                matrix[place, number[end]] += chance
        flow = law[:, None] * matrix
        worst = max(worst, float(np.abs(law @ matrix - law).max()))
        balance = max(balance, float(np.abs(flow - flow.T).max()))
        assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
        count += 1
        moving += bool((np.diag(matrix)[law > 0] < 0.99).any())
    return worst, balance, count, moving


@pytest.mark.parametrize("first", range(7000, 7240, 60))
def test_swaps_keep_the_law_of_cells(first):
    worst, balance, count, moving = residuals(range(first, first + 60))
    assert worst <= EXACT
    assert balance <= EXACT
    assert count > 15
    assert moving > 10


def without_corrections(chain, classes, *, pairs):
    kernel = _count_gibbs.cell_swaps(chain, classes, pairs=pairs)
    return kernel._replace(correction=np.zeros_like(kernel.correction))


@pytest.mark.parametrize(
    "mistake",
    [
        ("tests.lifted.test_cell_swaps.cell_swaps", without_corrections),
        ("orbitmc.kernels._count_gibbs.add_gain_between", lambda *given: None),
    ],
)
def test_swaps_that_forget_observed_pairs_would_be_seen(monkeypatch, mistake):
    monkeypatch.setattr(*mistake)
    assert residuals(range(7000, 7060))[0] > 1e-3


def test_swaps_that_forget_what_is_known_of_one_would_be_seen(monkeypatch):
    usual = _count_gibbs.add_gain

    def alone(kernel, memory, values, mine, other):
        usual(kernel._replace(log_u=np.zeros_like(kernel.log_u)), memory, values, mine, other)

    monkeypatch.setattr(_count_gibbs, "add_gain", alone)
    assert residuals(range(7000, 7060))[0] > 1e-3


def people_with_swaps(clusters=2):
    logic = chain_of_people()
    chain = build_cell_chain(logic.source.program, logic.source.atoms)
    return chain.model, add_swaps(chain, clusters=clusters, alpha=0.5)


def test_compiled_swaps_are_the_interpreted_ones():
    model, kernel = people_with_swaps()
    prepared, lanes, count = prepare(model.graph), 32, 25
    start = start_states(kernel, model.graph, lanes, np.random.SeedSequence(1))
    fast, slow = start.copy(), start.copy()
    seen = [np.zeros(4, dtype=np.int64) for _ in range(2)]
    jump, rng = kernel.jump, generator(5, 1, lanes)
    compiled_steps(prepared, jump, jump.memory(prepared, lanes), fast, seen[0], rng, count)
    rng = SlowGenerator(5, 1, lanes)
    steps(prepared, jump, jump.memory(prepared, lanes), slow, seen[1], rng, count)
    assert np.array_equal(fast, slow)
    assert np.array_equal(*seen)
    assert not np.array_equal(fast, start)
    for cells in range(2):
        assert ((fast == cells).sum(axis=0) == (start == cells).sum(axis=0)).all()


def test_a_pack_with_swaps_does_not_depend_on_where_rounds_end():
    model, kernel = people_with_swaps()
    prepared = prepare(model.graph)
    assert count_plan(kernel, kernel.memory(prepared, 32))[0] is kernel.base
    whole, parts = (start_pack(prepared, kernel, seed=2, number=0, lanes=32) for _ in range(2))
    advance(prepared, kernel, whole, recorded=0, samples=12, spacing=7)
    for first, samples in ((0, 1), (1, 5), (6, 6)):
        advance(prepared, kernel, parts, recorded=first, samples=samples, spacing=7)
    assert np.array_equal(whole.values, parts.values)
    assert np.array_equal(whole.tally.sums, parts.tally.sums)
    assert np.array_equal(whole.outcomes, parts.outcomes)
    assert whole.outcomes[len(kernel.base.outcomes) :].all()


def test_classes_hold_constants_of_one_sort_with_like_odds():
    """The first one has all of them."""
    logic = chain_of_people(count=40)
    chain = build_cell_chain(logic.source.program, logic.source.atoms)
    swaps = add_swaps(chain, clusters=3, alpha=0.5).jump
    assert swaps.pairs == len(chain.sort)
    odds = chain.kernel.modes[0][:, 1]
    bounds, seen = [], []
    for begin, end in itertools.pairwise(swaps.start.tolist()):
        members = swaps.member[begin:end].astype(np.int64)
        seen.append(members)
        bounds.append((odds[members].min(), odds[members].max()))
    assert sorted(seen[0].tolist()) == list(range(len(chain.sort)))
    assert sorted(np.concatenate(seen[1:]).tolist()) == list(range(len(chain.sort)))
    apart = sorted(bounds[1:])
    assert len(apart) == 3
    assert all(one[1] < two[0] for one, two in itertools.pairwise(apart))


LMH = {"method": "lmh", "base": "counts", "clusters": 2}


def test_sampled_marginals_are_those_of_elimination():
    """Some thirty atoms, errors of eight columns or more: z above 9 is a chance below 1e-6."""
    logic = chain_of_people()
    query = "Smokes;Old;Likes(P3,x)"
    sampled = om.marginals(logic, query=query, samples=2000, **LMH)
    exact = om.marginals(logic, query=query, method="exact")
    assert list(sampled) == list(exact)
    assert sampled.converged
    assert sampled.about.method == "lmh"
    assert "jumps exchange the cells of two constants" in sampled.about.reason
    assert sampled.about.outcomes["accepted"] > 0
    for name, marginal in sampled.items():
        gap = abs(marginal.probability[0] - exact[name].probability[0])
        assert gap <= 9 * marginal.standard_error[0] + 1e-12, name
        assert marginal.standard_error[0] < 0.01
    names = ["Smokes(P3)", "Smokes(P4)", "Likes(P5,P3)"]
    law = om.joint(logic, names, samples=1000, **LMH)
    gaps = np.abs(law.probability - om.joint(logic, names, method="exact").probability)
    assert (gaps <= 9 * law.standard_error + 1e-9).all()
    assert law.about.method == "lmh"
    share = om.probability(logic, "Smokes(P3) v Smokes(P4)", samples=1000, **LMH)
    true = om.probability(logic, "Smokes(P3) v Smokes(P4)", method="exact").value
    assert abs(share.value - true) <= 9 * share.standard_error + 1e-9


def test_executors_and_threads_change_nothing():
    how = {"samples": 50, "packs": 2, "query": "Smokes", **LMH}
    alone = om.marginals(chain_of_people(), threads=1, **how)
    with ThreadPoolExecutor(2) as executor:
        again = om.marginals(chain_of_people(), executor=executor, **how)
    assert again.columns.probability.tolist() == alone.columns.probability.tolist()


def test_a_run_with_swaps_is_kept_and_goes_on_as_if_it_had_not_ended(tmp_path):
    logic, path = chain_of_people(), tmp_path / "cells.run"
    settings = {"packs": 2, "query": "Smokes;Old", **LMH}
    whole = om.marginals(logic, samples=60, **settings)

    def interrupt(run):
        if run.recorded >= 20:
            run.stop()

    part = om.marginals(logic, samples=60, checkpoint=path, watchers=[interrupt], **settings)
    assert part.about.interrupted
    again = om.resume(path, chain_of_people(), query="Smokes;Old")
    assert again.about.samples == 60
    assert again.columns.probability.tolist() == whole.columns.probability.tolist()
    assert again.about.method == "lmh"


def committee(count=30, seats=10, weight=12.0):
    """Everybody would like a seat, and a seat too many or too few costs a lot."""
    people = "p = {" + ", ".join(f"P{n}" for n in range(count)) + "}\n"
    rules = (
        f"Sits(p)\nKnows(p,p)\n-{weight} x != y ^ Sits(x) ^ Sits(y)\n-1 Knows(x,y)\n"
        f"0.7 Knows(x,y) ^ Sits(x) => Sits(y)\n{weight * (2 * seats - 1)} Sits(x)\n"
    )
    ends = [(n, (n * n + 1) % count) for n in range(count)]
    facts = sorted({f"Knows(P{a},P{b})" for a, b in ends if a != b})
    return read(people + rules, "\n".join(facts) + "\n", opened=["Knows"])


def test_swaps_mix_where_the_number_of_constants_in_a_cell_is_held_fast():
    """Gibbs has not mixed, and says so; with jumps, all is known to half a percent."""
    logic = committee()
    exact = om.marginals(logic, query="Sits", method="exact").columns.probability
    how = {"query": "Sits", "samples": 500, "base": "counts", "seed": 3}
    gibbs = om.marginals(logic, method="gibbs", **how)
    jumping = om.marginals(logic, method="lmh", **how)
    assert not gibbs.converged
    assert jumping.converged
    assert jumping.columns.standard_error.max() < 0.005
    gaps = np.abs(jumping.columns.probability - exact)
    assert (gaps <= 9 * jumping.columns.standard_error).all()
    assert np.abs(gibbs.columns.probability - exact).max() > 10 * gaps.max()


def test_swaps_are_refused_in_words():
    logic = chain_of_people()
    with pytest.raises(InputError, match="base=counts swaps alike constants: it has no rank"):
        om.marginals(logic, method="lmh", base="counts", rank=2)
    with pytest.raises(InputError, match="base=counts swaps constants: it has no generators"):
        om.marginals(logic, method="lmh", base="counts", generators=("(a b)",))
    with pytest.raises(InputError, match="base=counts is for the methods gibbs and lmh, not for"):
        om.marginals(logic, method="lifted", base="counts")
    chain = build_cell_chain(logic.source.program, logic.source.atoms)
    with pytest.raises(InputError, match="no two constants whose cells could be exchanged"):
        cell_swaps(chain.kernel, [np.array([0])], pairs=1)
    apart = read("p = {A, B}\nq = {C, D}\nR(p)\nS(q)\n0.5 R(x) v S(y)\n")
    chain = build_cell_chain(apart.source.program, apart.source.atoms)
    with pytest.raises(InputError, match="constants of different sorts have no cells to exchange"):
        cell_swaps(chain.kernel, [np.arange(4)], pairs=1)


def test_where_no_type_has_two_constants_there_are_no_jumps():
    text = "p = {A}\nq = {B}\nR(p)\nS(q)\n0.5 R(x) v S(y)\n0.2 R(x)\n"
    answer = om.marginals(read(text), method="lmh", base="counts", samples=50)
    assert answer.about.reason.endswith("no type has two such constants, so there are no jumps")
