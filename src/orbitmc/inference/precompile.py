"""The usual questions, on small models: asking them compiles what the usual commands need.

Each compiles something that the others do not, so several processes can ask them at once.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import orbitmc as om
from orbitmc._numba import tiers
from orbitmc._numba.compile_log import LOGGER, REMARKS
from orbitmc._util.arrays import LANE_UNIT
from orbitmc.exact.blocks import gather, slab_steps
from orbitmc.exact.contraction import LINEAR, LOGARITHMIC, Passes
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.exact.order_search import search_order
from orbitmc.exact.plan import predict
from orbitmc.graph.feasibility import walk_to_state
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import ItemOrder, Model
from orbitmc.graph.model import model as model_of
from orbitmc.graph.relevance import relevant
from orbitmc.graph.support import possible_values
from orbitmc.groups.decomposition import exchangeable_rows
from orbitmc.groups.random_elements import product_replacement
from orbitmc.inference._best import best
from orbitmc.inference._draws import draws
from orbitmc.inference._log_z import log_z
from orbitmc.inference._marginals import marginals
from orbitmc.inference.lift import parse_generators
from orbitmc.inference.program import ground_program
from orbitmc.inference.settings import Settings
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.collapsed import draw_network, network_of, recovery_of
from orbitmc.sampling.pack import start_values
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import LANES, Schedule
from orbitmc.symmetry._automorphisms import automorphisms
from orbitmc.symmetry.approximations import cluster_weights
from orbitmc.symmetry.blocks import blocks
from orbitmc.symmetry.boolean_rank import factorise, factorise_links
from orbitmc.symmetry.color_passing import cells
from orbitmc.symmetry.encoding import variable_graph
from orbitmc.symmetry.refinement import ball_cells
from orbitmc.symmetry.terms import energy_form

SIDE = 4
ALIKE = ("(s0_0 s0_1)(s1_0 s1_1)", "(s0_1 s0_2)(s1_1 s1_2)")
"""Generators that permute two sets of spins alike."""

CROWD = 24  # people of whom each is a class of its own: too many for a sum over all counts
SMOKERS = """
person = {A, B, C}
Smokes(person)
Friends(person, person)
0.5 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
LEADER = """
person = {A, B, C}
Leads(person)
x != y => !(Leads(x) ^ Leads(y)).
0.5 Leads(x)
"""
SAME = """
thing = {A, B, C, D}
Same(thing, thing)
Red(thing)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
0.5 Same(x, y) ^ Red(x) => Red(y)
"""
BEFORE = """
thing = {A, B, C, D}
Before(thing, thing)
Red(thing)
!Before(x, x).
x != y => (Before(x, y) v Before(y, x)).
Before(x, y) ^ Before(y, z) => Before(x, z).
0.5 Before(x, y) ^ Red(x) => Red(y)
"""
ABOVE = """
thing = {A, B, C, D}
Above(thing, thing)
Red(thing)
!Above(x, x).
Above(x, y) ^ Above(y, z) => Above(x, z).
Above(x, z) ^ Above(y, z) => (Above(x, y) v Above(y, x) v x = y).
0.5 Above(x, y) ^ Red(x) => Red(y)
"""
MATCHED = """
thing = {A, B, C}
place = {P, Q, R}
At(thing, place)
Red(thing)
At(x, p) ^ At(x, q) => p = q.
At(x, p) ^ At(y, p) => x = y.
0.5 At(x, P) => Red(x)
"""
MOVES: Mapping[str, Mapping[str, Any]] = {
    **{
        family: {"families": [family], "period": 1}
        for family in (
            "flip",
            "labels",
            "reflections",
            "clusters",
            "one-hot",
            "forward draws",
            "matchings",
            "orders",
        )
    },
    "blocks": {"families": [], "period": 1, "blocks": [[0, 1]], "block_period": 2},
    "tempering": {"base": "tempering", "families": [], "period": 1, "betas": [1.0, 0.5]},
}
"""Jumps that compile something that no others do."""


def spins() -> Model:
    """A small grid of spins, each with a field of its own."""
    fields = np.random.default_rng(0).normal(size=(SIDE, SIDE))
    return om.ising_grid(SIDE, SIDE, 0.4, fields)


def plain_spins() -> Model:
    """A small grid of spins without fields, which has symmetries."""
    return om.ising_grid(SIDE, SIDE, 0.4)


def ring() -> Model:
    """Spins in a ring, whose symmetries are turns and reflections."""
    return om.ising(np.zeros(SIDE * 2), [(k, (k + 1) % (SIDE * 2)) for k in range(SIDE * 2)], 0.4)


def labels() -> Model:
    """A small grid of sites that have one label of three."""
    return om.potts_grid(3, 3, 3, 0.5, np.random.default_rng(0).normal(size=(3, 3, 3)))


def _ask(make: Callable[[], Model], **settings: Any) -> None:
    """Ask with the lanes that packs have: fewer where models are large, or chains are few."""
    for lanes in (LANES, LANE_UNIT):
        limits = Settings(samples=2, warm_up=1, packs=1, lanes=lanes)
        marginals(make(), settings=replace(limits, **settings))


def network() -> Model:
    """A small network with zeros in its tables, in which two variables can be exchanged."""
    names = [f"v{number}" for number in range(6)]
    table = [[0.5, 0.3, 0.2], [0.0, 0.9, 0.1]]
    factors = [((names[0], leaf), table) for leaf in names[1:3]]
    factors += [((names[number], names[number + 1]), table[1:] * 3) for number in (3, 4)]
    return model_of({names[0]: ["no", "yes"], **dict.fromkeys(names[1:], "abc")}, factors)


def at_most_one() -> Model:
    """Three variables of which no two are 1 together."""
    pairs = [((first, second), [[1, 1], [1, 0]]) for first, second in ("ab", "ac", "bc")]
    return model_of(dict.fromkeys("abc", "01"), [*pairs, (("a",), [1, 2])])


def two_by_two() -> Model:
    """Two rows and two columns, each matched at most once."""
    lines = [("a", "b"), ("c", "d"), ("a", "c"), ("b", "d")]
    return model_of(dict.fromkeys("abcd", "01"), [(line, [[1, 1], [1, 0]]) for line in lines])


def first_and_last() -> Model:
    """Three items in order, and a variable beside them."""
    pairs = (("ab", 0, 1), ("ac", 0, 2), ("bc", 1, 2))
    circles = [[[1, 1], [0, 1]], [[1, 0], [1, 1]]]
    beside = (("ab", "other"), [[1, 2], [3, 1]])
    names = (*(name for name, _, _ in pairs), "other")
    model = model_of(dict.fromkeys(names, "01"), [(("ab", "bc", "ac"), circles), beside])
    numbers = [model.index[name] for name, _, _ in pairs]
    first, second = ([pair[side] for pair in pairs] for side in (1, 2))
    ends = np.array([numbers, first, second], dtype=np.int64)
    order = ItemOrder("Before", 3, ends[0], ends[1], ends[2], np.zeros((0, 2), np.int64))
    return replace(model, orders=(order,))


def crowded() -> Model:
    """More pairs that exclude each other than a state that is found by chance leaves alone."""
    names = [f"v{number}" for number in range(12)]
    pairs = [((first, second), [[1, 1], [1, 0]]) for first, second in itertools.pairwise(names)]
    return model_of(dict.fromkeys(names, "01"), pairs)


def crossed() -> Model:
    """Spins of which each has many neighbours, so that none is cheap to sum out."""
    count = 8 * SIDE
    pairs = list(itertools.combinations(range(count), 2))
    return om.ising(np.zeros(count), pairs, np.linspace(0.1, 0.2, len(pairs)))


def bridged() -> Model:
    """Spins with many neighbours, and one between two of them that is cheap to sum out."""
    count = 8 * SIDE
    pairs = [*itertools.combinations(range(count), 2), (0, count), (1, count)]
    return om.ising(np.zeros(count + 1), pairs, np.linspace(0.1, 0.2, len(pairs)))


def coins() -> Model:
    """A small network of which little is observed."""
    chance = [[0.7, 0.3], [0.2, 0.8]]
    first = [0.6, 0.4]
    factors: list[Any] = [(("a",), first), (("a", "b"), chance), (("b", "c"), chance)]
    return model_of(dict.fromkeys("abc", "01"), factors).given({"c": "1"})


def _plain_chains() -> None:
    """Chains of all scans, and all that is recorded of them."""
    _ask(spins, method="gibbs")
    _ask(spins, method="gibbs", scan="random")
    _ask(spins, method="gibbs", estimator="values")


def _low_width() -> None:
    _ask(spins, method="lmh", base="low-width", alpha=0.8)


def _compile_elimination() -> None:
    """Drop what a question does not need, look for an order, and eliminate."""
    relevant(network(), [0])
    graph = labels().graph
    memory = Settings().memory
    plan = predict(graph, memory=memory, seconds=1.0)
    elimination = eliminate(graph, memory=memory, plan=plan)
    for arithmetic in (LINEAR, LOGARITHMIC):
        steps = slab_steps(plan.tree, plan.steps.regions)
        passes = Passes(plan.problem, plan.tree, steps, arithmetic)
        assert math.isclose(passes.up(), elimination.log_z)
        passes.down(plan.order)
    gather(np.zeros(1), np.zeros(1), *np.zeros((4, 1), np.int64))
    pairs = np.array(list(itertools.combinations(range(SIDE), 2)), dtype=np.int64)
    search_order(pairs, np.ones(SIDE), seconds=0.01, seed=0)


def _symmetries() -> None:
    for model in (spins(), plain_spins()):
        automorphisms(model.graph, seconds=math.inf)
        automorphisms(model.graph, values=True, seconds=math.inf)
    coloured = variable_graph(energy_form(plain_spins().graph))
    ball_cells(coloured, np.zeros(coloured.vertices, dtype=np.int64), reach=1)
    exchangeable_rows(parse_generators(spins(), ALIKE))
    product_replacement(np.array([[1, 0, 3, 2], [2, 3, 0, 1]], dtype=np.uint32))
    _approximations()


def _approximations() -> None:
    """Links of low Boolean rank, of one kind of things and of two, and blocks of what is alike."""
    links = np.random.default_rng(0).random((8, 8)) < 0.4
    factorise(links, 2)
    factorise_links(links | links.T, 2)
    for model in (spins(), crossed()):
        alike = cells(cluster_weights(model, 2), rounds=1)
        blocks(model.graph, alike, max_moved=2, budget=1.0)


def _starting() -> None:
    """States to begin with where some are impossible: found, or mended until they are possible."""
    graph = crowded().graph
    _ask(network, method="gibbs")
    start_values(graph, LANES, np.random.SeedSequence(0))
    walk_to_state(graph, possible_values(graph), np.random.default_rng(0))


def _compile_fringe() -> None:
    """Record what a fringe hangs on, and draw it given the rest."""
    graph = bridged().graph
    fringe = eliminate_fringe(graph)
    for lanes in (LANES, LANE_UNIT):
        sample(
            om.kernels.prepare(fringe.core),
            om.kernels.gibbs(),
            Schedule(samples=2, warm_up=1),
            packs=1,
            lanes=lanes,
            recovery=recovery_of(fringe),
        )
    network = network_of(fringe.network, graph.cardinality.tolist())
    draw_network(network, np.zeros((1, LANES)), np.zeros((graph.variables, LANES), np.uint8))


def _best() -> None:
    """Cool chains down to the best states, and look around them."""
    best(spins(), k=2, settings=Settings(method="gibbs", samples=2, packs=1))


def _log_z() -> None:
    """Cool populations of chains down, as a sampled log Z does."""
    log_z(crossed(), settings=Settings(method="gibbs", samples=2))


def _programs() -> None:
    """Exchange constants of a program."""
    program = parse(SMOKERS)
    asked = ground_program(program, parse_database("", program), query="Smokes,Friends")
    for lanes in (LANES, LANE_UNIT):
        limits = Settings(samples=2, warm_up=1, packs=1, lanes=lanes)
        for method in ("lifted", "lmh"):
            asked.marginals(replace(limits, method=method))


def _relations() -> None:
    """Draw relations whose rules are not ground."""
    for text in (SAME, BEFORE, ABOVE, MATCHED):
        program = parse(text)
        asked = ground_program(program, parse_database("", program))
        for lanes in (LANES, LANE_UNIT):
            limits = Settings(samples=2, warm_up=1, packs=1, lanes=lanes)
            for method in ("gibbs", "lmh"):
                asked.marginals(replace(limits, method=method, base="relations"))
            if text == SAME:
                splits = {"families": ["splits"], "period": 1}
                asked.marginals(replace(limits, method="lmh", base="relations", moves=splits))


def _counts() -> None:
    """Count a program in every way, and sample cells of its constants."""
    program = parse(SMOKERS)
    for facts in ("", "0.3 Smokes(A)\n0.6 Smokes(B)\nFriends(A, B)\n"):
        known = parse_database(facts, program)
        asked = ground_program(program, known, opened=["Smokes", "Friends"])
        asked.marginals(Settings(method="counting"))
        best(asked, method="counting")
        draws(asked, method="counting", samples=2, chains=1)
    for lanes in (LANES, LANE_UNIT):
        limits = Settings(samples=2, warm_up=1, packs=1, lanes=lanes)
        gibbs = replace(limits, method="gibbs", base="counts")
        asked.marginals(gibbs)
        asked.marginals(replace(gibbs, method="lmh", clusters=1))
    crowd = [f"P{number}" for number in range(CROWD)]
    program = parse(SMOKERS.replace("A, B, C", ", ".join(crowd)))
    own = "".join(f"{(n + 1) / (CROWD + 1)} Smokes({name})\n" for n, name in enumerate(crowd))
    asked = ground_program(program, parse_database(own, program), opened=["Smokes"])
    asked.marginals(Settings(method="counting"))
    leader = parse(LEADER)
    led = ground_program(leader, parse_database("", leader))
    led.marginals(Settings(method="gibbs", base="counts", samples=2, packs=1))


def _compile_log_weights() -> None:
    """Mix jumps in, and weigh states as a race does that guesses how often jumps succeed."""
    _ask(spins, method="lmh", alpha=0.8)
    _ask(spins, method="lmh", generators=("(s0_0 s0_1)",))
    graph = spins().graph
    log_weight(graph, np.zeros((graph.variables, 1), dtype=np.uint8))


def _compile_slices() -> None:
    _ask(network, method="mcsat")
    _ask(network, method="mcsat", slices="samplesat")


def _compile_lifted() -> None:
    for make in (plain_spins, ring, network):
        _ask(make, method="lifted")


def _jumps(name: str) -> None:
    special = {
        "labels": labels,
        "one-hot": at_most_one,
        "forward draws": coins,
        "matchings": two_by_two,
        "orders": first_and_last,
    }
    _ask(special.get(name, spins), method="lmh", moves=MOVES[name])


QUESTIONS: Mapping[str, Callable[[], None]] = {
    "gibbs": _plain_chains,
    "symmetry": _symmetries,
    "lmh": _compile_log_weights,
    "exact": _compile_elimination,
    "mcsat": _compile_slices,
    "lifted": _compile_lifted,
    "zeros": _starting,
    "best": _best,
    "log-z": _log_z,
    "fringe": _compile_fringe,
    "low-width": _low_width,
    "programs": _programs,
    "relations": _relations,
    "counts": _counts,
    **{name: partial(_jumps, name) for name in MOVES},
}
"""What to ask, by the name of what it compiles."""


def compile_question(name: str) -> tuple[int, float]:
    """Compile what a usual question needs; gives how many functions, and seconds."""
    tiers.compile_everything()
    LOGGER.disabled = True  # whoever asks speaks of it
    functions, seconds = REMARKS.functions, REMARKS.seconds
    QUESTIONS[name]()
    return REMARKS.functions - functions, REMARKS.seconds - seconds
