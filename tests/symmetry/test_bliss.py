import numpy as np
import pytest

from orbitmc.groups.elements.decomposition import group_order
from orbitmc.models.chimera_models import chimera
from orbitmc.models.ising_models import ising
from orbitmc.symmetry.detection import automorphisms as room
from orbitmc.symmetry.detection.automorphisms import automorphisms
from orbitmc.symmetry.detection.bliss import bliss_moves
from orbitmc.symmetry.detection.encoding.encoding import value_graph, variable_graph
from orbitmc.symmetry.detection.encoding.energy_form import energy_form
from orbitmc.symmetry.detection.generators import value_group, variable_group
from orbitmc.symmetry.detection.search.refinement import equitable_cells
from tests.groups.group_questions import same_group
from tests.symmetry.models import patterned, regular_edges

pytest.importorskip("igraph")


def asked(graph, *, values=False, seconds=60.0, memory=4_000_000_000):
    form = energy_form(graph)
    drawn = value_graph(form) if values else variable_graph(form)
    moves = bliss_moves(drawn, equitable_cells(drawn), seconds=seconds, memory=memory)
    convert = value_group if values else variable_group
    return None if moves is None else convert(form.cardinality, moves)


@pytest.mark.parametrize("seed", range(24))
def test_bliss_and_our_search_find_the_same_group(seed):
    values = seed % 2 == 0
    graph = patterned(seed, clauses=seed % 3 == 0, zeros=seed % 4 == 0)
    own = automorphisms(graph, values=values, bliss=False)
    assert same_group(own.group, asked(graph, values=values))


def test_both_find_the_group_of_chimera():
    graph = chimera(3, 3, 0.3).graph
    own = automorphisms(graph, bliss=False)
    assert group_order(own.group) == own.order == 8 * 24**6
    assert group_order(asked(graph)) == own.order


def test_bliss_gets_what_our_search_leaves(monkeypatch):
    monkeypatch.setattr(room, "OWN_SHARE", 0.0)
    monkeypatch.setattr(room, "SLICE", 0)
    graph = chimera(4, 4, 0.3).graph
    report = automorphisms(graph, seconds=60.0)
    assert report.complete
    assert report.how == "BLISS"
    assert group_order(report.group) == 8 * 24**8


@pytest.mark.parametrize("seconds", [0.01, 1.0])  # before it has read the question, and after
def test_bliss_is_stopped_by_the_clock(seconds):
    graph = ising(np.zeros(20_000), regular_edges(20_000, 4, 1), 0.3).graph
    assert asked(graph, seconds=seconds) is None


def test_bliss_is_stopped_by_its_memory():
    assert asked(chimera(8, 8, 0.3).graph, memory=1_000_000) is None
