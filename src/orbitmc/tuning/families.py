"""Families of jumps: what each one is, and for which models it makes sense.

A family is rebuilt from its name, so a recorded choice can be used again without any race.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc import groups, kernels, symmetry
from orbitmc._util.arrays import Bytes, Numbers, lengths
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.graph.ancestral import (
    AncestralNetwork,
    ancestral_acceptance,
    network_of,
    variables_below,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components
from orbitmc.groups.permutation_groups import PermutationGroup, permutation_group
from orbitmc.groups.permutations import Permutation, act, from_images, inverse
from orbitmc.kernels._independence import descent
from orbitmc.kernels._matching import match_table
from orbitmc.kernels._order import draw_order
from orbitmc.kernels.protocol import Kernel
from orbitmc.kernels.relations import ROW_DRAWS
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.symmetry.color_passing import cells
from orbitmc.symmetry.terms import energy_of
from orbitmc.tuning.structure import (
    MOST_SETS,
    exclusive_groups,
    lattice,
    matching_table,
    strong_parts,
    twins,
)

# What a family of jumps is.

T = TypeVar("T")

Propose = Callable[[Bytes, np.random.Generator], Bytes]
"""Propose one jump from the states of some lanes, as a family would."""


@dataclass(frozen=True)
class Family:
    """One kind of jump.

    `build` gives its kernel, or None where it does not apply. A family that `switches` connects
    modes that no local step connects, so it is kept even if a short race cannot show its worth.
    Families that it `replaces` do a part of what it does, so it is tried without them.
    A `guess` proposes such jumps, to tell before anything is compiled how often they will be
    accepted; it is None where the family does not apply.
    """

    words: str
    build: Callable[[Model, PreparedGraph], Kernel | None]
    switches: bool = False
    guess: Callable[[Model], Propose | None] | None = None
    replaces: frozenset[str] = frozenset()


def cache_by_model(find: Callable[[Model], T]) -> Callable[[Model], T]:
    """Find something in a model once, as long as the model is there.

    Several families look for the same things.
    """
    known: dict[int, T] = {}

    @wraps(find)
    def find_once(model: Model) -> T:
        key = id(model)
        if key not in known:
            known[key] = find(model)
            weakref.finalize(model, known.pop, key, None)
        return known[key]

    return find_once


# Jumps that exchange values between variables: groups of exclusive ones.


def one_hot_groups(model: Model, prepared: PreparedGraph) -> Kernel | None:
    exclusive = exclusive_groups(model.graph)
    return kernels.one_hot(prepared, exclusive) if exclusive else None


def group_exchange(model: Model, prepared: PreparedGraph) -> Kernel | None:
    rows = _rows(model)
    return kernels.shuffle(prepared, groups.exchange_blocks(rows), rows=2) if rows else None


def propose_group_exchange(model: Model) -> Propose | None:
    exchange = groups.exchange_blocks(_rows(model))
    if not exchange.blocks:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        matrix = exchange.rows(_block(exchange, rng))
        chosen = rng.permutation(len(matrix))[:2]
        turned = values.copy()
        turned[matrix[chosen]] = values[matrix[rng.permutation(chosen)]]
        return turned

    return propose


@cache_by_model
def _rows(model: Model) -> list[Numbers]:
    """Exclusive groups of one size as the rows of a matrix, a matrix for each size."""
    exclusive = exclusive_groups(model.graph)
    sizes = np.array([len(group) for group in exclusive], dtype=np.int64)
    alike = [[exclusive[k] for k in np.flatnonzero(sizes == size)] for size in np.unique(sizes)]
    return [np.array(rows) for rows in alike if len(rows) > 1]


def _block(exchange: "groups.ExchangeBlocks", rng: np.random.Generator) -> int:
    """The block of a random member."""
    return (
        int(np.searchsorted(exchange.start, rng.integers(len(exchange.member)), side="right")) - 1
    )


# Symmetries of a whole lattice: its reflections and turns.


def reflection_family() -> Family:
    """Reflections of all sites: they lead from one sublattice to the other if sides are even."""
    return Family(
        "the whole lattice is reflected or turned", _build_reflections, True, _guess_reflections
    )


def _build_reflections(model: Model, prepared: PreparedGraph) -> Kernel | None:
    turns = _turns(model)
    if not turns:
        return None
    graph = prepared.graph
    return kernels.orbital(
        graph, permutation_group(graph.variables, turns, cardinality=graph.cardinality)
    )


def _guess_reflections(model: Model) -> Propose | None:
    turns = _turns(model)
    if not turns:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        return act(turns[rng.integers(len(turns))], values)

    return propose


@cache_by_model
def _turns(model: Model) -> list[Permutation]:
    """What carries the lattice of a model to itself; nothing if there is no lattice."""
    sites = lattice(model.graph)
    return (
        []
        if sites is None
        else [from_images(sites.size, sites.ravel(), image.ravel()) for image in _images(sites)]
    )


def _images(sites: Numbers) -> list[Numbers]:
    """A lattice, reflected and turned in all ways that keep its shape."""
    straight = [np.fliplr(sites), np.flipud(sites), np.rot90(sites, 2)]
    square = sites.shape[0] == sites.shape[1]
    return [*straight, *([sites.T, np.rot90(sites, 2).T] if square else [])]


# All variables drawn anew from a directed network.

WORTH_A_DESCENT = 0.2  # of the variables: fewer gain little by it
SELDOM = 0.01  # accepted less often, draws of all variables gain nothing
LEFT_OVER = 0.25  # factors for each variable: more are no evidence, but no network
LANES = 64
SECONDS_PER_VARIABLE = 2e-6  # that looking for a network takes
SECONDS_PER_DRAW = 6e-6  # of a variable in all lanes, twice


def forward_family() -> Family:
    """Draws from the network that a model is; with little evidence they are mostly accepted."""
    words = "all variables are drawn anew from the network and accepted by the evidence"
    return Family(words, _build_forward)


def _build_forward(model: Model, prepared: PreparedGraph) -> Kernel | None:
    network = _network(model)
    if network is None or forward_acceptance(model) < SELDOM:
        return None
    return kernels.independence(prepared, network)


def share_below(model: Model, seconds: float = math.inf) -> float:
    """The share of variables from which no evidence descends; 0 if a model is no network.

    It is 0, too, if there are no `seconds` to find that out.
    """
    if SECONDS_PER_VARIABLE * model.graph.variables > seconds:
        return 0.0
    network = _network(model)
    return 0.0 if network is None else len(variables_below(network)) / model.graph.variables


def descent_family() -> Family:
    """Draws of what no evidence descends from: nothing else needs to know of it."""
    words = "variables that no observed one descends from are drawn anew from the network"
    return Family(words, _build_descent)


def _build_descent(model: Model, prepared: PreparedGraph) -> Kernel | None:
    network = _network(model)
    if network is None or share_below(model) < WORTH_A_DESCENT:
        return None
    return descent(prepared, network)


def forward_acceptance(model: Model, seconds: float = math.inf) -> float:
    """About how often draws from the network are accepted; 0 if a model is no network.

    It is 0, too, if there are no `seconds` to find that out.
    """
    if SECONDS_PER_VARIABLE * model.graph.variables > seconds:
        return 0.0
    network = _network(model)
    late = SECONDS_PER_DRAW * model.graph.variables > seconds
    if network is None or (late and len(network.rest)):
        return 0.0
    return ancestral_acceptance(network, LANES, np.random.default_rng(0))


def is_a_network(model: Model) -> bool:
    """Whether draws from a network are draws from the model: nothing is left over."""
    network = _network(model)
    return network is not None and not len(network.rest)


@cache_by_model
def _network(model: Model) -> AncestralNetwork | None:
    """The network that a model is, if little is left over of it."""
    return network_of(model.graph, max(1.0, LEFT_OVER * model.graph.variables))


# Jumps that exchange values: flips of binary variables, labels that change places.

MOST_LABELS = 12


def flip(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _all_binary(model))


def propose_flip(model: Model) -> Propose | None:
    return _propose_flips(_all_binary(model))


def component_flips(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _components(model))


def propose_component_flips(model: Model) -> Propose | None:
    return _propose_flips(_components(model))


def gauge_flips(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _parts(model))


def propose_gauge_flips(model: Model) -> Propose | None:
    return _propose_flips(_parts(model))


def _all_binary(model: Model) -> list[Numbers]:
    binary = np.flatnonzero(model.graph.cardinality == 2)
    return [binary] if len(binary) > 1 else []


@cache_by_model
def _components(model: Model) -> list[Numbers]:
    """The binary variables of each component, if there are several."""
    part_of = components(model.graph)
    parts = [np.flatnonzero(part_of == part) for part in np.unique(part_of)[:MOST_SETS]]
    sets = [part[model.graph.cardinality[part] == 2] for part in parts]
    return [component for component in sets if len(component) > 1] if len(parts) > 1 else []


@cache_by_model
def _parts(model: Model) -> list[Numbers]:
    return strong_parts(model.graph)


def _flips(model: Model, prepared: PreparedGraph, sets: Sequence[Numbers]) -> Kernel | None:
    return kernels.flips(prepared, sets) if sets else None


def _propose_flips(sets: Sequence[Numbers]) -> Propose | None:
    if not sets:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        turned = values.copy()
        turned[sets[int(rng.integers(len(sets)))]] ^= 1
        return turned

    return propose


def labels(model: Model, prepared: PreparedGraph) -> Kernel | None:
    chosen = _label_pairs(model)
    if not chosen:
        return None
    return kernels.relabelling(
        model.graph, [variables for variables, _ in chosen], [pair for _, pair in chosen]
    )


def propose_labels(model: Model) -> Propose | None:
    chosen = _label_pairs(model)
    if not chosen:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        variables, (first, second) = chosen[rng.integers(len(chosen))]
        names = np.arange(model.graph.cardinality[variables[0]], dtype=np.uint8)
        names[[first, second]] = second, first
        turned = values.copy()
        turned[variables] = names[values[variables]]
        return turned

    return propose


def _label_pairs(model: Model) -> list[tuple[Numbers, tuple[int, int]]]:
    sizes = model.graph.cardinality
    return [
        (np.flatnonzero(sizes == size), pair)
        for size in np.unique(sizes[(sizes > 2) & (sizes <= MOST_LABELS)]).tolist()
        for pair in combinations(range(size), 2)
    ]


# Jumps along symmetries that a model would have with equal fields, or also equal couplings.
#
# Translations and rotations of rings and tori, symmetries of cells, reflections of trees: whatever
# refinement and a short search find. Only generators are used: what the whole group connects they
# connect too. Those that states of the model hardly ever accept are left out. All of this depends
# on the model alone, never on the clock, so that the jumps can be found again.

MOST_VARIABLES = 512  # beyond, looking for symmetries takes too much of a race
MOST_PAIRS = 2048
MOST_GENERATORS = 64
MOST_SPREAD = 0.5  # of couplings; beyond, their mean looks like none of them
SWAP = 2  # variables; exchanging two has families of its own
GENERATOR_MIN_ACCEPTANCE = 1e-2  # accepted less often, a generator is no use
GENERATOR_LANES, SWEEPS, SEED = 32, 32, 1  # of the states that show it


def generator_family() -> Family:
    """Jumps by symmetries of the whole structure: they lead from mode to mode."""
    words = "variables move along a symmetry that fields and couplings nearly have"
    return Family(words, _build_generators, True, _guess_generators)


def _build_generators(model: Model, prepared: PreparedGraph) -> Kernel | None:
    group = _generators(model)
    return None if group is None else kernels.orbital(model.graph, group)


def _guess_generators(model: Model) -> Propose | None:
    group = _generators(model)
    if group is None:
        return None
    elements = group.generators()

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        element = elements[rng.integers(len(elements))]
        back = rng.random(values.shape[1]) < 0.5
        return np.where(back, act(inverse(element), values), act(element, values))

    return propose


@cache_by_model
def _generators(model: Model) -> PermutationGroup | None:
    """Generators of nearly a symmetry that are not hopeless, unless other families know them."""
    graph = model.graph
    if not _is_small_and_pairwise(graph) or lattice(graph) is not None:
        return None
    elements = next(filter(None, map(_symmetries, _approximations(model))), [])
    if not 0 < len(elements) <= MOST_GENERATORS:
        return None
    accepted = _acceptance(graph, elements)
    useful = [
        element
        for element, often in zip(elements, accepted, strict=True)
        if often >= GENERATOR_MIN_ACCEPTANCE
    ]
    return permutation_group(graph.variables, useful) if useful else None


def _is_small_and_pairwise(graph: FactorGraph) -> bool:
    arity = lengths(graph.scope_start)
    small = graph.variables <= MOST_VARIABLES and (arity == 2).sum() <= MOST_PAIRS
    return bool(small and arity.max(initial=0) == 2)


def _approximations(model: Model) -> Iterator[Model]:
    """The bare structure; then with all couplings equal, if they nearly are."""
    bare = symmetry.without_fields(model)
    yield bare
    if 0.0 < _relative_spread(bare) <= MOST_SPREAD:
        yield symmetry.one_coupling(bare)


def _relative_spread(model: Model) -> float:
    """How far couplings are from their mean: 0 if they are equal, 1 if their mean is nothing."""
    couplings = [terms.tables for terms in energy_of(model.graph).terms if terms.is_coupling]
    away = [np.linalg.norm(some - some.mean(axis=0)) / np.linalg.norm(some) for some in couplings]
    return float(max(away, default=0.0))


def _symmetries(model: Model) -> list[Permutation]:
    """Generators of all symmetries, swaps aside; none if they are hard to find.

    Without any seconds a search does a fixed amount of work. Where only twins look alike there are
    swaps alone, and nothing is compiled to see it.
    """
    alone = model.graph.variables - sum(len(block) - 1 for block in twins(model.graph))
    if len(np.unique(cells(model))) == alone:
        return []
    report = symmetry.automorphisms(model.graph, seconds=0.0)
    every = report.group.generators() if report.complete else ()
    return [element for element in every if len(element.point) > SWAP]


def _acceptance(graph: FactorGraph, elements: list[Permutation]) -> list[float]:
    """How often each is accepted by states of a short run, always the same, that it changes."""
    prepared, kernel = prepare(graph), kernels.SystematicScan()
    pack = start_pack(prepared, kernel, seed=SEED, number=0, lanes=GENERATOR_LANES)
    walk(prepared, kernel, pack, SWEEPS * graph.variables)
    graph = graph._replace(constant=0.0)  # beside a large one differences are lost
    before = log_weight(graph, pack.values)
    acceptance = []
    for element in elements:
        after = act(element, pack.values)
        real = (after != pack.values).any(axis=0)
        change = log_weight(graph, after)[real] - before[real]
        acceptance.append(np.exp(np.minimum(change, 0.0)).sum() / max(1, real.sum()))
    return acceptance


def _clusters(model: Model, prepared: PreparedGraph) -> Kernel | None:
    known = prepared.conditionals
    pairwise = model.graph.variables and known.affine.all() and len(known.neighbour)
    return kernels.clusters(prepared) if pairwise else None


@cache_by_model
def find_matching(model: Model) -> NDArray[np.int32] | None:
    """Variables as a table of rows and columns, if they are a matching; None elsewhere."""
    return matching_table(model.graph)


def matched_rows(model: Model, prepared: PreparedGraph) -> Kernel | None:
    """Rows of a matching, each some times, in one jump."""
    table = find_matching(model)
    return None if table is None else match_table(model.graph, table, ROW_DRAWS * len(table))


def ordered_items(model: Model, prepared: PreparedGraph) -> Kernel | None:
    """As many items of an order as there are, in one jump; one of several orders at random."""
    jump: Kernel | None = None
    for number, order in enumerate(model.orders):
        more = draw_order(model.graph, order)
        jump = more if jump is None else kernels.mixture(jump, more, weight=number / (number + 1))
    return jump


FORWARD, DESCENT, MATCHING, ORDER = "forward draws", "descents", "matchings", "orders"

FAMILIES: Mapping[str, Family] = {
    FORWARD: forward_family(),
    DESCENT: descent_family(),
    "flip": Family("all binary variables change their values at once", flip, True, propose_flip),
    "component flips": Family(
        "all binary variables of one component change at once",
        component_flips,
        True,
        propose_component_flips,
    ),
    "gauge flips": Family(
        "a part of strongly coupled variables changes at once",
        gauge_flips,
        True,
        propose_gauge_flips,
    ),
    "labels": Family("two labels are exchanged everywhere", labels, True, propose_labels),
    "reflections": reflection_family(),
    "generators": generator_family(),
    "one-hot": Family("of mutually exclusive variables, another one becomes 1", one_hot_groups),
    "group exchange": Family(
        "two groups of mutually exclusive variables exchange their values",
        group_exchange,
        guess=propose_group_exchange,
    ),
    MATCHING: Family(
        "rows of a matching take free columns, or exchange those that they have", matched_rows
    ),
    ORDER: Family("items come back at other places of an order", ordered_items),
    "clusters": Family(
        "clusters of agreeing variables change at once",
        _clusters,
        replaces=frozenset({"flip", "component flips", "gauge flips"}),
    ),
}
"""All of them, by name, in the order of their usual worth."""
