"""BLISS finds the same symmetries as our own search."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from orbitmc.models._chimera import chimera
from orbitmc.symmetry._automorphisms import PointMoves, automorphisms, value_group, variable_group
from orbitmc.symmetry.encoding import value_graph, variable_graph
from orbitmc.symmetry.refinement import equitable_cells
from orbitmc.symmetry.terms import energy_form
from tests.groups.group_questions import same_group
from tests.oracle.schreier_sims import StabilizerChain
from tests.symmetry.models import patterned

pytest.importorskip("igraph")


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    bliss = importlib.import_module("bliss")

    def ask(graph, *, values=False):
        form = energy_form(graph)
        drawn = value_graph(form) if values else variable_graph(form)
        _, generators = bliss.bliss_generators(drawn, equitable_cells(drawn))
        convert = value_group if values else variable_group
        return convert(form.cardinality, point_moves(generators, drawn.points))

    return ask


def point_moves(generators, points):
    """What generators do to the points; vertices for labels come after them."""
    moves = [[(p, image[p]) for p in range(points) if image[p] != p] for image in generators]
    start = np.concatenate([[0], np.cumsum([len(one) for one in moves])]).astype(np.int64)
    every = np.array([pair for one in moves for pair in one], dtype=np.int64).reshape(-1, 2)
    return PointMoves(start, every[:, 0], every[:, 1])


@pytest.mark.parametrize("seed", range(24))
def test_bliss_and_our_search_find_the_same_group(seed, asked):
    values = seed % 2 == 0
    graph = patterned(seed, clauses=seed % 3 == 0, zeros=seed % 4 == 0)
    own = automorphisms(graph, values=values)
    assert same_group(own.group, asked(graph, values=values))


def test_both_find_the_group_of_chimera(asked):
    graph = chimera(3, 3, 0.3).graph
    own = automorphisms(graph)
    assert StabilizerChain(own.group).order == own.order == 8 * 24**6
    assert StabilizerChain(asked(graph)).order == own.order
