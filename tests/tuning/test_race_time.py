"""The race keeps to the time it was given; a clock of our own tells how long things took."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.models._chimera import random_chimera
from orbitmc.tuning import race as race_module
from orbitmc.tuning.families import FAMILIES, Family
from orbitmc.tuning.race import NO_TIME, run_race
from orbitmc.tuning.record import BLOCKS, TEMPERING, Tuning
from tests.tuning.models import assignment, ordered_grid


def asymmetric_grid():
    """Gibbs takes a while to forget, and there is nothing like a symmetry."""
    fields = np.random.default_rng(8).normal(0.0, 1.0, (8, 8))
    return om.ising_grid(8, 8, 0.7, fields)


def only(monkeypatch, *names):
    monkeypatch.setattr(race_module, "FAMILIES", {name: FAMILIES[name] for name in names})


def test_families_are_left_out_when_time_is_up(clock, monkeypatch):
    built = []

    def build(model, prepared):
        built.append(len(built))
        clock.now += 0.5

    slow = Family("takes half of the time to build", build)
    monkeypatch.setattr(race_module, "FAMILIES", {f"slow {k}": slow for k in range(4)})
    model = om.ising_grid(8, 8, 2.0)  # lanes stay in the mode they start in
    found = run_race(model, prepare(model.graph), seconds=1.0)
    assert len(built) == 2
    assert [(one.family, one.verdict) for one in found.prices] == [
        ("slow 2", NO_TIME),
        ("slow 3", NO_TIME),
        (TEMPERING, NO_TIME),
    ]
    assert found.recipe == Tuning()


@pytest.mark.parametrize("build", [ordered_grid, asymmetric_grid])
def test_the_race_keeps_to_its_time(counted, monkeypatch, build):
    only(monkeypatch, "flip", "clusters")
    model = build()
    run_race(model, prepare(model.graph), seconds=0.5)
    assert 0.02 < counted.now <= 0.5


def glass():
    """Lanes stay in one of many modes, and only tempering leads from one to another."""
    return random_chimera(3, 3, beta=2.0, field=0.5, seed=9)


@pytest.mark.parametrize("seconds", [0.05, 0.5])
@pytest.mark.parametrize("build", [ordered_grid, asymmetric_grid, assignment, glass])
def test_looking_at_states_and_finding_a_ladder_count(all_counted, build, seconds):
    """All families run; what is counted here is nearly all that takes time."""
    model = build()
    found = run_race(model, prepare(model.graph), seconds=seconds)
    assert found.prices
    slow = found.memory is not None or any(price.family == BLOCKS for price in found.prices)
    assert all_counted.now <= (2 * seconds if slow else seconds)


def test_there_is_time_for_tempering_after_all_families(all_counted):
    model = glass()
    found = run_race(model, prepare(model.graph), seconds=0.5)
    assert (found.prices[-1].family, found.prices[-1].verdict) == (TEMPERING, "chosen")
    assert found.recipe.base == TEMPERING


def test_without_useful_symmetry_alpha_is_one(counted, monkeypatch):
    only(monkeypatch, "flip", "clusters")
    model = asymmetric_grid()
    found = run_race(model, prepare(model.graph), seconds=0.5)
    assert found.recipe.alpha == 1.0
    assert [one.family for one in found.prices] == ["flip", "clusters"]
    assert found.prices[0].verdict == "hardly ever accepted"


def test_no_start_is_looked_for_where_a_sweep_takes_too_long_for_sure(monkeypatch):
    monkeypatch.setattr(race_module, "Arm", lambda *given: pytest.fail("a start was looked for"))
    model = om.ising_grid(4, 4, 0.3)
    result = run_race(model, prepare(model.graph), seconds=0.5, least_sweep=0.5)
    assert result.about == race_module.TOO_LONG
    with pytest.raises(pytest.fail.Exception, match="a start was looked for"):
        run_race(model, prepare(model.graph), seconds=0.5, least_sweep=0.001)
