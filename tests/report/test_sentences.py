"""One sentence says whether an answer may be believed, and for which variables' sake not."""

import json
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.estimate.marginals import About, Culprits, Marginal, Marginals
from orbitmc.estimate.verdicts import BELIEVED, SUSPECT, TIED, VERDICTS
from orbitmc.report.answer_files import json_pieces
from orbitmc.report.sentences import remarks, verdict
from orbitmc.report.terminal import plain_pieces
from tests.gathered import gathered
from tests.shared_data import shared

UNASKED = {"HRBP": "HIGH"}, ["CVP", "PCWP"]


def marginal(word):
    half, one, never = np.full(2, 0.5), np.ones(2), np.zeros(2, dtype=bool)
    return Marginal(("no", "yes"), half, half, half, half, one, one, word, never)


def answer(words, about, part):
    each = {f"v{k}": marginal(word) for k, word in enumerate(words)}
    return Marginals(gathered(each, part), about)


@pytest.mark.parametrize("word", VERDICTS)
def test_what_is_not_believed_is_never_called_certain(word):
    said = verdict(answer([word], About("gibbs", "why not"), [0]))
    assert said.startswith("not converged: ") == (word not in BELIEVED), said
    assert said.startswith("certain") == (word in ("forced", "observed", "exact")), said


@pytest.mark.parametrize(
    ("word", "state"), [(TIED, "not mixed"), (SUSPECT, "frozen")], ids=["not mixed", "frozen"]
)
def test_only_variables_of_the_same_component_are_blamed(word, state):
    culprits = Culprits(["near", "far", "nearer"], np.array([3, 4, 3]))
    about = About("mcsat", "", ruled_out=("exact",), unmixed=culprits, frozen=culprits)
    said = verdict(answer([word, "good"], about, [3, 4]))
    assert f"1 variable is tied to 2 that are {state} (near, nearer)" in said
    assert "far" not in said


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """A run that is kept has all variables, also those that the query does not need."""
    model = om.read(shared("bn-bif/alarm.bif"))
    evidence, query = UNASKED
    kept = tmp_path_factory.mktemp("tied") / "x.run"
    return om.marginals(
        model, evidence, query=query, method="gibbs", samples=500, seed=0, checkpoint=kept
    )


def test_variables_that_nobody_asked_about_are_named_when_they_have_not_mixed(tied):
    assert tied.verdicts() == {TIED: 2}
    culprits = tied.causes(TIED)
    assert culprits
    assert set(culprits).isdisjoint(tied)
    said = verdict(tied)
    assert said.startswith("not converged: 2 variables are tied to ")
    assert culprits[0] in said
    (warning,) = tied.about.warnings
    assert "have not mixed" in warning
    assert culprits[0] in warning


def test_terminal_notebook_report_and_json_say_the_same(tied, tmp_path):
    words = verdict(tied).removeprefix("not converged: ").partition(";")[0]
    assert words in remarks(tied)[-1]
    assert words in tied._repr_html_()
    assert words in tied.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads("".join(json_pieces(tied)))["verdict"] == verdict(tied)
    for shown in (tied._repr_html_(), (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert "ertain: " not in shown
        assert "nothing is left to do" not in shown


def test_a_part_of_an_answer_blames_what_the_whole_answer_would(tied):
    assert tied.only(["CVP"]).causes(TIED) == tied.causes(TIED)


def test_chains_that_do_not_agree_at_all_have_no_digits_of_r_hat():
    one = marginal("not mixed")
    apart = replace(one, r_hat=np.full(2, 1000.0005))
    found = Marginals(gathered({"v": apart}), About("gibbs", "why not"))
    assert "worst R-hat beyond 100, ESS 1" in verdict(found)
    for shown in (str(found), "".join(plain_pieces(found)), found._repr_html_()):
        assert "beyond 100" in shown
        assert "1000" not in shown
    line = "".join(plain_pieces(found)).splitlines()[1]
    assert line.index("beyond 100") + 10 == line.index("  not mixed")
