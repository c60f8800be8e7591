"""Notebooks show models and answers as safe, bounded HTML; no repr prints an array."""

import re

import numpy as np
import pytest

import orbitmc as om
from orbitmc.inference.symmetries import symmetry_overview
from orbitmc.report.notebook import MOST_NOTEBOOK_ROWS
from orbitmc.report.svg import MOST_VARIABLES_DRAWN
from tests.report.test_page import EVIL, Tags


def shown(value):
    text = value._repr_html_()
    Tags(text)  # refuses handlers and links
    return text


@pytest.fixture(scope="module")
def sprinkler():
    return om.read("examples/sprinkler.bif")


def test_a_model_is_drawn_with_its_sizes(sprinkler):
    text = shown(sprinkler)
    assert "4 variables of 2 to 3 values, 4 factors" in text
    assert text.count("<circle") == 4
    assert text.count('class="e"') == 4  # arrows of a network


def test_a_lattice_is_drawn_level():
    """Rows of a grid have one height each, up to what keeps names apart."""
    text = shown(om.ising_grid(4, 5, 0.3))
    places = re.findall(r'cx="(\d+)" cy="(\d+)"', text)
    heights = np.array([int(y) for _, y in places]).reshape(4, 5)
    assert (np.ptp(heights, axis=1) <= 12).all()
    assert (abs(np.diff(heights.mean(axis=1))) > 40).all()


def test_a_program_is_drawn_as_its_ground_model():
    program = om.read("examples/smokers.mln", "examples/smokers.db", query="Smokes,Cancer")
    text = shown(program)
    assert "8 atoms asked about" in text
    assert text.count("<circle") == 6  # two of eight atoms are known
    assert repr(program) == (
        "MarkovLogic(8 atoms asked about, Model(6 variables, 9 factors, 0 observed))"
    )


def test_a_badge_says_how_an_answer_ended(sprinkler):
    assert ">exact</span>" in shown(om.marginals(sprinkler))
    sampled = shown(om.marginals(sprinkler, method="gibbs", samples=200, seed=1))
    assert ">converged</span> every R-hat is at most 1.01" in sampled
    frozen = shown(om.marginals(om.ising_grid(6, 6, 1.0, 0.01), method="gibbs", samples=60, seed=1))
    assert ">not converged</span> 36 variables are not mixed" in frozen
    assert "method=&quot;auto&quot;" in frozen


def test_large_models_are_not_drawn():
    side = MOST_VARIABLES_DRAWN + 1
    assert "<circle" in shown(om.ising_grid(1, MOST_VARIABLES_DRAWN, 0.3))
    text = shown(om.ising_grid(1, side, 0.3))
    assert "<svg" not in text
    assert f"{side} variables" in text


def test_marginals_have_bars_whiskers_and_colours(sprinkler):
    answer = om.marginals(sprinkler, {"grass": "wet"}, method="gibbs", samples=200, seed=1)
    text = shown(answer)
    assert text.count('<tr class="good">') == 7
    assert text.count('<tr class="known">') == 2
    assert text.count('class="w"') == 7
    assert '<span class="badge good">converged' in text


def test_doubted_variables_come_first_and_known_ones_last():
    cold = om.model(
        {"calm": "ab", "a": "01", "b": "01", "c": "01"},
        [
            (["calm"], [1, 2]),
            (["a", "b"], [[1e6, 1], [1, 1e6]]),
            (["b", "c"], [[1e6, 1], [1, 1e6]]),
        ],
    )
    answer = om.marginals(cold, {"c": None}, method="gibbs", samples=40, seed=1)
    order = re.findall(r'<td class="v">(.*?)</td>', shown(answer))
    doubted = [name for name in answer if answer[name].verdict != "good"]
    assert doubted
    assert order[: len(doubted)] == doubted


def test_values_of_a_variable_are_sorted_by_probability(sprinkler):
    text = shown(om.marginals(sprinkler, query=["rain"]))
    assert re.findall(r"<td>(none|light|heavy)</td>", text) == ["none", "light", "heavy"]


def test_long_answers_are_cut_and_say_so():
    text = shown(om.marginals(om.ising_grid(1, 300, 0.3)))
    assert text.count("<tr class=") == MOST_NOTEBOOK_ROWS
    assert "… and 400 more rows" in text


def test_names_are_escaped_everywhere():
    model = om.model(
        {EVIL[0]: [EVIL[1], "b"], EVIL[1]: ["<i>", "y"]},
        [([EVIL[0], EVIL[1]], [[1, 2], [3, 4]])],
    )
    names = list(EVIL[:2])
    every = (
        model,
        om.marginals(model),
        om.joint(model, names),
        om.draws(model, samples=3),
        om.best(model, k=2),
        symmetry_overview(model, approximate=False),
    )
    for value in every:
        counts = Tags(value._repr_html_()).counts
        assert counts.keys().isdisjoint({"script", "img", "i"}), counts


def test_a_joint_of_two_names_is_a_heat_map(sprinkler):
    text = shown(om.joint(sprinkler, ["sprinkler", "rain"]))
    assert text.count('<td class="h') == 6
    assert '<td class="h' not in shown(om.joint(sprinkler, ["sprinkler", "rain", "season"]))


def test_other_answers_show_their_numbers(sprinkler):
    assert "draws of 4 variables" in shown(om.draws(sprinkler, samples=3, chains=64))
    assert "proven" in shown(om.best(sprinkler, k=2))
    assert "<b>0.5122" in shown(om.probability(sprinkler, "grass == 'wet'"))
    assert shown(om.sweep(om.ising_grid(3, 3, 0.5), [0.5, 1.0])).count("<tr>") == 3
    assert "8 symmetries" in shown(om.symmetry.automorphisms(om.ising_grid(3, 3, 0.5).graph))
    overview = shown(symmetry_overview(om.ising_grid(3, 3, 0.5), approximate=False))
    assert len(set(re.findall(r'class="v (o\d)"', overview))) == 3  # two orbits and the centre


def test_no_repr_prints_an_array():
    grid = om.ising_grid(12, 12, 0.3, np.random.default_rng(1).normal(size=(12, 12)))
    answer = om.marginals(grid, method="gibbs", samples=10)
    prepared = om.kernels.prepare(grid.graph)
    run = om.sample(prepared, om.kernels.gibbs(), om.Schedule(samples=4))
    found = om.symmetry.automorphisms(om.ising_grid(4, 4, 0.5).graph)
    every = [
        grid, grid.graph, prepared, answer["s0_0"], answer.columns, run, run.packs[0],
        run.statistics(), om.draws(grid, samples=4, method="gibbs"), found, found.group,
        om.kernels.flips(prepared), om.groups.exchange_blocks([[1, 2, 3]]),
    ]  # fmt: skip
    for value in every:
        text = repr(value)
        assert "array(" not in text, type(value)
        assert len(text) < 1000, type(value)
