"""Every kernel of the package on a graph, as exact as it was before rounding."""

import numpy as np
import pytest

from orbitmc._util.arrays import indices, readonly, starts
from orbitmc.conditionals.classify import FACTORS, FIELD
from orbitmc.conditionals.layout import LONG_CLAUSE, factor_groups
from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.graph.ancestral import network_of
from orbitmc.groups._exchange_blocks import ConstantSwaps, exchange_blocks
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.permutations import from_images
from orbitmc.kernels import _one_hot as one_hot_module
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._clusters import clusters
from orbitmc.kernels._flips import flips
from orbitmc.kernels._gibbs import PartialScan, RandomScan, SystematicScan
from orbitmc.kernels._independence import descent, independence
from orbitmc.kernels._mixture import lifted, mixture
from orbitmc.kernels._one_hot import one_hot
from orbitmc.kernels._orbital import orbital, orbital_by_product_replacement
from orbitmc.kernels._partition import partition
from orbitmc.kernels._relabelling import relabelling
from orbitmc.kernels._split_merge import split_merge
from orbitmc.kernels._tempering import tempering
from orbitmc.kernels.block_gibbs.kernel import chosen_blocks, low_width
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.mcsat.kernel import mc_sat
from orbitmc.kernels.mcsat.walks import WithinSlice
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.renaming import renaming
from orbitmc.kernels.testing.exact import one_step

LARGEST_CLUSTER = 3  # bonds branch too much beyond


def prepared_on(graph):
    """A graph with its conditionals stored in every way that suits all its variables."""
    usual = prepare_unrounded(graph)
    ways = {"usual": usual, "factors": on_path(usual, usual.conditionals.path >= 0, FACTORS)}
    if usual.graph.first_clause < usual.graph.factors:
        ways["counted clauses"] = on_path(usual, usual.conditionals.path >= 0, FACTORS, long=2)
    if usual.conditionals.affine.any():
        ways["fields"] = on_path(usual, usual.conditionals.affine != 0, FIELD)
    return ways


def on_path(prepared, chosen, path, long=LONG_CLAUSE):
    """Send variables another way; literals of clauses that are `long` are counted."""
    paths = np.where(chosen, path, prepared.conditionals.path).astype(np.uint8)
    groups = factor_groups(prepared.graph, paths, long=long)
    changed = prepared.conditionals._replace(path=readonly(paths), groups=groups)
    return prepared._replace(conditionals=changed)


def kernels_on(graph):
    """One step of each kernel that leaves the distribution of the graph unchanged, by name."""
    kernels = {kernel.__name__: kernel() for kernel in (RandomScan, SystematicScan)}
    kernels["PartialScan"] = PartialScan(indices(np.arange(graph.variables)[-1:]))
    return _in_every_way(graph, lambda prepared: kernels)


def orbital_kernels_on(graph):
    """One step of orbital kernels along groups that have nothing to do with the graph."""
    return _in_every_way(graph, _orbital)


def _in_every_way(graph, kernels_of):
    return {
        f"{name} with {way}": one_step(prepared, kernel)
        for way, prepared in prepared_on(graph).items()
        for name, kernel in kernels_of(prepared).items()
    }


def _orbital(prepared):
    graph = prepared.graph
    alike = [np.flatnonzero(graph.cardinality == size) for size in np.unique(graph.cardinality)]
    alike = [members for members in alike if len(members) >= 2]
    if not alike:
        return {}
    blocks = exchange_blocks(alike)
    group = wrong_group(graph)
    base = RandomScan()
    swaps = shuffle(prepared, blocks, rows=2)
    jumps = orbital(graph, group)
    each = {f"shuffle, block {k}": shuffle(prepared, exchange_blocks(alike[k:] + alike[:k]))
            for k in range(len(alike))}  # fmt: skip
    kernels = each | {
        "shuffle of two": swaps,
        "orbital": jumps,
        "drawn": orbital_by_product_replacement(
            graph, group, slots=max(2, len(group.generators()))
        ),
        "renaming": renaming(graph, swaps_on(graph)),
        "lifted": lifted(base, [jumps, swaps], alpha=0.7, weights=[1, 3]),
    }
    if len(alike[0]) >= 4:
        wide = exchange_blocks([alike[0][:4].reshape(2, 2)])
        kernels["swap of rows"] = shuffle(prepared, wide)
    return kernels


def slice_kernels_on(graph):
    """MC-SAT with either exact way to draw a slice, and as base of lifted chains."""
    counting = mc_sat(graph)
    return {
        "counting": counting,
        "walking": mc_sat(graph, most_nodes=0, large=WithinSlice(1)),
        "counting a little": mc_sat(graph, most_nodes=7, large=WithinSlice(1)),
        "lifted": lifted(counting, [orbital(graph, wrong_group(graph))], alpha=0.6),
    }


def block_kernels_on(graph):
    """One draw of each block of low width, for tables of several sizes, and a lifted chain."""
    prepared, found = prepare_unrounded(graph), {}
    for most in (1, 6, 16, 1024):
        kernel = low_width(graph, most_entries=most)
        for block in range(kernel.plans.total):
            found[f"block {block} of {most} entries"] = one_block(prepared, kernel, block)
    ends = [(0, graph.variables - 1), tuple(range(graph.variables))[::-1], (1,)]
    chosen = chosen_blocks(graph, ends, most_entries=16)
    for block in range(chosen.blocks):
        found[f"chosen block {block}"] = one_block(prepared, chosen, block)
    jumps = orbital(graph, wrong_group(graph))
    found["lifted"] = one_step(prepared, lifted(kernel, [jumps], alpha=0.6))
    return found


def one_block(prepared, kernel, block):
    """One draw of a block whose turn it is."""

    def run(values, rng):
        memory = kernel.memory(prepared, 1)
        memory.turn[0] = block
        steps(prepared, kernel, memory, values, np.zeros(2, dtype=np.int64), rng, 1)

    return run


def wrong_group(graph):
    """A cycle over all variables of one size, and value maps on the way."""
    generators = []
    for size in np.unique(graph.cardinality):
        members = np.flatnonzero(graph.cardinality == size)
        image = np.arange(graph.variables)
        image[members] = np.roll(members, 1)
        turned = [np.roll(np.arange(k), 1 if k == size else 0) for k in graph.cardinality]
        kept = [np.arange(k) for k in graph.cardinality]
        points = np.arange(graph.variables)
        generators.append(from_images(graph.variables, points, image, kept))
        generators.append(from_images(graph.variables, points, image, turned))
    return permutation_group(graph.variables, generators)


def moves_on(graph):
    """One step of kernels that move many variables at once, chosen without regard to the graph."""
    return _in_every_way(graph, _moves)


def _moves(prepared):
    graph = prepared.graph
    found = _moves_of_binary(prepared) | _moves_of_any(graph)
    if prepared.conditionals.affine.all() and graph.variables <= LARGEST_CLUSTER:
        found["clusters"] = clusters(prepared)
    return found


def every_kernel_on(prepared):
    """Each kernel of the package that suits a graph, as it is built for runs, by name."""
    graph = prepared.graph
    some = PartialScan(indices(np.arange(graph.variables)[::-2]))
    found = {"random scan": RandomScan(), "systematic scan": SystematicScan(), "some": some}
    found |= _orbital(prepared) | _moves(prepared)
    found |= {f"MC-SAT {name}": kernel for name, kernel in slice_kernels_on(graph).items()}
    found |= {f"blocks of {most}": low_width(graph, most_entries=most) for most in (6, 1024)}
    found["tempering"] = tempering(prepared, [1.0, 0.6, 0.3])
    if prepared.conditionals.affine.all():
        found["clusters"] = clusters(prepared)
    if (network := network_of(graph)) is not None:
        found |= {"independence": independence(prepared), "descent": descent(prepared, network)}
    return found


def combinations_on(prepared):
    """Mixtures and alternations of all kernels on a graph, and of such combinations."""
    kernels = every_kernel_on(prepared)
    tempered, blocks = kernels["tempering"], kernels["blocks of 6"]
    found = {}
    for place, (name, kernel) in enumerate(kernels.items()):
        base = (SystematicScan(), tempered, blocks)[place % 3]
        found[f"mixture with {name}"] = mixture(base, kernel, weight=0.6)
        found[f"alternation with {name}"] = alternation(base, kernel, period=3 + place % 4)
    jumps = kernels["relabelling"]
    inner = alternation(tempered, jumps, period=5)
    found["alternation in a mixture"] = mixture(inner, kernels["random scan"], weight=0.7)
    found["mixture in an alternation"] = alternation(
        mixture(tempered, jumps, weight=0.5), inner, period=2
    )
    return found


def _moves_of_binary(prepared):
    graph = prepared.graph
    binary = np.flatnonzero(graph.cardinality == 2)
    if len(binary) < 2:
        return {}
    items = partition(prepared, {(0, 1): binary[0], (1, 2): binary[1]}, {(0, 2): False})
    return {
        "flip of all": flips(prepared),
        "flips of sets": flips(prepared, [binary[:1], binary[1:], binary[::2]]),
        "one-hot group": one_hot(prepared, [binary]),
        "one-hot groups": one_hot(prepared, [binary[:1], binary[:0:-1]]),
        "one-hot without tables": without_tables(prepared, [binary[1:], binary[:1]]),
        "partition": items,
        "split and merge": split_merge(items),
    }


def alternation_on(graph, *, period):
    """A base chain and a jump, and the two in turns."""
    base, jump = RandomScan(), relabelling(graph, [np.arange(graph.variables)], [(0, 1)])
    return base, jump, alternation(base, jump, period=period)


def without_tables(prepared, groups):
    """One-hot groups as if too many variables surrounded each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_hot_module, "fits", lambda *arguments: False)
        return one_hot(prepared, groups)


def _moves_of_any(graph):
    every = np.arange(graph.variables)
    sets, labels = [every, every[1::2]], [(0, 1), (1, 0)]
    largest = np.flatnonzero(graph.cardinality == graph.cardinality.max())
    last = int(graph.cardinality.max()) - 1
    return {
        "relabelling": relabelling(graph, sets[: graph.variables], labels[: graph.variables]),
        "relabelling of last": relabelling(graph, [largest], [(0, last)]),
    }


def swaps_on(graph):
    """Three constants; variables of one size are pairs of them, in order, as far as they go."""
    sizes, family = np.unique(graph.cardinality, return_inverse=True)
    code = np.array([np.sum(family[:k] == family[k]) for k in range(graph.variables)])
    order = np.lexsort((code, family))
    speaks = [np.flatnonzero((code // 3 == c) | (code % 3 == c)) for c in range(3)]
    return ConstantSwaps(
        start=indices([0, 3]),
        member=indices([2, 0, 1]),
        class_of=indices([0, 0, 0]),
        digit=readonly(np.arange(3)),
        kind=indices([0, 0, 0]),
        mention_start=starts(np.array([len(some) for some in speaks])),
        mention=indices(np.concatenate(speaks)),
        family=indices(family),
        code=readonly(code),
        place_start=indices(2 * np.arange(len(sizes) + 1)),
        place_kind=indices(np.zeros(2 * len(sizes))),
        radix=readonly(np.tile([3, 1], len(sizes))),
        size=readonly(np.full(2 * len(sizes), 3)),
        code_start=starts(np.bincount(family)),
        known_code=readonly(code[order]),
        owner=indices(order),
        truth=readonly(np.zeros(0, dtype=np.uint8)),
    )
