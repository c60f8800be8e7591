"""A recorded choice is the choice; a wrong one is refused with words that help."""

import json

import pytest

from orbitmc.errors import InputError
from orbitmc.graph.conditionals import conditionals
from orbitmc.kernels.alternation import Alternation
from orbitmc.kernels.flips import Flips
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.mixture import Mixture
from orbitmc.kernels.tempering import Tempering
from orbitmc.kernels.trading_tempering import TradingTempering
from orbitmc.run.checkpoint import digest
from orbitmc.tune.recipe import Recipe, recipe_from
from tests.tune.models import ordered_grid

RECIPES = [
    Recipe(),
    Recipe(("flip",), 20),
    Recipe(("flip", "replica", "swap"), 7),
    Recipe(("flip",), 64, (1.0, 0.6, 0.3)),
    Recipe((), 1, (1.0, 0.5)),
    Recipe((), 1, (1.0, 0.7, 0.5), trades=True),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.words)
def test_a_record_survives_json_and_builds_the_same_kernel(recipe):
    again = recipe_from(json.loads(json.dumps(recipe.record())))
    assert again == recipe
    model = ordered_grid(4)
    prepared = conditionals(model.graph)
    kernels = [one.kernel(model, prepared) for one in (recipe, again)]
    assert type(kernels[0]) is type(kernels[1])
    assert digest(kernels[0]) == digest(kernels[1])


def test_recipes_mean_what_they_say():
    model = ordered_grid(4)
    prepared = conditionals(model.graph)
    plain, flipped, mixed, hot, tempered, trading = (one.kernel(model, prepared) for one in RECIPES)
    assert isinstance(plain, SystematicScan)
    assert isinstance(flipped, Alternation)
    assert (type(flipped.base), type(flipped.jump)) == (SystematicScan, Flips)
    assert flipped.period == 20
    assert isinstance(mixed.jump, Mixture)
    assert (mixed.jump.weight, mixed.jump.second.weight) == (pytest.approx(1 / 3), 0.5)
    assert isinstance(hot.base, Tempering)
    assert isinstance(tempered, Tempering)
    assert isinstance(trading, TradingTempering)
    assert trading.tempering.betas.tolist() == [1.0, 0.7, 0.5]


def test_alpha_is_the_share_of_base_steps():
    assert Recipe().alpha == 1.0
    assert Recipe(("flip",), 4).alpha == 0.8


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({}, 'a list "families"'),
        ({"families": "flip", "period": 3}, 'a list "families"'),
        ({"families": ["flip"]}, 'whole number "period" above 0, not None'),
        ({"families": ["flip"], "period": 0}, "above 0, not 0"),
        ({"families": ["flip"], "period": 2.5}, "above 0, not 2.5"),
        ({"families": ["flop"], "period": 3}, "no family of moves 'flop'.*flip"),
        ({"families": [], "period": 1, "base": "metropolis"}, "no base 'metropolis'"),
        ({"families": [], "period": 1, "base": "tempering with trades"}, '"betas" belongs'),
        ({"families": [], "period": 1, "base": "tempering"}, '"betas" belongs'),
        ({"families": [], "period": 1, "betas": [1.0, 0.5]}, '"betas" belongs'),
        ({"families": [], "period": 1, "base": "tempering", "betas": "hot"}, '"betas" belongs'),
        ({"families": [], "period": 1, "famlies": []}, "no 'famlies'.*families"),
    ],
)
def test_wrong_records_are_refused(record, words):
    with pytest.raises(InputError, match=words):
        recipe_from(record)


def test_moves_that_make_no_sense_for_a_model_are_refused():
    model = ordered_grid(4)
    with pytest.raises(InputError, match="'labels' make no sense for this model"):
        Recipe(("labels",), 3).kernel(model, conditionals(model.graph))
