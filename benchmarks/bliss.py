"""Coloured graphs without labels of edges, as BLISS takes them, through igraph."""

import igraph
import numpy as np

from orbitmc._util.arrays import Numbers
from orbitmc.symmetry.encoding import ColoredGraph, is_symmetric_label, tails


def bliss_generators(graph: ColoredGraph, cells: Numbers) -> tuple[int, list[list[int]]]:
    """How many vertices the plain graph has, and images of all of them, for each generator."""
    edges, colors = plain_graph(graph, cells, np.ones(graph.vertices, dtype=bool))
    _, color = np.unique(colors, return_inverse=True)
    plain = igraph.Graph(n=len(colors), edges=edges, directed=False)
    return len(colors), plain.automorphism_group(color=color.tolist())


def plain_graph(graph: ColoredGraph, cells: Numbers, kept: np.ndarray) -> tuple[Numbers, Numbers]:
    """The part on kept vertices without labels: edges, and a colour per vertex.

    Edges with the most frequent symmetric label stay; others get a vertex in the middle, or two
    when the label depends on the direction.
    """
    tail, number = tails(graph), np.cumsum(kept) - 1
    inside = kept[tail] & kept[graph.neighbor]
    forth = inside & (tail < graph.neighbor)
    plain = _plain_label(graph, forth)
    direct = forth & (graph.label == plain)
    symmetric = is_symmetric_label(graph)[graph.label]
    middle = np.flatnonzero(forth & ~direct & symmetric)
    # of a directed edge, each end gets a vertex for the label that it sees
    one_way = np.flatnonzero(inside & ~symmetric)
    vertices = int(kept.sum())
    middles = vertices + np.arange(len(middle))
    halves = vertices + len(middle) + np.arange(len(one_way))
    there = _reverse_among(tail[one_way], graph.neighbor[one_way])
    crossing = tail[one_way] < graph.neighbor[one_way]
    edges = np.concatenate(
        [
            np.stack([number[tail[direct]], number[graph.neighbor[direct]]], axis=1),
            np.stack([number[tail[middle]], middles], axis=1),
            np.stack([number[graph.neighbor[middle]], middles], axis=1),
            np.stack([number[tail[one_way]], halves], axis=1),
            np.stack([halves[crossing], halves[there][crossing]], axis=1),
        ]
    )
    offset = int(cells.max(initial=0)) + 1
    labels = graph.label[np.concatenate([middle, one_way])].astype(np.int64)
    return edges, np.concatenate([cells[kept], offset + labels])


def _plain_label(graph: ColoredGraph, forth: np.ndarray) -> int:
    counts = np.bincount(graph.label[forth], minlength=1)
    symmetric = is_symmetric_label(graph)[: len(counts)]
    counts[: len(symmetric)][~symmetric] = 0
    return int(counts.argmax()) if counts.any() else -1


def _reverse_among(tail: Numbers, head: np.ndarray) -> Numbers:
    """Where the reverse of each arc stands in a list that has both directions of all its arcs."""
    forth, back = np.lexsort((head, tail)), np.lexsort((tail, head))
    reverse = np.empty(len(tail), dtype=np.int64)
    reverse[forth] = back
    return reverse
