"""Boxes of a network stand in layers: arrows point down, and nothing lies upon anything else."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orbitmc as om
from orbitmc.explorer.layout import (
    WIDTH,
    assign_layers,
    find_lattice,
    keep_apart,
    place_apart,
    place_in_layers,
)
from orbitmc.explorer.scene import Drawing
from orbitmc.report.svg import find_edges
from tests.explorer.served import SPRINKLER


@st.composite
def networks(draw):
    """How tall boxes are, and arrows from earlier to later ones, in any order."""
    count = draw(st.integers(1, 25))
    pairs = list(itertools.combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=40, unique=True)) if pairs else []
    name = draw(st.permutations(range(count)))
    heights = draw(st.lists(st.sampled_from([50.0, 90.0, 160.0]), min_size=count, max_size=count))
    return heights, [(name[a], name[b]) for a, b in chosen]


def overlaps(corners, heights):
    boxes = [(x, y, x + WIDTH, y + h) for (x, y), h in zip(corners, heights, strict=True)]
    return [
        (a, b)
        for a, b in itertools.combinations(boxes, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@settings(max_examples=60, deadline=None)
@given(networks())
def test_arrows_point_down_and_boxes_are_apart(network):
    heights, arrows = network
    layer = assign_layers(len(heights), arrows)
    assert all(layer[parent] < layer[child] for parent, child in arrows)
    assert sorted(set(layer)) == list(range(max(layer) + 1))
    placed = place_in_layers(heights, arrows)
    assert not overlaps(placed.corners, heights)
    for parent, child in arrows:
        assert placed.corners[parent][1] + heights[parent] < placed.corners[child][1]
    for (x, y), h in zip(placed.corners, heights, strict=True):
        assert x >= 0
        assert y >= 0
        assert x + WIDTH <= placed.width + 1
        assert y + h <= placed.height + 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9), st.floats(0.5, 9.0))
def test_places_that_are_kept_apart_are_the_nearest_ones(wanted, gap):
    """No move of a whole run of neighbours brings the places nearer to those wanted."""
    places = np.array(keep_apart(wanted, [gap] * (len(wanted) - 1)))
    assert (np.diff(places) >= gap - 1e-9).all()
    distance = ((places - wanted) ** 2).sum()
    for first, last in itertools.combinations(range(len(wanted) + 1), 2):
        for step in (-1e-4, 1e-4):
            moved = places.copy()
            moved[first:last] += step
            if (np.diff(moved) >= gap).all():
                assert ((moved - wanted) ** 2).sum() >= distance - 1e-12


def test_layers_are_not_much_wider_than_the_root_of_their_number():
    layer = assign_layers(60, [(0, child) for child in range(1, 60)])
    assert max(np.bincount(layer)) <= math.ceil(1.5 * math.sqrt(60))


@settings(max_examples=30, deadline=None)
@given(networks())
def test_boxes_of_a_field_are_apart(network):
    heights, edges = network
    placed = place_apart(heights, edges)
    assert len(overlaps(placed.corners, heights)) == 0


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 5), (12, 12)])
def test_a_lattice_is_found_whatever_its_variables_are_called(rows, columns):
    model = om.ising_grid(rows, columns, 0.3)
    order = np.random.default_rng(1).permutation(rows * columns)
    edges = [(int(order[a]), int(order[b])) for a, b in find_edges(model, range(len(order)))]
    places = find_lattice(len(order), edges)
    sides = tuple(int(side) for side in places.max(axis=0) + 1)
    assert sides in ((rows, columns), (columns, rows))
    assert all(np.abs(places[a] - places[b]).sum() == 1 for a, b in edges)


def test_what_is_no_lattice_is_none():
    ring = [(k, (k + 1) % 6) for k in range(6)]
    assert find_lattice(6, ring) is None
    chain = [(k, k + 1) for k in range(5)]
    assert find_lattice(6, chain) is None


def test_models_are_drawn_as_what_they_are():
    kinds = {
        "network": om.read(SPRINKLER),
        "lattice": om.ising_grid(5, 4, 0.3),
        "field": om.model({"a": "xy", "b": "xy"}, [(["a", "b"], [[3, 1], [1, 3]])]),
    }
    for kind, model in kinds.items():
        assert Drawing(model).kind == kind


def test_a_large_network_is_drawn_around_a_variable():
    names = [f"n{k}" for k in range(200)]
    tables = [(["n0"], [0.5, 0.5])]
    tables += [([a, b], [[0.9, 0.1], [0.2, 0.8]]) for a, b in itertools.pairwise(names)]
    drawing = Drawing(om.model(dict.fromkeys(names, ("no", "yes")), tables))
    assert not drawing.is_whole
    shown = drawing.shown("n100")
    assert len(shown) == 60
    assert shown == names[71:131] or shown == names[70:130]
    scene = drawing.scene("n100")
    hidden = {box["name"]: box["more"] for box in scene["boxes"] if box["more"]}
    assert hidden == {shown[0]: 1, shown[-1]: 1}
