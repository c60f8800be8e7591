"""Lifted Metropolis-Hastings on relations whose rules are not ground: constants are swapped."""

import itertools

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.graph.log_weights import log_weight
from orbitmc.inference.plan import choose_kernel
from orbitmc.inference.settings import Settings
from orbitmc.kernels import renaming as module
from orbitmc.kernels.protocol import partition_plan
from orbitmc.kernels.renaming import renaming
from orbitmc.kernels.testing.exact import change_given_shared, one_step
from orbitmc.mln.symmetry.approximate_classes import classes_by_evidence
from orbitmc.mln.symmetry.classes import constant_swaps
from tests.inference.test_equivalences import CASES as EQUIVALENCES
from tests.inference.test_equivalences import read as read_equivalence
from tests.inference.test_unground_relations import (
    ABOVE,
    BEFORE,
    CASES,
    EXACT,
    ONCE,
    PARTLY,
    SAME,
    SECOND,
    largest_change,
    program_of,
    read,
)
from tests.kernels.test_mistakes import WRONG


def swaps_of(program, kinds=None):
    """All constants of a sort in one class, whatever rules and evidence say of them."""
    ground = program.in_relations.ground
    sizes = ground.universe.sizes
    classes = {kind: np.zeros(sizes[kind], dtype=np.int64) for kind in kinds or sizes}
    return constant_swaps(ground, classes)


def renaming_of(program, *, symmetric=False):
    model = program.in_relations.model
    return renaming(model.graph, swaps_of(program), symmetric=symmetric)


@pytest.mark.parametrize("case", CASES)
def test_swaps_keep_the_distribution_of_the_program_with_all_rules(case):
    program = program_of(case)
    assert largest_change(program, renaming_of(program)) <= EXACT


@pytest.mark.parametrize("case", EQUIVALENCES)
def test_swaps_keep_the_distribution_of_partitions(case):
    program = read_equivalence(*EQUIVALENCES[case])
    assert largest_change(program, renaming_of(program)) <= EXACT


def kernel_of(program, **settings):
    """What the method means; its prepared graph is as exact as it was before rounding."""
    model = program.in_relations.model
    chosen = Settings(method="lmh", base="relations", clusters=1, **settings)
    return choose_kernel(model, prepare_unrounded(model.graph), chosen).kernel


NEARLY = {
    "order": (BEFORE + "0.5 B(x,y) ^ R(x) => R(y)\n", "0.8 R(T0)"),
    "order, known": (BEFORE + "0.5 B(x,y) ^ R(x) => R(y)\n", "B(T0,T1) 0.3 R(T2)"),
    "equivalence": (SAME + "0.5 S(x,y) ^ R(x) => R(y)\n", "!S(T0,T1) 0.8 R(T0)"),
    "partial equivalence": (PARTLY + "0.4 S(x,x)\n0.5 S(x,x) => R(x)\n", "0.3 S(T0,T1)"),
    "forest": (ABOVE + "0.5 A(x,y) ^ R(x) => R(y)\n", "0.8 R(T0)"),
    "forest, known": (ABOVE + "0.4 A(x,y) => R(x)\n", "A(T0,T1) 0.8 R(T2)"),
    "matching": (ONCE + "0.7 M(x,p) => R(x)\n", "0.8 R(T0) 0.7 M(T1,U1)"),
    "matching, known": (ONCE + SECOND + "0.7 M(x,p) => R(x)\n", "!M(T1,U1) 0.8 R(T0)"),
    "two relations": (BEFORE + ONCE + "0.6 B(x,y) ^ M(x,p)\n", "0.7 B(T0,T1) !M(T2,U1)"),
}
"""Constants that no rule names, and that evidence hardly tells apart."""


def nearly(case):
    return read(*NEARLY[case], u=2)


@pytest.mark.parametrize("case", NEARLY)
def test_steps_of_the_method_keep_the_distribution(case):
    program = nearly(case)
    kernel = kernel_of(program, alpha=0.5)
    assert type(kernel.second) is module.Renaming
    assert largest_change(program, kernel) <= EXACT


FIVE = SAME + "0.7 S(T0,T1)\n-0.5 S(x,y)\n0.6 S(T1,T2) ^ S(T3,T4)\n"


def test_swaps_of_five_items_keep_the_distribution():
    program = read(FIVE, "", t=5)
    assert largest_change(program, renaming_of(program)) <= EXACT


def test_lanes_keep_the_distribution_given_the_swap_that_they_share():
    """With all rules ground the same swap is one of a model whose factors say everything."""
    program = read(SAME + "0.7 S(T0,T1)\n0.4 S(T1,T2)\n", "", t=3)
    graph = program.in_relations.model.graph
    run = one_step(prepare_unrounded(graph), renaming_of(program))
    assert change_given_shared(graph, run).max() <= EXACT


@pytest.mark.parametrize("case", ["order, known", "forest, known"])
def test_a_swap_must_not_change_what_is_known(case, monkeypatch):
    monkeypatch.setattr(module, "_reject_change", lambda *given: None)
    with pytest.raises(KeyError):
        largest_change(program_of(case), renaming_of(program_of(case)))


def test_constants_with_different_evidence_are_kept_apart(monkeypatch):
    program = read_equivalence(*EQUIVALENCES["kept apart"])
    monkeypatch.setattr(module, "_reject_change", lambda *given: None)
    with pytest.raises(KeyError):
        largest_change(program, renaming_of(program))


@pytest.mark.parametrize("case", ["order", "partial equivalence", "forest", "partial matching"])
def test_swaps_that_are_always_accepted_are_wrong(case):
    program = program_of(case)
    assert largest_change(program, renaming_of(program, symmetric=True)) > WRONG


def test_items_of_several_constants_are_not_swapped():
    program = read(SAME + "0.7 S(x,y)\n", "S(T0,T2)", t=4)
    swaps = swaps_of(program, ["t"])
    assert swaps.digit[swaps.member].tolist() == [1, 3]


def test_evidence_of_a_relation_tells_constants_apart():
    rules = SAME + "0.7 S(x,y)\n"
    ground = read(rules, "!S(T0,T1) !S(T2,T3)", t=6).in_relations.ground
    found = classes_by_evidence(ground, clusters=2)["t"]
    assert len(set(found[:4])) == len(set(found[4:])) == 1
    assert found[0] != found[5]


def test_steps_of_partitions_are_recorded_as_without_jumps():
    program = read(FIVE, "", t=5)
    kernel = kernel_of(program)
    prepared = prepare(program.in_relations.model.graph)
    plan = partition_plan(kernel, kernel.memory(prepared, 32))
    assert plan is not None
    assert len(plan[0].apart) == 5


SEVEN = {
    "partitions": (SAME + "-0.6 S(x,y)\n0.5 S(x,y) ^ R(x) => R(y)\n", "!S(T2,T4)"),
    "partitions, one item": (SAME + "-0.4 S(x,y)\n0.5 S(x,y) ^ R(x) => R(y)\n", "S(T5,T6)"),
}


def partitions_of(items):
    """The block of each item, in all ways."""
    blocks = [()]
    for _ in range(items):
        blocks = [(*some, k) for some in blocks for k in range(max(some, default=-1) + 2)]
    return np.array(blocks)


@pytest.mark.parametrize("case", SEVEN)
def test_marginals_of_seven_items_are_those_of_all_partitions(case):
    """Off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    program = read(*SEVEN[case], t=7)
    model = program.in_relations.model
    relation = model.relations[0]
    labels = partitions_of(relation.items)
    others = np.setdiff1d(np.arange(model.graph.variables), relation.variables)
    colours = np.array(list(itertools.product((0, 1), repeat=len(others))), dtype=np.uint8)
    open_pairs = {frozenset(pair) for pair in zip(relation.first.tolist(), relation.second.tolist(),
                                                  strict=True)}  # fmt: skip
    apart = [p for p in itertools.combinations(range(relation.items), 2)
             if frozenset(p) not in open_pairs]  # fmt: skip
    labels = labels[[all(some[a] != some[b] for a, b in apart) for some in labels]]
    values = np.empty((model.graph.variables, len(labels), len(colours)), dtype=np.uint8)
    same = labels[:, relation.first] == labels[:, relation.second]
    values[relation.variables] = same.T[:, :, None]
    values[others] = colours.T[:, None, :]
    states = values.reshape(len(values), -1)
    logs = log_weight(model.graph, states)
    weights = np.exp(logs - logs.max())
    chance = states @ weights / weights.sum()
    answer = program.marginals(method="lmh", base="relations", clusters=1, samples=400, seed=2)
    assert answer.about.method == "lmh"
    assert answer.about.outcomes["accepted"] > 0
    names = {name: variable for variable, name in enumerate(model.names)}
    for name in names.keys() & set(answer):
        marginal = answer[name]
        off = abs(marginal["true"] - chance[names[name]])
        assert off <= 6.5 * max(marginal.standard_error[0], 1e-4), name
    assert answer.converged


@pytest.mark.parametrize("case", ["equivalence", "order, known", "matching"])
def test_what_is_sampled_has_the_exact_probabilities(case):
    """Estimates are off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    program = nearly(case)
    exact = program.marginals(method="exact")
    options = {"base": "relations", "clusters": 1, "samples": 400, "seed": 3}
    sampled = program.marginals(method="lmh", **options)
    assert "constants in" in sampled.about.reason
    for name, expected in exact.items():
        error = max(sampled[name].standard_error[0], 1e-3)
        assert abs(sampled[name].probability[0] - expected.probability[0]) <= 6.5 * error, name
    assert set(sampled.verdicts()) <= {"good", "fair", "observed", "forced", "rare"}


def test_a_run_is_resumed_where_it_stopped(tmp_path):
    program = nearly("equivalence")
    options = {"method": "lmh", "base": "relations", "clusters": 1, "seed": 5, "lanes": 32}
    whole = program.marginals(samples=40, warm_up=5, **options)
    path = tmp_path / "run"

    def stop(run):
        if run.recorded:
            run.stop()

    program.marginals(samples=40, warm_up=5, checkpoint=path, watchers=[stop], **options)
    resumed = om.resume(path, program)
    assert resumed.about.samples == 40
    for name in whole:
        assert resumed[name].probability[0] == whole[name].probability[0]
