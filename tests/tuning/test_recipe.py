"""A recorded choice is the choice; a wrong one is refused with words that help."""

import contextlib
import json
import random

import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.kernels._alternation import Alternation
from orbitmc.kernels._flips import Flips
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels._mixture import Mixture
from orbitmc.kernels._tempering import Tempering
from orbitmc.kernels.block_gibbs.kernel import BlockGibbs
from orbitmc.sampling.executor import digest
from orbitmc.tuning.record import Tuning, tuning_from_record
from tests.mutated import mutated
from tests.tuning.models import ordered_grid

RECIPES = [
    Tuning(),
    Tuning(("flip",), 20),
    Tuning(("flip", "clusters", "reflections"), 7),
    Tuning(("flip",), 64, (1.0, 0.6, 0.3)),
    Tuning((), 1, (1.0, 0.5)),
    Tuning((), 1, blocks=((0, 1), (2, 3, 7)), block_period=5),
    Tuning(("flip",), 20, blocks=((0, 1),), block_period=3),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.words)
def test_a_record_survives_json_and_builds_the_same_kernel(recipe):
    again = tuning_from_record(json.loads(json.dumps(recipe.record())))
    assert again == recipe
    model = ordered_grid(4)
    prepared = prepare(model.graph)
    kernels = [one.kernel(model, prepared) for one in (recipe, again)]
    assert type(kernels[0]) is type(kernels[1])
    assert digest(kernels[0]) == digest(kernels[1])


def test_recipes_mean_what_they_say():
    model = ordered_grid(4)
    prepared = prepare(model.graph)
    plain, flipped, mixed, hot, tempered, blocks, both = (
        one.kernel(model, prepared) for one in RECIPES
    )
    assert isinstance(plain, SystematicScan)
    assert isinstance(flipped, Alternation)
    assert (type(flipped.base), type(flipped.jump)) == (SystematicScan, Flips)
    assert flipped.period == 20
    assert isinstance(mixed.jump, Mixture)
    assert (mixed.jump.weight, mixed.jump.second.weight) == (pytest.approx(1 / 3), 0.5)
    assert isinstance(hot.base, Tempering)
    assert isinstance(tempered, Tempering)
    assert tempered.betas.tolist() == [1.0, 0.5]
    assert (type(blocks.base), type(blocks.jump), blocks.period) == (SystematicScan, BlockGibbs, 5)
    assert blocks.jump.blocks == 2
    assert (type(both.base.jump), both.base.period) == (BlockGibbs, 3)
    assert (type(both.jump), both.period) == (Flips, 20)


def test_alpha_is_the_share_of_base_steps():
    assert Tuning().alpha == 1.0
    assert Tuning(("flip",), 4).alpha == 0.8


def tempered(betas):
    return {"families": [], "period": 1, "base": "tempering", "betas": betas}


def blocks_of(blocks, **known):
    return {"families": [], "period": 1, "blocks": blocks, "block_period": 2, **known}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({}, 'a list "families"'),
        ({"families": "flip", "period": 3}, 'a list "families"'),
        ({"families": ["flip"]}, 'whole number "period" above 0, not None'),
        ({"families": ["flip"], "period": 0}, "above 0, not 0"),
        ({"families": ["flip"], "period": 2.5}, "above 0, not 2.5"),
        ({"families": ["flop"], "period": 3}, "no family of moves 'flop'.*flip"),
        ({"families": ["shuffle of 4"], "period": 3}, "no family of moves 'shuffle of 4'"),
        ({"families": [], "period": 1, "base": "metropolis"}, "no base 'metropolis'"),
        ({"families": [], "period": 1, "base": "tempering"}, '"betas" belongs'),
        ({"families": [], "period": 1, "betas": [1.0, 0.5]}, '"betas" belongs'),
        ({"families": [], "period": 1, "base": "tempering", "betas": "hot"}, '"betas" belongs'),
        ({"families": [[]], "period": 1}, r"no family of moves \[\]"),
        ({"families": ["flip", {}], "period": 1}, r"no family of moves \{\}"),
        ({"families": ["flip", "flip"], "period": 1}, "a family twice"),
        ({"families": [], "period": True}, "above 0, not True"),
        ({"families": [], "period": 10**400}, r"above 0, not 1000+\.\.\.0+; it is at most"),
        ({"families": [], "period": 10**5000}, "above 0, not such a long int"),
        ({"families": [], "period": 1, "base": []}, r"no base \[\]"),
        (tempered([1.0, 10**400]), "betas are numbers above 0 and at most 1, not 1000"),
        (tempered([1.0, float("inf")]), "betas are numbers .* not inf"),
        (tempered([1.0, True]), "betas are numbers .* not True"),
        (tempered([1.0, "0.5"]), "betas are numbers .* not '0.5'"),
        (tempered([0.5] * 65), "at most 64 betas, not 65"),
        (blocks_of("all"), '"blocks" belongs to the base'),
        (blocks_of([[0, 1]], base="tempering", betas=[1.0, 0.5]), '"blocks" belongs to the base'),
        (blocks_of([[0, "1"]]), "numbers of variables, not"),
        (blocks_of([3]), "numbers of variables, not 3"),
        (blocks_of([[0, 1]], block_period=0), 'whole number "block_period" above 0, not 0'),
        ({"families": [], "period": 1, "blocks": [[0, 1]]}, '"block_period" above 0, not None'),
        ({"families": [], "period": 1, "famlies": []}, "no 'famlies'.*families"),
    ],
)
def test_wrong_records_are_refused(record, words):
    with pytest.raises(InputError, match=words):
        tuning_from_record(record)


def test_moves_that_make_no_sense_for_a_model_are_refused():
    model = ordered_grid(4)
    with pytest.raises(InputError, match="'labels' make no sense for this model"):
        Tuning(("labels",), 3).kernel(model, prepare(model.graph))


def test_blocks_of_variables_that_are_not_there_are_refused():
    model = ordered_grid(4)
    with pytest.raises(InputError, match="no variable 16"):
        Tuning(blocks=((0, 16),)).kernel(model, prepare(model.graph))


def test_whatever_stands_in_a_record_only_our_error_comes_out():
    rng, accepted = random.Random(1), 0
    for _ in range(2000):
        record = mutated(rng.choice(RECIPES).record(), rng)
        with contextlib.suppress(InputError):
            assert isinstance(tuning_from_record(record), Tuning)
            accepted += 1
    assert 50 < accepted < 1000
