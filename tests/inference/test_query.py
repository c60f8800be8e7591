"""A query reports some variables only, of any model, by any method."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.exact import contraction as elimination
from orbitmc.exact import templates as passes
from orbitmc.exact.plan import predict
from tests.cli.commands import answer_of, grid, orbitmc, rain

ASKED = ("s2_1", "s0_0")


@pytest.fixture(scope="module")
def spins():
    return om.ising_grid(3, 3, 0.3, 0.1)


def test_what_is_not_asked_is_not_computed(monkeypatch, spins):
    received = []
    receive = elimination.Passes._receive

    def note(self, step, needed):
        for variable, marginal in receive(self, step, needed):
            received.append(variable)
            yield variable, marginal

    monkeypatch.setattr(elimination.Passes, "_receive", note)
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    root = predict(spins.graph).order[-1]
    om.marginals(spins, method="exact", query=[spins.names[root]])
    assert len(received) == 1
    received.clear()
    om.marginals(spins, method="exact")
    assert len(received) == 9


def test_a_small_question_computes_what_is_asked_too(monkeypatch, spins):
    computed = []
    marginals = passes.Elimination.marginals

    def counted(self, upward, wanted):
        found = marginals(self, upward, wanted)
        computed.append(len(found))
        return found

    monkeypatch.setattr(passes.Elimination, "marginals", counted)
    om.marginals(spins, method="exact", query=["s1_1", "s0_0"])
    om.marginals(spins, method="exact")
    assert computed == [2, 9]


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_a_query_gives_the_same_numbers_in_its_order(spins, method):
    budget = {} if method == "exact" else {"samples": 20, "seed": 1}
    whole = om.marginals(spins, {"s1_1": 1}, method=method, **budget)
    found = om.marginals(spins, {"s1_1": 1}, method=method, query=[*ASKED, "s1_1"], **budget)
    assert list(found) == [*ASKED, "s1_1"]
    for name in found:
        assert (found[name].probability == whole[name].probability).all()
        assert found[name].verdict == whole[name].verdict
    assert found.about.log_z == whole.about.log_z


def test_one_name_may_stand_alone_and_twice_is_once(spins):
    assert list(om.marginals(spins, query="s1_1")) == ["s1_1"]
    assert list(om.marginals(spins, query=["s1_1", "s1_1"])) == ["s1_1"]


def test_unknown_names_get_a_suggestion():
    model = om.read("examples/sprinkler.bif")
    with pytest.raises(om.InputError, match="unknown variable 'reign'; did you mean 'rain'"):
        om.marginals(model, query=["reign"])
    with pytest.raises(om.InputError, match="the query is empty"):
        om.marginals(model, query=[])


def test_the_command_line_filters_tables_json_and_files(tmp_path):
    path, out = rain(tmp_path), tmp_path / "out.MAR"
    whole = answer_of("infer", path)["variables"]
    found = answer_of("infer", path, "-q", "mood, rain")["variables"]
    assert list(found) == ["mood", "rain"]
    assert found == {name: whole[name] for name in ("mood", "rain")}
    table = orbitmc("infer", path, "-q", "mood").stdout
    assert "mood" in table
    assert "rain" not in table.splitlines()[1]
    assert orbitmc("infer", path, "-q", "rain", "-o", out).returncode == 0
    assert out.read_text().split()[:3] == ["MAR", "1", "2"]
    done = orbitmc("infer", path, "-q", "mod")
    assert done.returncode == 2
    assert "did you mean 'mood'" in done.stderr


def test_names_with_commas_are_names_too(tmp_path):
    path = tmp_path / "commas.json"
    om.write(om.model({"a,b": ["no", "yes"], "c": ["no", "yes"]}, [(["a,b"], [1, 2])]), path)
    assert list(answer_of("infer", path, "-q", "a,b")["variables"]) == ["a,b"]


def test_a_kept_run_remembers_its_query(tmp_path):
    path, run = grid(tmp_path, 3), tmp_path / "x.run"
    words = ("infer", path, "--method", "gibbs", "--samples", "20", "-q", "s1_1,s0_0")
    found = answer_of(*words, "--checkpoint", run)["variables"]
    assert list(found) == ["s1_1", "s0_0"]
    assert answer_of("resume", run)["variables"] == found


def test_a_program_may_be_asked_about_other_atoms():
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    whole = om.marginals(program, method="exact")
    some = [name for name in whole if name.startswith("Cancer(")]
    found = om.marginals(program, query="Cancer", method="exact")
    assert set(found) >= set(some) > set()
    for name in some:
        assert np.array_equal(found[name].probability, whole[name].probability)
    with pytest.raises(om.InputError, match="did you mean 'Cancer'"):
        om.marginals(program, query=["Cancr"])
