"""Ask BLISS, through igraph, in a child process that may run out of time or memory.

igraph is optional (and GPL). The child gets arrays through a pipe and sends arrays back; it runs
a script of its own and nothing that was read from a file.
"""

import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from orbitmc.machine.arrays import Numbers
from orbitmc.symmetry.detection.encoding.colored_graph import (
    ColoredGraph,
    is_symmetric_label,
    tails,
)
from orbitmc.symmetry.detection.generators import PointMoves

CHILD = Path(__file__).with_name("bliss_child.py")


def bliss_is_installed() -> bool:
    return importlib.util.find_spec("igraph") is not None


def bliss_moves(
    graph: ColoredGraph, cells: Numbers, *, seconds: float, memory: int
) -> PointMoves | None:
    """Generators of all automorphisms that respect the cells; None if a limit was reached.

    Vertices alone in their cell are left out: the cells must be equitable.
    """
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    kept = counts[which] > 1
    edges, colors = plain_graph(graph, cells, kept)
    answer = _ask(edges, colors, seconds=seconds, memory=memory)
    if answer is None:
        return None
    start, point, image = answer
    names = np.flatnonzero(kept)
    is_point = np.concatenate([names < graph.points, np.zeros(len(colors) - len(names), bool)])
    wanted = is_point[point]
    generator = np.repeat(np.arange(len(start) - 1), np.diff(start))
    counts = np.bincount(generator[wanted], minlength=len(start) - 1)
    return PointMoves(
        np.concatenate([[0], np.cumsum(counts)]), names[point[wanted]], names[image[wanted]]
    )


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


def _ask(edges: Numbers, colors: Numbers, *, seconds: float, memory: int) -> list[Numbers] | None:
    question = io.BytesIO()
    for array in (np.array([memory, max(int(seconds) + 1, 1)]), edges, colors):
        np.save(question, array, allow_pickle=False)
    try:
        child = subprocess.run(
            [sys.executable, str(CHILD)],
            input=question.getvalue(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if child.returncode != 0:
        return None
    received = io.BytesIO(child.stdout)
    return [np.load(received, allow_pickle=False) for _ in range(3)]
