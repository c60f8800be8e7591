"""Whether proposals of whole blocks pay, beside draws of single items."""

from itertools import combinations

import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.tuning import Tuning, race_splits
from orbitmc.tuning.splits import SPLITS

PROGRAM = """
Like(it, it)
Same(it, it)
Same(x,x).
Same(x,y) => Same(y,x).
Same(x,y) ^ Same(y,z) => Same(x,z).
1 Like(x,y) => Same(x,y)
"""


def groups_of(size):
    """Two groups of items that like each other; it does not matter whether the groups are one."""
    names = [[f"X{group}{chr(97 + item)}" for item in range(size)] for group in range(2)]
    facts = [f"Like({a},{b})" for group in names for a, b in combinations(group, 2)]
    program = parse(PROGRAM)
    return ground_program(program, parse_database("\n".join(facts), program))


def race_on(program, **options):
    model = program.in_relations.model
    return race_splits(model, prepare(model.graph), **options)


def test_whole_blocks_win_where_single_items_cannot_climb_out():
    result = race_on(groups_of(12), seconds=0.5)
    assert result.recipe == Tuning((SPLITS,), 276)
    assert result.prices[0].gain > 10
    assert "whole blocks are split and united" in result.about


def test_they_do_not_win_where_items_move_by_themselves():
    program = parse(PROGRAM + "-2 Same(x,y)\n")
    facts = parse_database("\n".join(f"Like(X{n},X{n + 1})" for n in range(20)), program)
    result = race_on(ground_program(program, facts), seconds=0.5)
    assert result.recipe == Tuning()
    assert [price.verdict for price in result.prices] == ["no clear gain"]


def test_nothing_is_tried_without_time_for_it():
    result = race_on(groups_of(12), seconds=0.5, least_sweep=1.0)
    assert (result.recipe, result.prices, result.about) == (Tuning(), (), "")


def test_auto_takes_them_and_moves_replay_its_choice():
    program = groups_of(12)
    answer = program.marginals(seconds=1.0, seed=1, packs=1, lanes=32)
    assert answer.about.moves == {"base": "gibbs", "families": [SPLITS], "period": 276}
    assert answer.about.method == "lmh"
    options = {"method": "lmh", "base": "relations", "moves": answer.about.moves, "samples": 2000}
    again = program.marginals(**options, seed=2, packs=1, lanes=32)
    assert again["Same(X0a,X1a)"].verdict == "good"
    assert (
        abs(again["Same(X0a,X1a)"].probability[0] - 0.5)
        < 6 * again["Same(X0a,X1a)"].standard_error[0] + 0.003
    )
    gibbs = program.marginals(
        method="gibbs", base="relations", samples=200, seed=2, packs=1, lanes=32
    )
    assert gibbs["Same(X0a,X1a)"].verdict == "not mixed"


def test_such_a_run_is_resumed_where_it_stopped(tmp_path):
    program, path = groups_of(4), tmp_path / "run"
    moves = {"families": [SPLITS], "period": 28}
    options = {"method": "lmh", "base": "relations", "moves": moves, "seed": 3, "lanes": 32}
    options |= {"packs": 1, "warm_up": 5, "samples": 40}
    whole = program.marginals(**options)

    def stop(run):
        if run.recorded:
            run.stop()

    program.marginals(**options, checkpoint=path, watchers=[stop])
    resumed = om.resume(path, program)
    assert resumed.about.samples == 40
    for name in whole:
        assert resumed[name].probability[0] == whole[name].probability[0]


@pytest.mark.parametrize("families", [["flip"], [SPLITS, "flip"], []])
def test_other_recorded_moves_are_refused(families):
    moves = {"families": families, "period": 28}
    with pytest.raises(InputError, match="splits alone"):
        groups_of(4).marginals(method="lmh", base="relations", moves=moves, samples=5)


def test_models_that_have_no_relation_have_no_splits():
    moves = {"families": [SPLITS], "period": 28}
    with pytest.raises(InputError, match="make no sense for this model"):
        om.marginals(om.ising_grid(3, 3, 0.3), method="lmh", moves=moves, samples=5)
