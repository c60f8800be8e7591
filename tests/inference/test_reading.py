"""One door for models and programs."""

import pytest

import orbitmc as om
from tests.pages import ROOT

EXAMPLES = ROOT / "examples"


def test_a_program_is_read_with_its_databases_and_asked_in_atoms():
    program = om.read(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes")
    found = om.marginals(program, method="exact")
    same = om.read_logic(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes")
    assert {name: found[name].probability.tolist() for name in found} == {
        name: one.probability.tolist() for name, one in same.marginals(method="exact").items()
    }
    assert list(found) == ["Smokes(Anna)", "Smokes(Bob)", "Smokes(Cloe)", "Smokes(Dave)"]


def test_settings_reach_a_program_whole_or_one_by_one():
    program = om.read(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes")
    whole = om.marginals(program, settings=om.Settings(method="gibbs", samples=20, seed=3))
    single = om.marginals(program, method="gibbs", samples=20, seed=3)
    assert whole["Smokes(Bob)"].probability == single["Smokes(Bob)"].probability
    assert whole.about.samples == 20


def test_databases_belong_to_programs_only():
    with pytest.raises(om.InputError, match="databases: only Markov logic programs"):
        om.read(EXAMPLES / "sprinkler.bif", EXAMPLES / "smokers.db")


def test_evidence_of_a_program_is_a_database():
    program = om.read(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db")
    with pytest.raises(om.InputError, match="evidence of a program is a database"):
        om.marginals(program, {"Smokes(Bob)": "true"})


def test_whoever_watches_a_run_watches_that_of_a_program_too():
    program = om.read(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes")
    seen = []
    watch = [lambda run: seen.append(run.recorded)]
    om.marginals(program, method="gibbs", samples=20, seed=3, watchers=watch)
    assert seen[-1] == 20
