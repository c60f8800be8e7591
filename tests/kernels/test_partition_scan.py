"""Gibbs on models whose factors do not say that some variables are an equivalence relation."""

from itertools import combinations, permutations

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.tally import RaoBlackwellTally, ValueTally
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Equivalence, Model
from orbitmc.inference.program import ground_program
from orbitmc.kernels import relations as module
from orbitmc.kernels.protocol import constrained_variables, freed_variables, steps
from orbitmc.kernels.relations import partition_scan
from orbitmc.kernels.testing.exact import states, transition_matrix
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.pack import recorder, start_pack, walk
from orbitmc.sampling.partition_tally import PartitionTally, PartitionValueTally
from tests.kernels.test_partition import with_gain
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force


def relation(name, items, first_variable=0, apart=(), partial=()):
    """An equivalence relation of all pairs of items but those that are known apart.

    Items of a partial one may be in no block.
    """
    pairs = [pair for pair in combinations(range(items), 2) if pair not in apart]
    pairs += [(item, item) for item in partial]
    first, second = np.array(pairs).T
    return Equivalence(name, items, first_variable + np.arange(len(pairs)), first, second)


def add_rules(builder, equivalence):
    """The rules of an equivalence relation as hard clauses; pairs that are no variables are 0."""
    number = {
        pair: int(variable)
        for variable, *pair in zip(
            equivalence.variables, equivalence.first, equivalence.second, strict=True
        )
        for pair in (tuple(pair), tuple(reversed(pair)))
    }
    for pair, variable in number.items():
        if pair[0] != pair[1] and (pair[0], pair[0]) in number:
            builder.add_clause([variable, number[pair[0], pair[0]]], [0, 1], np.inf)
    for one, two, three in permutations(range(equivalence.items), 3):
        body = [number.get((one, two)), number.get((two, three))]
        head = number.get((one, three))
        if None not in body:
            scope = body if head is None else [*body, head]
            builder.add_clause(scope, [0, 0, 1][: len(scope)], np.inf)


def random_model(seed, equivalences, others=0, zeros=0.0):
    """Random tables and clauses over pairs and others: without the rules of relations, and with.

    With zeros, some tables forbid an entry; the state without pairs stays possible.
    """
    pairs = sum(len(each.variables) for each in equivalences)
    graphs = []
    for with_rules in (False, True):
        rng = np.random.default_rng([seed, pairs, others])
        builder = Builder(np.full(pairs + others, 2))
        for variable in range(pairs + others):
            builder.add_factor([variable], rng.normal(size=2))
        for _ in range(pairs + others):
            width = int(rng.integers(2, 4))
            scope = rng.choice(pairs + others, size=width, replace=False).tolist()
            table = rng.normal(size=(2,) * width)
            if rng.random() < zeros:
                table.flat[rng.integers(1, table.size)] = -np.inf
            builder.add_factor(scope, table)
            builder.add_clause(scope, rng.integers(0, 2, size=width), rng.normal())
        for each in equivalences if with_rules else ():
            add_rules(builder, each)
        graphs.append(builder.build())
    return graphs


def turns(prepared, kernel):
    """One run for each item and each other variable, that whose turn it is."""
    for turn in range(len(kernel.partition.apart) + len(kernel.others)):
        memory = kernel.memory(prepared, 1)

        def run(values, rng, turn=turn, memory=memory):
            memory.turn[0], memory.due[0] = turn, 0
            counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
            steps(prepared, kernel, memory, values, counts, rng, 1)

        yield run


CASES = {
    "three": ([relation("R", 3)], 1, 0.0),
    "four": ([relation("R", 4)], 1, 0.0),
    "four, zeros": ([relation("R", 4)], 2, 0.5),
    "four, two apart": ([relation("R", 4, apart=[(0, 2)])], 1, 0.0),
    "three, partial": ([relation("R", 3, partial=[0, 1, 2])], 1, 0.0),
    "four, two of them partial": ([relation("R", 4, partial=[1, 3])], 0, 0.0),
    "partial, two apart": ([relation("R", 3, apart=[(0, 2)], partial=[0, 1, 2])], 1, 0.0),
    "partial beside another": ([relation("R", 3, partial=[0]), relation("S", 2, 4)], 1, 0.0),
    "two relations": ([relation("R", 3), relation("S", 3, 3)], 1, 0.0),
    "two relations, one with zeros": ([relation("R", 3), relation("S", 3, 3)], 0, 0.4),
}


@pytest.mark.parametrize("case", CASES)
def test_every_turn_keeps_the_distribution_of_the_model_with_its_rules(case):
    equivalences, others, zeros = CASES[case]
    for seed in range(3):
        reduced, whole = random_model(seed, equivalences, others, zeros)
        prepared = prepare_unrounded(reduced)
        kernel = partition_scan(prepared, equivalences)
        for run in turns(prepared, kernel):
            assert max(residuals(whole, run)) <= EXACT


def test_five_items_keep_the_distribution():
    equivalences = [relation("R", 5)]
    reduced, whole = random_model(3, equivalences)
    prepared = prepare_unrounded(reduced)
    for run in turns(prepared, partition_scan(prepared, equivalences)):
        assert max(residuals(whole, run)) <= EXACT


def test_a_scan_of_single_pairs_would_be_wrong():
    """The same model without its relation is another one."""
    equivalences = [relation("R", 3)]
    reduced, whole = random_model(0, equivalences, 1)
    gap = np.abs(brute_force.distribution(reduced) - brute_force.distribution(whole)).max()
    assert gap > 1e-3


def test_items_that_are_apart_must_be_kept_so():
    equivalences = [relation("R", 4, apart=[(0, 2)])]
    reduced, whole = random_model(1, equivalences)
    prepared = prepare_unrounded(reduced)
    kernel = partition_scan(prepared, equivalences)
    gain = np.where(np.isinf(kernel.partition.gain), 0.0, kernel.partition.gain)
    apart = np.zeros_like(kernel.partition.apart)
    careless = with_gain(kernel.partition, gain)._replace(apart=apart)
    wrong = kernel._replace(partition=careless)
    assert max(residuals(whole, run)[0] for run in turns(prepared, wrong)) > 1e-3


def test_who_is_in_no_block_must_not_be_joined():
    equivalences = [relation("R", 3, partial=[0, 1, 2])]
    reduced, whole = random_model(1, equivalences)
    prepared = prepare_unrounded(reduced)
    kernel = partition_scan(prepared, equivalences)
    inside = np.array([-1, -1, kernel.partition.inside[2]])
    wrong = kernel._replace(partition=kernel.partition._replace(inside=inside))
    assert max(residuals(whole, run)[0] for run in turns(prepared, wrong)) > 1e-3


def test_hard_rules_about_who_is_in_no_block_are_refused():
    equivalences = [relation("R", 3, partial=[0, 1, 2])]
    builder = Builder(np.full(6, 2))
    builder.add_clause([3, 4], [1, 1], np.inf)
    with pytest.raises(LimitError, match="which items are in no block"):
        partition_scan(prepare(builder.build()), equivalences)


def test_items_of_two_relations_must_be_kept_apart():
    equivalences = [relation("R", 3), relation("S", 3, 3)]
    reduced, whole = random_model(2, equivalences)
    prepared = prepare_unrounded(reduced)
    kernel = partition_scan(prepared, equivalences)
    gain = np.where(np.isinf(kernel.partition.gain), 0.0, kernel.partition.gain)
    apart = np.zeros_like(kernel.partition.apart)
    careless = with_gain(kernel.partition, gain)._replace(apart=apart)
    wrong = kernel._replace(partition=careless)
    assert max(residuals(whole, run)[0] for run in turns(prepared, wrong)) > 1e-3


def test_all_turns_together_reach_every_possible_state():
    equivalences = [relation("R", 4)]
    reduced, whole = random_model(4, equivalences, 1)
    prepared = prepare_unrounded(reduced)
    kernel = partition_scan(prepared, equivalences)
    sweep = np.linalg.multi_dot([transition_matrix(whole, run) for run in turns(prepared, kernel)])
    possible = np.flatnonzero(brute_force.distribution(whole) > 0)
    assert len(possible) == 2 * 15
    assert (np.linalg.matrix_power(sweep, 4)[np.ix_(possible, possible)] > 0).all()


def test_steps_are_counted_as_variables_that_get_new_values():
    equivalences = [relation("R", 7)]
    reduced, _ = random_model(0, equivalences, 5)
    kernel = partition_scan(prepare(reduced), equivalences)
    assert kernel.worth == 3
    run = om.sample(prepare(reduced), kernel, om.Schedule(samples=10, warm_up=0), packs=1, lanes=32)
    sweeps = run.outcomes["updates"] / reduced.variables
    assert sweeps == 10 * 4
    assert run.outcomes["item draws"] == 7 * 32 * sweeps
    assert run.outcomes["left alone"] == 0


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_chains_start_in_different_partitions_and_stay_in_partitions(zeros):
    equivalences = [relation("R", 6, apart=[(1, 4)]), relation("S", 3, 14)]
    reduced, whole = random_model(5, equivalences, 2, zeros)
    kernel = partition_scan(prepare(reduced), equivalences)
    pack = start_pack(prepare(reduced), kernel, seed=1, number=0, lanes=64)
    logs = [brute_force.log_weight(whole, state) for state in pack.values.T]
    assert np.isfinite(logs).all()
    assert len(np.unique(pack.values, axis=1).T) > 16
    run = om.sample(prepare(reduced), kernel, om.Schedule(samples=5), packs=1, lanes=32)
    after = [brute_force.log_weight(whole, state) for state in run.packs[0].values.T]
    assert np.isfinite(after).all()


def test_a_start_that_hard_rules_do_not_allow_is_refused():
    """Two of three pairs must be 1, which is no partition."""
    builder = Builder(np.full(3, 2))
    builder.add_clause([0, 1, 2], [0, 0, 0], np.inf)
    for pair in combinations(range(3), 2):
        builder.add_clause(pair, [1, 1], np.inf)
    graph = builder.build()
    kernel = partition_scan(prepare(graph), [relation("R", 3)])
    with pytest.raises(LimitError, match="no partition was found"):
        kernel.starts(graph, 32, np.random.SeedSequence(1))


def test_nothing_to_draw_and_too_many_items_are_refused(monkeypatch):
    graph = Builder([2, 2, 2]).build()
    empty = Equivalence("R", 2, *np.zeros((3, 0), dtype=np.int64))
    with pytest.raises(InputError, match="evidence decides all pairs"):
        partition_scan(prepare(graph), [empty])
    monkeypatch.setattr(module, "MOST_ITEMS", 2)
    with pytest.raises(LimitError, match="up to 2 items, not 3"):
        partition_scan(prepare(graph), [relation("R", 3)])


# What is recorded.


def conditional_chances(whole, kernel, state):
    """For each pair, what its items say: the mean of its chances when one of them is drawn."""
    number = {s: place for place, s in enumerate(states(whole))}
    weights = brute_force.distribution(whole)
    partition = kernel.partition
    expected = np.zeros(whole.variables)
    for item in range(len(partition.apart)):
        mine = (partition.one == item) | (partition.other == item)
        alike = [s for s in number if (np.array(s) == state)[~mine].all()]
        mass = np.array([weights[number[s]] for s in alike])
        chance = mass @ np.array(alike) / mass.sum()
        expected[mine] += 0.5 * chance[mine]
    for other in kernel.others:
        flipped = tuple(1 if v == other else x for v, x in enumerate(state))
        cleared = tuple(0 if v == other else x for v, x in enumerate(state))
        ones, zeros = weights[number[flipped]], weights[number[cleared]]
        expected[other] = ones / (ones + zeros)
    return expected


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_recorded_are_chances_given_the_other_items(zeros):
    equivalences = [relation("R", 4, apart=[(0, 3)])]
    reduced, whole = random_model(7, equivalences, 2, zeros)
    prepared = prepare(reduced)
    kernel = partition_scan(prepared, equivalences)
    run = om.sample(prepared, kernel, om.Schedule(samples=1, warm_up=0), packs=1, lanes=32)
    tally = run.packs[0].tally
    assert isinstance(tally, PartitionTally)
    total = np.zeros(whole.variables)
    for state in run.packs[0].values.T:
        total += conditional_chances(whole, kernel, tuple(state.tolist()))
    recorded = tally.sums[0].sum(axis=1)
    np.testing.assert_allclose(recorded, total, atol=32 * 1e-6)  # tables are rounded to 1e-7
    single = brute_force.distribution(reduced)
    assert np.abs(single - brute_force.distribution(whole)).max() > 1e-3


def test_values_are_counted_where_that_is_asked_for():
    equivalences = [relation("R", 4)]
    reduced, _ = random_model(7, equivalences, 2)
    prepared = prepare(reduced)
    kernel = partition_scan(prepared, equivalences)
    run = om.sample(
        prepared, kernel, om.Schedule(samples=1, warm_up=0), packs=1, lanes=32, kind=ValueTally
    )
    assert isinstance(run.packs[0].tally, PartitionValueTally)
    recorded = run.packs[0].tally.sums[0].sum(axis=1)
    assert recorded.tolist() == run.packs[0].values.sum(axis=1).tolist()


def test_a_combination_counts_values_because_conditionals_of_the_graph_are_wrong():
    equivalences = [relation("R", 4)]
    reduced, _ = random_model(7, equivalences, 2)
    prepared = prepare(reduced)
    kernel = partition_scan(prepared, equivalences)
    combined = om.kernels.alternation(kernel, om.kernels.flips(prepared, [[7]]), period=5)
    assert constrained_variables(combined).tolist() == [0, 1, 2, 3, 4, 5]
    pack = start_pack(prepared, combined, seed=1, number=0, lanes=32)
    assert isinstance(pack.tally, ValueTally)
    assert not isinstance(pack.tally, RaoBlackwellTally)


def test_a_run_knows_that_pairs_depend_on_each_other():
    builder = Builder(np.full(4, 2))
    builder.add_factor([3], [0.0, 1.0])
    graph = builder.build()
    kernel = partition_scan(prepare(graph), [relation("R", 3)])
    run = om.sample(prepare(graph), kernel, om.Schedule(samples=5), packs=1, lanes=32)
    assert run.part_of[0] == run.part_of[1] == run.part_of[2] != run.part_of[3]
    assert freed_variables(kernel, graph)[:3].all()


def test_what_needs_all_factors_refuses_a_model_that_has_a_relation():
    """Whoever looks at the factors alone would give the answers of another model."""
    reduced, _ = random_model(1, [relation("R", 3)])
    names = ("a", "b", "c")
    model = Model(reduced, names, (("no", "yes"),) * 3, relations=(relation("R", 3),))
    for ask in (
        lambda: om.marginals(model, method="exact"),
        lambda: om.marginals(model, samples=5),
        lambda: om.marginals(model, method="mcsat", samples=5),
        lambda: om.marginals(model, {"a": "yes"}),
        lambda: om.marginals(model, kernel=om.kernels.gibbs(), samples=5),
        lambda: om.log_z(model),
        lambda: om.best(model),
        lambda: om.draws(model, samples=5),
        lambda: om.joint(model, ["a", "b"]),
        lambda: om.probability(model, "a == 'yes'"),
        lambda: om.expect(model, {"f": lambda s: s["a"] == "yes"}),
        lambda: om.information(model, "a"),
        lambda: om.sweep(model, [1.0]),
        lambda: om.overview(model),
        lambda: om.to_dimod(model),
        lambda: om.write(model, "model.uai"),
        lambda: om.tuning.run_race(model, prepare(reduced), seconds=1.0),
    ):
        with pytest.raises(LimitError, match="R is an equivalence relation whose rules"):
            ask()


def cut_anywhere(prepared, kernel, count):
    """A pack after so many steps; one that is cut, and recorded in between, ends like it."""
    whole, cut = (start_pack(prepared, kernel, seed=2, number=0, lanes=32) for _ in range(2))
    walk(prepared, kernel, whole, count)
    rng, left = np.random.default_rng(3), count
    while left:
        now = min(left, int(rng.integers(1, 40)))
        if rng.random() < 0.5:
            recorder(prepared, kernel, cut)(now)
        else:
            walk(prepared, kernel, cut, now)
        left -= now
    assert (whole.values == cut.values).all()
    assert (whole.outcomes == cut.outcomes).all()
    return whole


def test_a_run_does_not_depend_on_where_it_is_cut():
    """Also where the tally has used the kernel's memory in between."""
    equivalences = [relation("R", 5), relation("S", 3, 10)]
    reduced, _ = random_model(6, equivalences, 3)
    prepared = prepare(reduced)
    whole = cut_anywhere(prepared, partition_scan(prepared, equivalences), 400)
    assert len(np.unique(whole.values, axis=1).T) > 4


EIGHT = """
Has(cit, word)
Same(cit, cit)
Same(x,x).
Same(x,y) => Same(y,x).
Same(x,y) ^ Same(y,z) => Same(x,z).
0.9 Has(x,w) ^ Has(y,w) => Same(x,y)
-2 Same(x,y)
"""
WORDS = {0: "1346", 1: "136", 2: "125", 3: "1245", 4: "15ab", 5: "ab", 6: "049b", 7: "04b"}


def every_partition(items):
    if items == 0:
        yield ()
        return
    for labels in every_partition(items - 1):
        for label in range(max(labels, default=-1) + 2):
            yield (*labels, label)


def test_eight_items_have_the_marginals_of_all_4140_partitions():
    """Errors are 6.5 times the stated one in less than 1e-8 of all seeds, if chains mix.

    What pairs gain is counted by hand: both orders of a pair are groundings.
    """
    every = np.array(list(every_partition(8)))
    assert len(every) == 4140
    weights, chance = np.zeros(4140), {}
    for one, other in combinations(range(8), 2):
        same = every[:, one] == every[:, other]
        weights += 2 * (-2 + 0.9 * len(set(WORDS[one]) & set(WORDS[other]))) * same
    weights = np.exp(weights - weights.max())
    for one, other in combinations(range(8), 2):
        chance[one, other] = weights @ (every[:, one] == every[:, other]) / weights.sum()
    facts = " ".join(f"Has(C{c},W{w.upper()})" for c, own in WORDS.items() for w in own)
    program = parse(EIGHT)
    asked = ground_program(program, parse_database(facts, program))
    answer = asked.marginals(method="gibbs", base="relations", samples=1500, seed=7)
    assert set(answer.verdicts()) == {"good", "observed"}
    for (one, other), expected in chance.items():
        marginal = answer[f"Same(C{one},C{other})"]
        off, error = abs(marginal.probability[0] - expected), marginal.standard_error[0]
        assert error < 0.001
        assert off <= 6.5 * error
        mirrored = answer[f"Same(C{other},C{one})"].probability[0]
        assert mirrored == marginal.probability[0]
