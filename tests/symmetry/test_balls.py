import numpy as np
import pytest

from orbitmc.models._ising import ising
from orbitmc.symmetry._automorphisms import automorphisms, orbit_cells
from orbitmc.symmetry.encoding import variable_graph
from orbitmc.symmetry.refinement import ball_cells, equitable_cells
from orbitmc.symmetry.terms import energy_form
from tests.oracle.symmetries import same_partition
from tests.symmetry.models import patterned, regular_edges, renamed


def cells_of(graph, reach):
    drawn = variable_graph(energy_form(graph))
    return ball_cells(drawn, equitable_cells(drawn), reach=reach)[: drawn.points]


def test_balls_tell_a_hexagon_from_triangles():
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    triangles = [(6, 7), (7, 8), (8, 6), (9, 10), (10, 11), (11, 9)]
    graph = ising(np.zeros(12), np.array(ring + triangles), 0.3).graph
    assert same_partition(cells_of(graph, reach=100), [0] * 6 + [1] * 6)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("reach", [1, 5, 1000])
def test_symmetric_points_have_the_same_balls(seed, reach):
    graph = patterned(seed, clauses=True, most=6)
    cells = cells_of(graph, reach)
    for orbit in automorphisms(graph).orbits:
        assert len(set(cells[orbit].tolist())) == 1


@pytest.mark.parametrize("seed", range(10))
def test_balls_do_not_care_about_names(seed):
    graph = ising(np.zeros(60), regular_edges(60, 4, seed), 0.3).graph
    image = np.random.default_rng(seed).permutation(60)
    assert same_partition(cells_of(graph, 200), cells_of(renamed(graph, image), 200)[image])


def test_only_the_global_flip_is_left_of_a_random_regular_graph():
    graph = ising(np.zeros(3000), regular_edges(3000, 4, 2), 0.3).graph
    report = automorphisms(graph, values=True, seconds=60.0)
    assert report.order == 2
    assert orbit_cells(report.group).max() == -1
