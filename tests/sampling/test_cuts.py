"""Where the rounds of a run end changes no byte of it, whatever the kernel."""

import sys
from typing import NamedTuple

import numpy as np
import pytest

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import integer
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.tally import ValueTally
from orbitmc.graph.builder import Builder
from orbitmc.graph.relevance import components
from orbitmc.inference.plan import choose_kernel
from orbitmc.inference.program import ground_program
from orbitmc.inference.settings import Settings
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._count_gibbs import cell_swaps
from orbitmc.kernels._independence import Pause, independence
from orbitmc.kernels._matching import match_table
from orbitmc.kernels._order import order_table
from orbitmc.kernels.protocol import Linked, annealing_entries, steps
from orbitmc.kernels.relations import partition_scan, relation_scan
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.budget import Pace
from orbitmc.sampling.pack import advance, arrays_of, start_pack
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from orbitmc.sampling.warmup import warm_up
from tests.kernels.catalogue import combinations_on, every_kernel_on
from tests.kernels.test_independence import bayesian
from tests.kernels.test_matching import matching_model
from tests.kernels.test_order import order_model
from tests.kernels.test_partition_scan import random_model, relation
from tests.lifted.test_count_gibbs import random_chain
from tests.oracle.random_models import random_graph, random_ising

WARM_UP, SAMPLES, SPACING = 61, 37, 5
LANES = 32
CUTS = 3  # ways to cut each run


def with_long_clauses():
    """Clauses so long that their literals are counted, and a variable with many neighbours."""
    rng = np.random.default_rng(7)
    variables = 24
    builder = Builder(np.full(variables, 2))
    for variable in range(1, variables):
        builder.add_factor([0, variable], rng.normal(size=4))
    for _ in range(6):
        scope = rng.permutation(variables)[:18]
        builder.add_clause(scope.tolist(), rng.integers(0, 2, 18).tolist(), float(rng.normal()))
    return builder.build()


GRAPHS = {
    "spins": random_ising(2, variables=7, degree=2, equal=False),
    "many values": random_graph(3, variables=(5, 7), cardinalities=(2, 3), clauses=False),
    "zeros": random_graph(4, variables=(5, 7), cardinalities=(2,), zeros=0.2),
    "network": bayesian(5, variables=6).graph,
    "long clauses": with_long_clauses(),
}


def run_in_pieces(prepared, kernel, warm_ups, rounds, *, kind=None):
    """Everything that a pack has after a run whose rounds are as long as they are given."""
    settings = {} if kind is None else {"kind": kind}
    part_of = components(prepared.graph)
    pack = start_pack(prepared, kernel, seed=3, number=1, lanes=LANES, part_of=part_of, **settings)
    annealing = sum(warm_ups) // 2 if annealing_entries(kernel) else 0
    taken = recorded = 0
    for count in warm_ups:
        warm_up(prepared, kernel, pack, steps=count, taken=taken, annealing=annealing)
        taken += count
    for samples in rounds:
        advance(prepared, kernel, pack, recorded=recorded, samples=samples, spacing=SPACING)
        recorded += samples
    held = arrays_of(pack, "pack")
    return {name: array.tobytes() for name, array in held if is_kept(name)}


def is_kept(name):
    """Whether a later step looks at an array: scratch is written before it is read."""
    words = name.split("/")
    return words[1] in ("values", "tally", "outcomes", "rng", "ends") and "scratch" not in words


def pieces(rng, total):
    """Cut so many units of work at random places; one round may have nothing to do."""
    places = np.sort(rng.integers(0, total + 1, rng.integers(1, 7)))
    return np.diff(np.concatenate([[0], places, [total]])).tolist()


def require_same_bytes(prepared, kernel, name, kind=None):
    whole = run_in_pieces(prepared, kernel, [WARM_UP], [SAMPLES], kind=kind)
    for seed in range(CUTS):
        rng = np.random.default_rng([seed, len(name)])
        cut = pieces(rng, WARM_UP), pieces(rng, SAMPLES)
        found = run_in_pieces(prepared, kernel, *cut, kind=kind)
        differing = [place for place in whole if whole[place] != found[place]]
        assert not differing, (name, cut, differing)


@pytest.mark.parametrize("graph", GRAPHS)
def test_cutting_a_run_changes_no_byte(graph):
    prepared = prepare(GRAPHS[graph])
    for name, kernel in every_kernel_on(prepared).items():
        require_same_bytes(prepared, kernel, name)


@pytest.mark.parametrize("graph", GRAPHS)
def test_cutting_a_run_of_combined_kernels_changes_no_byte(graph):
    prepared = prepare(GRAPHS[graph])
    for name, kernel in combinations_on(prepared).items():
        require_same_bytes(prepared, kernel, name, kind=ValueTally)


def partition_on_a_graph():
    """Two equivalence relations that no factor says, and variables beside them."""
    equivalences = [relation("Same", 4), relation("Alike", 3, 6, partial=[0, 2])]
    prepared = prepare(random_model(1, equivalences, others=3)[0])
    return prepared, partition_scan(prepared, equivalences)


@pytest.mark.parametrize("kind", [None, ValueTally])
def test_cutting_a_run_of_partitions_changes_no_byte(kind):
    require_same_bytes(*partition_on_a_graph(), "partitions", kind=kind)


def matching_on_a_graph():
    """Rows and columns that are matched at most once, and atoms beside them."""
    graph, table = matching_model(np.random.default_rng(3), 3, 3, atoms=1)
    prepared = prepare(graph)
    return prepared, match_table(graph, table)


def order_on_a_graph():
    """Items in order, two of which are known, and atoms beside them."""
    graph, table, known = order_model(np.random.default_rng(3), 4, known=1, atoms=1, both=True)
    return prepare(graph), order_table(graph, table, known)


def relations_on_a_graph():
    """An order and a forest whose rules are not ground, and atoms beside them."""
    text = (
        "t = { A, B, C, D }\nBefore(t, t)\nAbove(t, t)\nRed(t)\n!Before(x,x).\n"
        "x != y => (Before(x,y) v Before(y,x)).\nBefore(x,y) ^ Before(y,z) => Before(x,z).\n"
        "!Above(x,x).\nAbove(x,y) ^ Above(y,z) => Above(x,z).\n"
        "Above(x,z) ^ Above(y,z) => (Above(x,y) v Above(y,x) v x = y).\n"
        "0.5 Before(x,y) ^ Red(x) => Red(y)\n0.4 Above(x,y) => Red(x)\n"
    )
    program = parse(text)
    model = ground_program(program, parse_database("", program)).in_relations.model
    prepared = prepare(model.graph)
    return prepared, relation_scan(prepared, model.relations)[0]


def renamings_on_a_graph():
    """Swaps of constants on top of an equivalence relation and an order, some pairs of it known."""
    text = (
        "t = { A, B, C, D, E }\nSame(t, t)\nBefore(t, t)\nRed(t)\nSame(x,x).\n"
        "Same(x,y) ^ Same(x,z) => Same(y,z).\n!Before(x,x).\n"
        "x != y => (Before(x,y) v Before(y,x)).\nBefore(x,y) ^ Before(y,z) => Before(x,z).\n"
        "0.5 Same(x,y) ^ Red(x) => Red(y)\n0.4 Before(x,y) ^ Red(x) => Red(y)\n"
    )
    program = parse(text)
    known = parse_database("Same(A,B)\n!Same(C,D)\nBefore(D,E)\n", program)
    model = ground_program(program, known, opened=["Same", "Before"]).in_relations.model
    settings = Settings(method="lmh", base="relations", clusters=1, alpha=0.6)
    prepared = prepare(model.graph)
    return prepared, choose_kernel(model, prepared, settings).kernel


def cells_on_a_graph():
    """People of whom some pairs are observed."""
    _, chain = next(chain for seed in range(1, 99, 2) if (chain := random_chain(seed)))
    return prepare(chain.model.graph), chain.kernel


def swaps_of_cells_on_a_graph():
    """The same, and two of them exchange their cells."""
    for seed in range(1, 99, 2):
        _, chain = random_chain(seed) or (None, None)
        if chain is not None:
            sorts = [np.flatnonzero(chain.sort == sort) for sort in range(len(chain.cells))]
            if max(map(len, sorts)) > 1:
                swaps = cell_swaps(chain.kernel, sorts, pairs=1)
                return prepare(chain.model.graph), alternation(chain.kernel, swaps, period=2)
    raise AssertionError("no chain has two constants of one sort")


def independent_draws():
    """All variables drawn anew, and nothing in between."""
    prepared = prepare(GRAPHS["network"])
    return prepared, alternation(Pause(), independence(prepared), period=2)


@pytest.mark.parametrize(
    "make",
    [
        matching_on_a_graph,
        order_on_a_graph,
        relations_on_a_graph,
        renamings_on_a_graph,
        cells_on_a_graph,
        swaps_of_cells_on_a_graph,
        independent_draws,
    ],
)
def test_cutting_a_run_of_other_kernels_changes_no_byte(make):
    require_same_bytes(*make(), make.__name__, kind=ValueTally)


def test_runs_of_every_kernel_are_cut():
    alone = (partition_on_a_graph, matching_on_a_graph, order_on_a_graph, cells_on_a_graph)
    cut = {type(make()[1]) for make in alone}
    for mixed in (independent_draws, swaps_of_cells_on_a_graph):
        cut |= {type(part) for part in mixed()[1]}
    scan = relations_on_a_graph()[1]
    cut |= {type(scan.base), type(scan.jump.first), type(scan.jump.second)}
    for graph in GRAPHS.values():
        prepared = prepare(graph)
        every = (*every_kernel_on(prepared).values(), *combinations_on(prepared).values())
        cut |= {type(kernel) for kernel in every}
    written = [kind for kind in steps.implementations if kind.__module__.startswith("orbitmc.")]
    # examples of docstrings are kernels too, of no module
    ours = {
        kind
        for kind in written
        if getattr(sys.modules[kind.__module__], kind.__name__, None) is kind
    }
    assert ours - cut == {Linked}, "add the kernel to tests/kernels/catalogue.py"


def sampled(prepared, kernel, monkeypatch, seed):
    """A run whose rounds are as long as a generator says, not as a clock does."""
    rng = np.random.default_rng(seed)

    def learn(self, units, seconds, wanted=0.0):
        self.each = 1e-6
        self.units = int(rng.integers(1, 40))

    monkeypatch.setattr(Pace, "learn", learn)
    schedule = Schedule(samples=SAMPLES, warm_up=9, snapshots=True)
    return sample(prepared, kernel, schedule, seed=5, packs=2, lanes=LANES, threads=2)


@pytest.mark.parametrize("name", ["tempering", "random scan", "blocks of 6", "MC-SAT lifted"])
def test_the_length_of_rounds_changes_no_result(name, monkeypatch):
    prepared = prepare(GRAPHS["zeros"])
    kernel = every_kernel_on(prepared)[name]
    first, *others = (sampled(prepared, kernel, monkeypatch, seed) for seed in range(4))
    for other in others:
        assert other.statistics().probability.tobytes() == first.statistics().probability.tobytes()
        assert other.outcomes == first.outcomes
        for one, two in zip(first.packs, other.packs, strict=True):
            assert one.values.tobytes() == two.values.tobytes()


class PerPiece(NamedTuple):
    """A kernel that draws a number for every call, not for every step."""

    outcomes = ("updates",)

    def memory(self, prepared, lanes):
        return ()


@implementation(steps, PerPiece)
def per_piece_steps(prepared, kernel, memory, values, outcomes, rng, count):
    variable = integer(rng, len(values))
    for lane in range(values.shape[1]):
        values[variable, lane] ^= np.uint8(count % 2)
    outcomes[0] += count


@pytest.mark.parametrize("wrap", [lambda kernel: kernel, lambda k: alternation(k, k, period=4)])
def test_a_kernel_that_draws_per_call_is_found(wrap):
    prepared = prepare(GRAPHS["spins"])
    with pytest.raises(AssertionError, match="values"):
        require_same_bytes(prepared, wrap(PerPiece()), "per piece")
