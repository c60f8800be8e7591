"""Jumps along symmetries that a model would have with equal fields, or also equal couplings.

Translations and rotations of rings and tori, symmetries of cells, reflections of trees: whatever
refinement and a short search find. Only generators are used: what the whole group connects they
connect too. Those that states of the model hardly ever accept are left out. All of this depends on
the model alone, never on the clock, so that the jumps can be found again.
"""

from collections.abc import Iterator

import numpy as np

from orbitmc._util.arrays import Bytes, lengths
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.groups.permutation_groups import PermutationGroup, permutation_group
from orbitmc.groups.permutations import Permutation, act, inverse
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels._orbital import orbital
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.symmetry._automorphisms import automorphisms
from orbitmc.symmetry.approximations import energy_of, one_coupling, without_fields
from orbitmc.symmetry.color_passing import cells
from orbitmc.tuning.families.family import Family, Propose, remembered
from orbitmc.tuning.structure.lattice import lattice
from orbitmc.tuning.structure.twins import twins

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
    return None if group is None else orbital(model.graph, group)


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


@remembered
def _generators(model: Model) -> PermutationGroup | None:
    """Generators of nearly a symmetry that are not hopeless, unless other families know them."""
    graph = model.graph
    if not _is_small_and_pairwise(graph) or lattice(graph) is not None:
        return None
    found = next(filter(None, map(_symmetries, _approximations(model))), [])
    if not 0 < len(found) <= MOST_GENERATORS:
        return None
    accepted = _acceptance(graph, found)
    kept = [
        one for one, often in zip(found, accepted, strict=True) if often >= GENERATOR_MIN_ACCEPTANCE
    ]
    return permutation_group(graph.variables, kept) if kept else None


def _is_small_and_pairwise(graph: FactorGraph) -> bool:
    arity = lengths(graph.scope_start)
    small = graph.variables <= MOST_VARIABLES and (arity == 2).sum() <= MOST_PAIRS
    return bool(small and arity.max(initial=0) == 2)


def _approximations(model: Model) -> Iterator[Model]:
    """The bare structure; then with all couplings equal, if they nearly are."""
    bare = without_fields(model)
    yield bare
    if 0.0 < _spread(bare) <= MOST_SPREAD:
        yield one_coupling(bare)


def _spread(model: Model) -> float:
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
    report = automorphisms(model.graph, seconds=0.0)
    every = report.group.generators() if report.complete else ()
    return [element for element in every if len(element.point) > SWAP]


def _acceptance(graph: FactorGraph, elements: list[Permutation]) -> list[float]:
    """How often each is accepted by states of a short run, always the same, that it changes."""
    prepared, kernel = prepare(graph), SystematicScan()
    pack = start_pack(prepared, kernel, seed=SEED, number=0, lanes=GENERATOR_LANES)
    walk(prepared, kernel, pack, SWEEPS * graph.variables)
    graph = graph._replace(constant=0.0)  # beside a large one differences are lost
    before = log_weight(graph, pack.values)
    found = []
    for element in elements:
        after = act(element, pack.values)
        real = (after != pack.values).any(axis=0)
        change = log_weight(graph, after)[real] - before[real]
        found.append(np.exp(np.minimum(change, 0.0)).sum() / max(1, real.sum()))
    return found
