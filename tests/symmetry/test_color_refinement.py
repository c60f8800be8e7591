import numpy as np
import pytest

from orbitmc.models._ising import ising
from orbitmc.symmetry.encoding import GraphEncoder, variable_graph
from orbitmc.symmetry.refinement import equitable_cells, memory, refine_colors
from orbitmc.symmetry.terms import energy_form
from tests.oracle.symmetries import naive_cells, same_partition


def random_drawing(seed, *, points=14, colors=2, labels=3, factors=4):
    """A random graph with labels that depend on the direction, and some factors."""
    rng = np.random.default_rng(seed)
    drawing = GraphEncoder(rng.integers(0, colors, size=points))
    one, other = np.triu_indices(points, 1)
    chosen = rng.random(len(one)) < rng.choice([0.1, 0.2, 0.5])
    back = rng.permutation(labels) if seed % 2 else np.arange(labels)
    label = rng.integers(0, labels, size=int(chosen.sum()))
    drawing.join(one[chosen], other[chosen], label, back[label])
    members = np.array([rng.choice(points, 3, replace=False) for _ in range(factors)])
    drawing.add_factors(
        np.zeros(factors, dtype=np.int64), members, np.tile([0, 0, 1], (factors, 1))
    )
    return drawing.build()


def relabelled(graph, image):
    """The same graph with vertex v called image[v] (points among points)."""
    drawing = GraphEncoder(np.zeros(graph.vertices, dtype=np.int64))
    tail = np.repeat(np.arange(graph.vertices), np.diff(graph.start))
    forth = tail < graph.neighbor
    head = graph.neighbor[forth].astype(np.int64)
    reverse = np.lexsort((tail, graph.neighbor))
    drawing.join(
        image[tail[forth]],
        image[head],
        graph.label[forth].astype(np.int64),
        graph.label[reverse][forth].astype(np.int64),
    )
    color = np.empty(graph.vertices, dtype=np.int64)
    color[image] = graph.color
    return drawing.build()._replace(points=graph.points, color=color)


@pytest.mark.parametrize("seed", range(40))
def test_cells_are_those_of_the_naive_way(seed):
    graph = random_drawing(seed)
    assert same_partition(equitable_cells(graph), naive_cells(graph, graph.color))


@pytest.mark.parametrize("seed", range(12))
def test_cells_are_equitable_and_refining_them_again_changes_nothing(seed):
    graph = random_drawing(seed, points=30)
    cells = equitable_cells(graph)
    seen = {}
    for vertex in range(graph.vertices):
        arcs = slice(graph.start[vertex], graph.start[vertex + 1])
        around = sorted(zip(graph.label[arcs], cells[graph.neighbor[arcs]], strict=True))
        assert seen.setdefault(cells[vertex], around) == around
    assert np.array_equal(equitable_cells(graph, cells), cells)


@pytest.mark.parametrize("seed", range(12))
def test_refining_does_not_care_about_names(seed):
    graph = random_drawing(seed)
    rng = np.random.default_rng(seed)
    image = np.concatenate(
        [
            rng.permutation(graph.points),
            graph.points + rng.permutation(graph.vertices - graph.points),
        ]
    )
    cells = equitable_cells(relabelled(graph, image))
    assert same_partition(equitable_cells(graph), cells[image])


def test_refinement_cannot_tell_a_hexagon_from_triangles():
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    triangles = [(6, 7), (7, 8), (8, 6), (9, 10), (10, 11), (11, 9)]
    graph = ising(np.zeros(12), np.array(ring + triangles), 0.3).graph
    drawn = variable_graph(energy_form(graph))
    assert equitable_cells(drawn)[: drawn.points].max() == 0


def test_the_work_grows_like_arcs_times_a_logarithm():
    """A path is the worst case of refining naively: its ends creep in one step at a time."""
    work = []
    for count in (1_000, 4_000, 16_000, 64_000):
        drawing = GraphEncoder(np.zeros(count, dtype=np.int64))
        line = np.arange(count - 1)
        drawing.join(line, line + 1, np.zeros_like(line), np.zeros_like(line))
        graph, own = drawing.build(), memory(count)
        refine_colors(graph, graph.color, own)
        work.append(own.work[0] / (graph.arcs * np.log2(count)))
    assert max(work) < 3.0


@pytest.mark.slow
def test_a_million_edges_take_seconds():
    rng = np.random.default_rng(0)
    count = 200_000
    drawing = GraphEncoder(rng.integers(0, 3, size=count))
    ends = np.unique(np.sort(rng.integers(0, count, size=(1_000_000, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    drawing.join(ends[:, 0], ends[:, 1], ends[:, 0] * 0, ends[:, 0] * 0)
    graph = drawing.build()
    assert equitable_cells(graph).max() > 190_000
