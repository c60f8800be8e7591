"""Chains of cells: the law of the cells is that of the program, and steps keep it."""

import itertools
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import orbitmc as om
from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.log_weights import exact_log_weight
from orbitmc.inference import cell_sampling
from orbitmc.inference.counting import find_atoms
from orbitmc.kernels import _count_gibbs
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import outcomes, restorer
from orbitmc.lifted import NotLiftableError, build_cell_chain, coordinates, count_gibbs
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.grounding import World, atom_tables
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.pack import advance, start_pack
from tests.benchmarks.trusting import module
from tests.kernels.test_compiled_code import compiled_steps
from tests.lifted.random_fragments import Written, random_fragment
from tests.lifted.test_counting import read
from tests.oracle.slow_generator import SlowGenerator

towns = module("trust_families")

EXACT = 1e-12
MOST_STATES = 81


def linked_fragment(seed):
    """People of whom many pairs are observed, without a pattern."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    names = [f"P{number}" for number in range(count)]
    rules = [
        "{} Likes(x,y) => (Smokes(x) <=> Smokes(y))",
        "{} Likes(x,y) ^ Smokes(x) => Old(y)",
        "{} Likes(x,y) => Likes(y,x)",
        "{} Smokes(x) ^ Old(x)",
        "{} x != y ^ Smokes(x) => Smokes(y)",
    ]
    chosen = rng.choice(len(rules), size=3, replace=False)
    lines = [rules[number].format(repr(float(rng.normal()))) for number in chosen]
    if rng.random() < 0.3:
        lines.append("Likes(x,y) ^ Smokes(x) => Smokes(y).")
    text = f"p = {{{', '.join(names)}}}\nSmokes(p)\nOld(p)\nLikes(p, p)\n" + "\n".join(lines)
    facts = [f"Likes({a},{b})" for a in names for b in names if rng.random() < 0.5]
    facts += [f"Smokes({a})" for a in names if rng.random() < 0.1]
    words = [rng.choice(["", "!", "0.3 "]) + fact for fact in facts]
    return Written(text + "\n", "\n".join(words) + "\n", ("Smokes", "Old", "Likes"))


def ruled_fragment(seed):
    """People of whom hard rules forbid some to be alike, or to differ."""
    rng = np.random.default_rng(seed)
    names = [f"P{number}" for number in range(int(rng.integers(2, 5)))]
    hard = [
        "x != y => !(Smokes(x) ^ Smokes(y)).",
        "Smokes(x) <=> Smokes(y).",
        "!(Smokes(x) ^ Old(y)).",
        "x != y ^ Smokes(x) => Old(y).",
        "x != y => !(Smokes(x) ^ Old(x) ^ Old(y)).",
        "x != y => (Smokes(x) v Old(y)).",
    ]
    lines = rng.choice(hard, size=int(rng.integers(1, 3)), replace=False).tolist()
    for rule in ("Likes(x,y) ^ Smokes(x) => Old(y)", "Likes(x,y) => Likes(y,x)", "Old(x)"):
        lines.append(f"{float(rng.normal())!r} {rule}")
    text = f"p = {{{', '.join(names)}}}\nSmokes(p)\nOld(p)\nLikes(p, p)\n" + "\n".join(lines)
    facts = [f"Likes({a},{b})" for a in names for b in names if rng.random() < 0.5]
    facts += [f"{rng.choice(['!', '0.3 '])}Old({a})" for a in names if rng.random() < 0.2]
    return Written(text + "\n", "\n".join(facts) + "\n", ("Smokes", "Old", "Likes"))


def random_chain(seed, write=None):
    """A random program and its chain of cells; None if it has none, or one of no interest."""
    write = write or (linked_fragment if seed % 2 else random_fragment)
    written = write(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        om.log_z(logic, method="exact")
        chain = build_cell_chain(logic.source.program, logic.source.atoms)
    except (ContradictionError, InputError, NotLiftableError):
        return None
    return logic, chain


def cell_law(chain):
    """The probability of each state of the cells, by listing."""
    sizes = chain.model.graph.cardinality.tolist()
    states = list(itertools.product(*map(range, sizes)))
    return states, normalise([cell_log_weight(chain, state) for state in states])


def cell_log_weight(chain, state):
    kernel, total = chain.kernel, exact_log_weight(chain.model.graph, np.array(state))
    cells = kernel.first_cell.astype(int) + np.array(state, dtype=int)
    for one, two in itertools.combinations(cells.tolist(), 2):
        total += -math.inf if kernel.forbidden[one, two] else kernel.log_r[one, two]
    return total


def normalise(logs):
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


def atom_probability(chain, law, states, predicate, code):
    """How probable an atom is, given the law of the cells."""
    fragment = chain.fragment
    schema, atoms = fragment.schemas[predicate], fragment.atoms[predicate]
    arguments = [int(c[0]) for c in atoms.arguments(np.array([code]), fragment.universe)]
    kinds = fragment.program.predicates[predicate].types
    field = type(next(iter(chain.known)))(predicate, tuple(arguments[p] for p in schema.written))
    value = code % atoms.width if schema.values else 1
    ends = []
    for place in schema.elements:
        sort = int(fragment.sort_of[kinds[place]][arguments[place]])
        member = int(np.searchsorted(fragment.sorts[sort].members, arguments[place]))
        ends.append((sort, member))
    if not ends:
        return None
    table = np.array(states).reshape(len(states), -1)

    def cell(sort, member):
        variable = chain.variable_of[sort][member]
        return (
            table[:, variable] if variable >= 0 else np.full(len(states), chain.sure[sort][member])
        )

    if len(ends) == 1 or ends[0] == ends[1]:
        sort, member = ends[0]
        chances = chain.field_chances(sort, field, np.array([value]), np.array([member]))[0]
        return float(law @ chances[cell(sort, member)])
    forward = ends[0] < ends[1]
    (s, a), (t, b) = ends if forward else ends[::-1]
    place = om.lifted.cells.PairField(field, forward)
    laws = chain.pair_chances(s, t, place, a, b)[:, :, value]
    return float(law @ laws[cell(s, a), cell(t, b)])


@pytest.mark.parametrize("ruled", [False, True])
def test_the_law_of_cells_gives_the_marginals_of_the_program(ruled):
    checked = 0
    seeds, write = (range(150), ruled_fragment) if ruled else (range(7000, 7300), None)
    for seed in seeds:
        if (pair := random_chain(seed, write)) is None:
            continue
        logic, chain = pair
        if not 1 < np.prod(chain.model.graph.cardinality.astype(float)) <= 256:
            continue
        states, law = cell_law(chain)
        exact = om.marginals(logic, method="exact")
        for predicate, table in logic.source.atoms.atoms.items():
            codes = table.unknown()
            names = om.mln.grounding.atom_names(table, codes, logic.source.atoms.universe)
            for name, code in zip(names, codes.tolist(), strict=True):
                probability = atom_probability(chain, law, states, predicate, code)
                if probability is not None:
                    assert probability == pytest.approx(exact[name].probability[0], abs=1e-10)
        checked += 1
    assert checked > 100


def transition_matrix(chain, variable, states, law):
    """One step of the production code that draws one variable, from every possible state.

    It is the true chain's; what flattened copies do is tested below.
    """
    prepared, number = prepare_unrounded(chain.model.graph), {s: k for k, s in enumerate(states)}
    kernel = chain.kernel._replace(
        mark=chain.kernel.mark[:1], bias=chain.kernel.bias[:1], below=chain.kernel.below[:1]
    )
    memory = kernel.memory(prepared, 1)
    memory.turn[0] = variable
    restore = restorer(memory)

    def run(values, rng):
        restore()
        steps(prepared, kernel, memory, values, np.zeros(1, dtype=np.int64), rng, 1)

    matrix = np.eye(len(states))
    for place in np.flatnonzero(law > 0):
        matrix[place, place] = 0.0
        for end, chance in outcomes(run, states[place]).items():
            matrix[place, number[end]] += chance
    return matrix


def stationary_residuals(seeds, write=None):
    """How far steps are from keeping the law of cells and from detailed balance, at worst."""
    worst, balance, chains, hard = 0.0, 0.0, 0, 0
    for seed in seeds:
        if (pair := random_chain(seed, write)) is None:
            continue
        chain = pair[1]
        if not 1 < np.prod(chain.model.graph.cardinality.astype(float)) <= MOST_STATES:
            continue
        states, law = cell_law(chain)
        for variable in range(chain.model.graph.variables):
            matrix = transition_matrix(chain, variable, states, law)
            assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
            flow = law[:, None] * matrix
            worst = max(worst, float(np.abs(law @ matrix - law).max()))
            balance = max(balance, float(np.abs(flow - flow.T).max()))
        chains += 1
        hard += not chain.kernel.smooth
    return worst, balance, chains, hard


@pytest.mark.parametrize("first", range(7000, 7240, 60))
def test_steps_keep_the_law_of_cells(first):
    worst, balance, chains, hard = stationary_residuals(range(first, first + 60))
    assert worst <= EXACT
    assert balance <= EXACT
    assert chains > 15
    assert hard > 0


def test_corrections_of_one_side_only_would_be_seen(monkeypatch):
    """If only one of two constants hears of what was observed of them, the law changes."""
    build = build_cell_chain

    def one_sided(program, tables):
        chain = build(program, tables)
        half = len(chain.kernel.correction) // 2
        table = chain.kernel.correction.copy()
        table[half:] = 0.0
        object.__setattr__(chain, "kernel", chain.kernel._replace(correction=table))
        return chain

    monkeypatch.setattr("tests.lifted.test_count_gibbs.build_cell_chain", one_sided)
    assert stationary_residuals(range(7000, 7060))[0] > 1e-3


def test_a_constant_that_counts_itself_would_be_seen(monkeypatch):
    def never_less(kernel, memory, values, copy, variable, change):
        first = int(kernel.first_cell[variable])
        for lane in range(values.shape[1]):
            memory.counts[copy, first + int(values[variable, lane]), lane] += max(change, 0)

    monkeypatch.setattr(_count_gibbs, "add_to_counts", never_less)
    assert stationary_residuals(range(7000, 7060))[0] > 1e-3


def chain_of_people(count=12, seed=3, weight=0.4):
    """A chain of cells of people with observed friends, as programs make them."""
    rng = np.random.default_rng(seed)
    text = f"Smokes(p)\nOld(p)\nLikes(p,p)\n{weight} Likes(x,y) => (Smokes(x) <=> Smokes(y))\n"
    text += "-1.2 Likes(x,y)\n0.3 Smokes(x) => Old(x)\n0.1 Smokes(x)\n"
    names = ", ".join(f"P{number}" for number in range(count))
    facts = [
        f"Likes(P{a},P{b})" for a in range(count) for b in rng.integers(count, size=3) if a != b
    ]
    facts += ["Smokes(P0)", "!Smokes(P1)", "?Smokes(P2)"]
    opened = ["Smokes", "Old", "Likes"]
    return read(f"p = {{{names}}}\n" + text, "\n".join(sorted(set(facts))) + "\n", opened=opened)


def test_one_fixed_point_is_one_mode():
    logic = chain_of_people(weight=0.05)
    chain = build_cell_chain(logic.source.program, logic.source.atoms)
    assert chain.modes == 1
    assert chain.left_out == ()


@pytest.fixture(params=["odds", "cells", "odds and copies", "cells and copies"])
def people_chain(request):
    logic = chain_of_people()
    chain = build_cell_chain(logic.source.program, logic.source.atoms)
    kernel = chain.kernel._replace(smooth=int(request.param.startswith("odds")))
    if request.param.endswith("copies"):
        kernel = with_copies(kernel, chain.model.graph.variables, 1)
    return chain.model, kernel


def test_compiled_steps_are_the_interpreted_ones(people_chain):
    model, kernel = people_chain
    prepared, lanes, count = prepare(model.graph), 32, 40
    start = kernel.starts(model.graph, lanes, np.random.SeedSequence(1))
    fast, slow = start.copy(), start.copy()
    outcomes_seen = np.zeros(3, dtype=np.int64)
    memory = kernel.memory(prepared, lanes)
    compiled_steps(prepared, kernel, memory, fast, outcomes_seen, generator(5, 1, lanes), count)
    memory = kernel.memory(prepared, lanes)
    steps(prepared, kernel, memory, slow, outcomes_seen, SlowGenerator(5, 1, lanes), count)
    assert np.array_equal(fast, slow)
    assert not np.array_equal(fast, start)


def test_a_pack_does_not_depend_on_where_rounds_end(people_chain):
    model, kernel = people_chain
    prepared = prepare(model.graph)
    whole, parts = (start_pack(prepared, kernel, seed=2, number=0, lanes=32) for _ in range(2))
    advance(prepared, kernel, whole, recorded=0, samples=12, spacing=7)
    for first, samples in ((0, 1), (1, 5), (6, 6)):
        advance(prepared, kernel, parts, recorded=first, samples=samples, spacing=7)
    assert np.array_equal(whole.values, parts.values)
    assert np.array_equal(whole.tally.sums, parts.tally.sums)


# Marginals.


def test_sampled_marginals_are_those_of_elimination():
    """Some fifty atoms, errors of eight columns or more: z above 9 is a chance below 1e-6."""
    logic = chain_of_people()
    query = "Smokes;Old;Likes(P0,x);Likes(P3,x);Likes(x,P4)"
    counted = om.marginals(logic, query=query, method="gibbs", base="counts", samples=2000)
    exact = om.marginals(logic, query=query, method="exact")
    assert list(counted) == list(exact)
    assert counted.converged
    assert counted.about.warnings == ()
    assert counted.about.method == "gibbs"
    assert "cells of 10 constants" in counted.about.reason
    for name, marginal in counted.items():
        gap = abs(marginal.probability[0] - exact[name].probability[0])
        assert gap <= 9 * marginal.standard_error[0] + 1e-12, name
        assert marginal.standard_error[0] < 0.01
    assert counted["Smokes(P0)"].verdict == "observed"
    assert counted["Likes(P0,P0)"].probability[0] == pytest.approx(
        exact["Likes(P0,P0)"].probability[0], abs=1e-9
    )


def test_every_sampled_atom_is_in_its_interval_or_near():
    """Random programs of all kinds; values too, which have larger errors."""
    checked = 0
    for seed in range(7300, 7360):
        if (pair := random_chain(seed)) is None or not pair[1].kernel.smooth:
            continue
        logic, chain = pair
        if chain.model.graph.variables < 2:
            continue
        for estimator in ("rao-blackwell", "values"):
            sampled = om.marginals(
                logic, method="gibbs", base="counts", samples=400, packs=1, estimator=estimator
            )
            exact = om.marginals(logic, method="exact")
            for name, marginal in sampled.items():
                gap = abs(marginal.probability[0] - exact[name].probability[0])
                assert gap <= 12 * marginal.standard_error[0] + 1e-9, (seed, estimator, name)
        checked += 1
    assert checked > 15


def test_joint_laws_given_cells_give_those_of_elimination():
    """The law of atoms given cells, summed over all states of the cells."""
    compared = 0
    for seed in range(7000, 7120):
        if (pair := random_chain(seed)) is None:
            continue
        logic, chain = pair
        if not 1 < np.prod(chain.model.graph.cardinality.astype(float)) <= 256:
            continue
        states, law = cell_law(chain)
        exact = om.marginals(logic, method="exact")
        names = np.random.default_rng(seed).permutation(list(exact))[:3].tolist()
        atoms, _ = find_atoms(logic, names)
        feature = cell_sampling._AtomLaw(chain, atoms, np.eye(2 ** len(atoms)))
        table = np.array(states, dtype=np.uint8).T[feature.variables]
        sums = np.zeros(2 ** len(atoms))
        for place, chance in enumerate(law):
            one = np.repeat(table[:, [place]], 8, axis=1)
            sums += chance * feature.sums(one, None).mean(axis=1)
        expected = om.joint(logic, names, method="exact").probability
        assert sums == pytest.approx(expected.reshape(-1), abs=1e-10), seed
        compared += 1
    assert compared > 40


def test_joints_and_events_of_cells_are_those_of_elimination():
    logic = chain_of_people()
    names = ["Likes(P5,P3)", "Smokes(P3)", "Old(P3)", "Likes(P3,P5)", "Smokes(P0)"]
    settings = {"method": "gibbs", "base": "counts", "samples": 1000}
    sampled, exact = om.joint(logic, names, **settings), om.joint(logic, names, method="exact")
    assert sampled.names == exact.names
    gaps = np.abs(sampled.probability - exact.probability)
    assert (gaps <= 9 * sampled.standard_error + 1e-9).all()
    assert sampled.probability.sum() == pytest.approx(1.0, abs=1e-9)
    for event, given in (
        ("Smokes(P3) v Likes(P5,P3)", None),
        ("Old(P3) ^ !Smokes(P4)", "Likes(P5,P3)"),
    ):
        one = om.probability(logic, event, given=given, **settings)
        true = om.probability(logic, event, given=given, method="exact")
        assert abs(one.value - true.value) <= 9 * one.standard_error + 1e-9
        assert one.converged
    with pytest.raises(ContradictionError, match="what is given is impossible"):
        om.probability(logic, "Old(P3)", given="!Smokes(P0)", **settings)
    sure = om.joint(logic, ["Smokes(P0)", "Old(P1)", "Smokes(P1)"], **settings)
    assert sure.verdict == "exact"
    expected = om.joint(logic, list(sure.names), method="exact").probability
    assert sure.probability == pytest.approx(expected, abs=1e-12)
    assert om.probability(logic, "Old(P0)", **settings).verdict == "exact"
    with pytest.raises(LimitError, match="9 atoms have too many joint values"):
        om.joint(logic, [f"Old(P{n})" for n in range(9)], **settings)


def test_what_is_given_and_was_never_sampled_is_not_called_impossible():
    rules = "p = {A, B, C, D}\nSmokes(p)\nLikes(p,p)\n-30 Smokes(x)\n0.4 Likes(x,y) ^ Smokes(x)\n"
    settings = {"method": "gibbs", "base": "counts", "samples": 100}
    logic = read(rules, "Likes(A,B)\nLikes(B,C)\n", opened=["Smokes", "Likes"])
    assert om.probability(logic, "Smokes(B)", given="Smokes(A)", method="exact").value > 0.0
    with pytest.raises(LimitError, match="what is given was true in none of 100 samples"):
        om.probability(logic, "Smokes(B)", given="Smokes(A)", **settings)


def test_auto_samples_cells_of_programs_that_are_too_large(monkeypatch):
    rng = np.random.default_rng(1)
    people = "p = {" + ", ".join(f"P{n}" for n in range(400)) + "}\n"
    rules = "Smokes(p)\nF(p,p)\n0.2 F(x,y) => (Smokes(x) <=> Smokes(y))\n-4 F(x,y)\n0.2 Smokes(x)\n"
    facts = {f"F(P{a},P{b})" for a in range(400) for b in rng.integers(400, size=3) if a != b}
    logic = read(people + rules, "\n".join(sorted(facts)) + "\n", opened=["F"])
    assert isinstance(logic.source.lifting, str)
    refusal = om.inference.counting_cost(logic).refusal
    assert refusal.endswith("); cells of its constants are sampled instead")
    assert "400 groups, width " in refusal
    assert not logic.is_ground
    answer = om.marginals(logic, samples=100, packs=1)
    assert not logic.is_ground
    assert answer.about.method == "gibbs"
    assert answer.about.warnings == ("name atoms of F to see them: they are too many",)
    assert len(answer) == 400
    with ThreadPoolExecutor(2) as executor:
        again = om.marginals(logic, samples=100, packs=1, executor=executor)
    assert again.columns.probability.tolist() == answer.columns.probability.tolist()
    law = om.joint(logic, ["Smokes(P1)", "F(P1,P7)"], samples=100, packs=1)
    assert law.about.method == "gibbs"
    assert not logic.is_ground


def town_of_two_modes(count=200):
    people = "p = {" + ", ".join(f"P{n}" for n in range(count)) + "}\n"
    rules = "Smokes(p)\nF(p,p)\n0.05 F(x,y) => (Smokes(x) <=> Smokes(y))\n0.01 Smokes(x)\n"
    facts = [f"F(P{n},P{(n * n + 1) % count})" for n in range(count) if (n * n + 1) % count != n]
    return read(people + rules, "\n".join(sorted(set(facts))) + "\n", opened=["F"])


def test_two_modes_are_found_and_not_believed(monkeypatch):
    """All smoke or none: chains that start at both never cross, so no share is believed."""
    monkeypatch.setattr(count_gibbs, "MOST_SWEEPS", 0)
    logic = town_of_two_modes()
    chain = logic.source.cells
    assert chain.modes == 2
    shares = sorted(chain.kernel.modes.mean(axis=1)[:, 1].tolist())
    assert shares[0] < 0.05
    assert shares[1] > 0.95
    answer = om.marginals(logic, query="Smokes", method="gibbs", base="counts", samples=200)
    assert not answer.converged
    assert any("2 modes" in words for words in answer.about.warnings)


def test_chains_cross_between_two_modes_where_counts_are_flattened():
    logic = town_of_two_modes(100)
    chain = logic.source.cells
    assert chain.modes == 2
    assert chain.kernel.bias.max() > 20
    assert len(chain.kernel.bias) <= 6
    sampled = om.marginals(
        logic, query="Smokes", method="gibbs", base="counts", samples=1000, seed=1
    )
    exact = om.marginals(logic, query="Smokes", method="counting")
    assert sampled.converged
    assert "copies with flattened counts lead from mode to mode" in sampled.about.reason
    gaps = np.abs(sampled.columns.probability - exact.columns.probability)
    assert (gaps <= 9 * sampled.columns.standard_error).all()
    assert sampled.columns.standard_error.max() < 0.02


def crowd(weight, lean, count=6_000):
    """So many people that only modes that are near each other are worth a walk."""
    names = ", ".join(f"P{n}" for n in range(count))
    rules = f"{weight / count!r} F(x,y) => (Smokes(x) <=> Smokes(y))\n{lean / count!r} Smokes(x)\n"
    text = f"p = {{{names}}}\nSmokes(p)\nF(p,p)\n{rules}"
    return read(text, "F(P0,P1)\nF(P1,P2)\n!F(P2,P3)\n", opened=["F"])


def test_counts_are_flattened_where_modes_are_near():
    near = crowd(2.05, 0.5).source.cells
    assert near.modes > 1
    assert near.far == 0
    assert len(near.kernel.bias) > 1
    assert 1 < near.kernel.bias.max() < 10


def test_modes_that_are_far_from_each_other_are_said_to_be():
    logic = crowd(4.0, 0.5)
    far = logic.source.cells
    assert far.modes == 2
    assert 4_000 < far.far <= 6_000
    assert len(far.kernel.bias) == 1
    answer = om.marginals(logic, query="Smokes", method="gibbs", base="counts", samples=20, packs=1)
    assert not answer.converged
    assert answer.about.warnings[-1].endswith(f"they take {far.far:,} sweeps or more")


def with_copies(kernel, variables, seed):
    """A kernel with two copies of any bias, one above the other, and a third one."""
    rng = np.random.default_rng(seed)
    bias = rng.normal(size=(4, variables + 1))
    bias[0] = 0.0
    mark = rng.integers(2, size=(4, len(kernel.log_r))).astype(np.uint8)
    return kernel._replace(bias=bias, mark=mark, below=np.array([0, 0, 1, 0], np.uint32))


def copies_residual(seed, smooth):
    """How far a step that ends a sweep is from keeping the law of a chain and of its copies."""
    chain = random_chain(seed)[1]
    variables = chain.model.graph.variables
    kernel = with_copies(chain.kernel._replace(smooth=smooth), variables, seed)
    kernel = kernel._replace(bias=kernel.bias[:3], mark=kernel.mark[:3], below=kernel.below[:3])
    states, law = cell_law(chain)
    cells = kernel.first_cell.astype(int) + np.array(states)
    laws = []
    for bias, mark in zip(kernel.bias, kernel.mark, strict=True):
        weighed = law * np.exp(bias[mark[cells].sum(axis=1)])
        laws.append(weighed / weighed.sum())
    joint = np.einsum("i,j,k->ijk", *laws).ravel()
    prepared = prepare_unrounded(chain.model.graph)
    memory = kernel.memory(prepared, 1)
    restore = restorer(memory)
    together = [(*a, *b, *c) for a in states for b in states for c in states]
    number = {state: place for place, state in enumerate(together)}

    def run(values, rng):
        restore()
        memory.turn[:] = variables - 1, 1
        memory.copies[...] = values[variables:]
        counts = np.zeros(3, dtype=np.int64)
        steps(prepared, kernel, memory, values[:variables], counts, rng, 1)
        values[variables:] = memory.copies

    after = np.zeros(len(together))
    for place in np.flatnonzero(joint > 0):
        for end, chance in outcomes(run, together[place]).items():
            after[number[end]] += joint[place] * chance
    return float(np.abs(after - joint).max())


def small_chains(most_variables):
    """Seeds of chains of two constants with two cells each, without zeros."""
    for seed in range(7000, 7400):
        pair = random_chain(seed)
        if pair is not None and pair[1].kernel.smooth:
            sizes = pair[1].model.graph.cardinality.tolist()
            if 1 < len(sizes) <= most_variables and max(sizes) == 2:
                yield seed


@pytest.mark.parametrize("smooth", [0, 1])
def test_steps_and_exchanges_keep_the_law_of_all_copies(smooth):
    seeds = list(itertools.islice(small_chains(2), 6))
    assert len(seeds) == 6
    assert max(copies_residual(seed, smooth) for seed in seeds) <= EXACT


def test_exchanges_that_forget_the_bias_would_be_seen(monkeypatch):
    monkeypatch.setattr(_count_gibbs, "add_bias", lambda *given: None)
    assert max(copies_residual(seed, 1) for seed in itertools.islice(small_chains(2), 3)) > 1e-3


def test_cells_are_refused_in_words():
    with pytest.raises(InputError, match="base=counts is for marginals, joints and events of"):
        om.marginals(om.ising_grid(2, 2, 0.1), method="gibbs", base="counts")
    with pytest.raises(InputError, match="base=counts is for marginals, joints and events of"):
        om.marginals(om.ising_grid(2, 2, 0.1), method="lmh", base="counts")
    rules = "p = {A, B, C, D, E, F, G}\nLikes(p,p)\n1 Likes(x,y) ^ Likes(y,z) => Likes(x,z)\n"
    with pytest.raises(InputError, match=r"rule 1 .*has three variables"):
        om.marginals(read(rules), method="gibbs", base="counts")
    rain = read("p = {A, B}\nRain\nWet(p)\n1 Rain => Wet(x)\n")
    with pytest.raises(InputError, match="atoms of no constant have 2 joint values"):
        om.marginals(rain, method="gibbs", base="counts")


def test_a_run_of_cells_is_kept_and_goes_on_as_if_it_had_not_ended(tmp_path):
    logic, path = chain_of_people(), tmp_path / "cells.run"
    settings = {"method": "gibbs", "base": "counts", "packs": 2, "query": "Smokes;Old"}
    whole = om.marginals(logic, samples=60, **settings)

    def interrupt(run):
        if run.recorded >= 20:
            run.stop()

    part = om.marginals(logic, samples=60, checkpoint=path, watchers=[interrupt], **settings)
    assert part.about.interrupted
    again = om.resume(path, chain_of_people(), query="Smokes;Old")
    assert again.about.samples == 60
    assert again.columns.probability.tolist() == whole.columns.probability.tolist()
    with pytest.raises(InputError, match="a checkpoint keeps no pairs of constants"):
        om.resume(path, logic, query="Likes(P3,x)")
    with pytest.raises(InputError, match="the cells of this program cannot be sampled"):
        om.resume(path, read("p = {A, B}\nRain\nWet(p)\n1 Rain => Wet(x)\n"))


def test_too_many_cells_patterns_and_pairs_are_refused(monkeypatch):
    logic = chain_of_people()
    source = logic.source
    monkeypatch.setattr(coordinates, "MOST_PATTERNS", 0)
    with pytest.raises(NotLiftableError, match="pairs are observed in"):
        build_cell_chain(source.program, source.atoms)
    monkeypatch.setattr(count_gibbs, "MOST_CELLS", 1)
    with pytest.raises(NotLiftableError, match="has 2 cells; chains of cells take 1"):
        build_cell_chain(source.program, source.atoms)
    monkeypatch.undo()
    monkeypatch.setattr(cell_sampling, "MOST_PAIRS", 3)
    with pytest.raises(LimitError, match=r"pairs of constants, the limit is 3; name fewer"):
        om.marginals(logic, query="Likes(P3,x)", method="gibbs", base="counts", samples=20)


def test_pairs_that_are_freed_by_evidence_are_refused():
    """All are enemies but one pair: no factor can take a zero back."""
    text = (
        "p = {A, B, C}\nSmokes(p)\nPeace(p,p)\n!Peace(x,y) ^ x != y => !(Smokes(x) ^ Smokes(y)).\n"
    )
    logic = read(text + "0.1 Smokes(x)\n", "Peace(A,B)\nPeace(B,A)\n", closed=["Peace"])
    with pytest.raises(InputError, match="observed pairs allow cells that hard rules forbid"):
        om.marginals(logic, method="gibbs", base="counts")


def test_evidence_that_contradicts_hard_rules_is_refused():
    text = "p = {A, B, C}\nSmokes(p)\nLikes(p,p)\nLikes(x,y) ^ Smokes(x) => Smokes(y).\n"
    cases = {
        "1 Likes(x,y)": "Likes(A,B)\nSmokes(A)\n!Smokes(B)\n",
        "x != y => !(Smokes(x) ^ Smokes(y)).": "Smokes(A)\nSmokes(B)\n",
        "x != y => (Smokes(x) v Smokes(y)).": "!Smokes(A)\n!Smokes(B)\n",
    }
    for rule, facts in cases.items():
        program = parse(text + rule + "\n")
        known = parse_database(facts, program)
        tables = atom_tables(program, known, World(opened=frozenset({"Likes", "Smokes"})))
        with pytest.raises(ContradictionError):
            build_cell_chain(program, tables)


# Hard rules that forbid pairs of cells.


def test_zeros_that_are_not_counted_would_be_seen(monkeypatch):
    usual = _count_gibbs.weigh_cells

    def careless(kernel, *given):
        usual(kernel._replace(forbidden=np.zeros_like(kernel.forbidden)), *given)

    monkeypatch.setattr(_count_gibbs, "weigh_cells", careless)
    assert stationary_residuals(range(20), ruled_fragment)[0] > 1e-3


def test_steps_keep_the_law_of_cells_that_hard_rules_forbid():
    worst, balance, _, hard = stationary_residuals(range(120), ruled_fragment)
    assert worst <= EXACT
    assert balance <= EXACT
    assert hard > 40


def ruled_chains(seeds):
    """Chains with pairs of cells that hard rules forbid, and all their possible states."""
    for seed in seeds:
        pair = random_chain(seed, ruled_fragment)
        if pair is not None and pair[1].kernel.forbidden.any():
            states, law = cell_law(pair[1])
            yield pair[1], [state for state, chance in zip(states, law, strict=True) if chance > 0]


def test_states_that_occupy_the_same_support_are_connected():
    """By steps that change one constant; so chains that start at all supports miss nothing."""
    checked, several = 0, 0
    for chain, states in ruled_chains(range(120)):
        if not np.isfinite(chain.kernel.correction).all() or len(states) > 300:
            continue
        supports = count_gibbs.find_supports(chain.kernel)
        component = components_of(states)
        seen = {}
        for state, number in zip(states, component, strict=True):
            cells = set((chain.kernel.first_cell.astype(int) + np.array(state)).tolist())
            held = [s for s in supports if cells <= {*np.flatnonzero(s.cells).tolist(), *s.single}]
            assert held, "every possible state is in a support"
            for support in held:
                key = support.cells.tobytes()
                assert seen.setdefault(key, number) == number
        checked += 1
        several += len(set(component)) > 1
    assert checked > 20
    assert several > 3


def components_of(states):
    """A number for each state, the same for states that single changes lead to."""
    place = {state: number for number, state in enumerate(states)}
    parent = list(range(len(states)))

    def root(number):
        while parent[number] != number:
            number = parent[number]
        return number

    by_rest = {}
    for state, number in place.items():
        for variable in range(len(state)):
            rest = (variable, state[:variable], state[variable + 1 :])
            parent[root(number)] = root(by_rest.setdefault(rest, number))
    return [root(number) for number in range(len(states))]


def test_chains_start_at_states_that_hard_rules_allow():
    checked = 0
    for chain, states in ruled_chains(range(120)):
        begun = chain.kernel.starts(chain.model.graph, 32, np.random.SeedSequence(1))
        assert {tuple(column) for column in begun.T.tolist()} <= set(states)
        checked += 1
    assert checked > 10


def test_cells_that_are_forbidden_are_mended_in_machine_code_as_in_python():
    logic = read(PARTIES.format(people=", ".join(f"P{n}" for n in range(30)), red=0.1, blue=0.2))
    kernel, graph = logic.source.cells.kernel, logic.source.cells.model.graph
    rng = np.random.default_rng(4)
    begun = rng.integers(3, size=graph.variables).astype(np.uint8)
    order, mended = rng.permutation(graph.variables), []
    mend = _count_gibbs.mend_cells
    for run, chooser in ((mend, generator), (mend.py_func, SlowGenerator)):
        state = begun.copy()
        assert run(kernel, graph.cardinality, state, order, chooser(3, 0, 32))
        assert np.isfinite(cell_log_weight(logic.source.cells, state.tolist()))
        mended.append(state)
    assert np.array_equal(*mended)
    assert not np.array_equal(mended[0], begun)


LEADER = """p = {{{people}}}
S(p)
F(p, p)
x != y => !(S(x) ^ S(y)).
{lean!r} S(x)
{tie!r} F(x,y) => (S(x) <=> S(y))
"""
PARTIES = """p = {{{people}}}
Red(p)
Blue(p)
F(p, p)
!(Red(x) ^ Blue(y)).
{red!r} Red(x)
{blue!r} Blue(x)
0.1 F(x,y) ^ Red(x) => Red(y)
"""


@pytest.mark.parametrize("method", ["gibbs", "lmh"])
def test_what_is_believed_beside_hard_rules_is_right(method):
    """Chains that cannot leave where they start are never believed."""
    believed, doubted = Counter(), Counter()
    for write, seed in itertools.product(
        (towns.led_town, towns.united_town, towns.parted_town), range(15)
    ):
        logic, truth = write(np.random.default_rng(seed))
        answer = om.marginals(logic, method=method, base="counts", samples=400, packs=2, seed=seed)
        for name, marginal in answer.items():
            p, gap = marginal.probability[0], abs(marginal.probability[0] - truth[name][0])
            if marginal.verdict in ("good", "fair"):
                assert gap <= 9 * marginal.standard_error[0] + 1e-9, (seed, name)
            elif marginal.verdict == "rare":
                assert gap <= 3 * max(p - marginal.low[0], marginal.high[0] - p), (seed, name)
        (believed if answer.converged else doubted)[write.__name__] += 1
    assert believed["led_town"] + believed["parted_town"] >= 15
    assert doubted["united_town"] >= 5


def test_one_leader_of_many_is_found_by_jumps_only():
    """Who leads stays so, for Gibbs; the answer says that nobody knows."""
    people = ", ".join(f"P{n}" for n in range(20))
    facts = "F(P0,P1)\nF(P1,P2)\n!F(P3,P4)\n0.8 S(P7)\n"
    logic = read(LEADER.format(people=people, lean=30.0, tie=0.4), facts, opened=["S", "F"])
    truth = om.marginals(logic, query="S", method="counting").columns.probability
    how = {"query": "S", "base": "counts", "samples": 1000, "seed": 1}
    assert not om.marginals(logic, method="gibbs", **how).converged
    answer = om.marginals(logic, method="lmh", **how)
    assert answer.converged
    gaps = np.abs(answer.columns.probability - truth)
    assert (gaps <= 9 * answer.columns.standard_error).all()


def test_hard_rules_with_too_many_or_too_few_cells_are_refused(monkeypatch):
    seats = "p = {A, B}\nSeat(p, s!)\ns = {U, V}\nx != y => !(Seat(x,v) ^ Seat(y,v)).\n"
    with pytest.raises(InputError, match="no cell but those that it cannot share"):
        om.marginals(read(seats), method="gibbs", base="counts")
    with pytest.raises(ContradictionError):
        om.marginals(read(seats.replace("A, B", "A, B, C")), method="gibbs", base="counts")
    monkeypatch.setattr(count_gibbs, "MOST_SUPPORTS", 1)
    people = ", ".join(f"P{n}" for n in range(5))
    for text in (
        PARTIES.format(people=people, red=0.1, blue=0.2),
        LEADER.format(people=people, lean=1.0, tie=0.1),
    ):
        with pytest.raises(InputError, match="combinations of cells"):
            om.marginals(read(text), method="gibbs", base="counts")
    monkeypatch.undo()
    monkeypatch.setattr(count_gibbs, "MOST_CLIQUES", 1)
    with pytest.raises(InputError, match="combinations of cells"):
        om.marginals(
            read(PARTIES.format(people=people, red=0.1, blue=0.2)), method="gibbs", base="counts"
        )


def test_columns_of_lanes_start_at_different_modes():
    """Also where lanes are a multiple of the modes: else columns would agree, and be believed."""
    logic = read(PARTIES.format(people="A, B, C, D", red=0.1, blue=0.2))
    kernel = logic.source.cells.kernel
    variables, most = kernel.log_u.shape
    modes = np.zeros((3, variables, most))
    for mode in range(3):
        modes[mode, :, mode] = 1.0
    kernel = kernel._replace(modes=modes, forbidden=np.zeros_like(kernel.forbidden), smooth=1)
    begun = kernel.starts(logic.source.cells.model.graph, 96, np.random.SeedSequence(0))
    assert (begun[0].reshape(-1, 8) == np.arange(8) % 3).all()


def test_hard_rules_about_observed_pairs_start_at_possible_states():
    text = "p = {A, B, C, D}\nSmokes(p)\nLikes(p,p)\nLikes(x,y) ^ Smokes(x) => Smokes(y).\n"
    text += "0.4 Smokes(x)\n-1 Likes(x,y)\n"
    logic = read(text, "Likes(A,B)\nLikes(B,C)\n!Likes(C,A)\n", opened=["Likes"])
    query = "Smokes;Likes(A,x)"
    sampled = om.marginals(logic, query=query, method="gibbs", base="counts", samples=1000)
    exact = om.marginals(logic, query=query, method="exact")
    for name, marginal in sampled.items():
        gap = abs(marginal.probability[0] - exact[name].probability[0])
        assert gap <= 9 * marginal.standard_error[0] + 1e-12, name
