"""Python and the command line ask the same question: their answers are the same to the byte."""

import json

import pytest

import orbitmc as om
from orbitmc import report
from orbitmc.cli.questions import sweep_json
from tests.cli.commands import orbitmc
from tests.golden.questions import FACTS, MONITOR, RING, SMOKERS, SPRINKLER

CLOCK = ("seconds", "updates_per_second", "course", "command", "race")
WET = {"grass": "wet"}
SOFT = {"grass": [0.2, 0.8]}
TYPED = {"wet": ("-e", "grass=wet"), "soft": ("-e", 'grass={"dry": 0.2, "wet": 0.8}'), "": ()}
SEEN = {"wet": WET, "soft": SOFT, "": None}
FEW = {"samples": 40, "seed": 3}
TYPED_FEW = ("--samples", "40", "--seed", "3")
METHODS = ("auto", "exact", "gibbs", "mcsat", "lifted")


def without_clock(answer):
    """An answer, but for what depends on the clock."""
    if isinstance(answer, dict):
        return {key: without_clock(own) for key, own in answer.items() if key not in CLOCK}
    return [without_clock(own) for own in answer] if isinstance(answer, list) else answer


def text_of(answer):
    """What the command line would print as JSON."""
    if isinstance(answer, om.Marginals):
        return "".join(report.json_pieces(answer))
    if isinstance(answer, om.Joint):
        return report.joint_json(answer)
    if isinstance(answer, om.Estimate):
        return report.estimates_json(om.Estimates({"probability": answer}, answer.about))
    if isinstance(answer, om.Estimates):
        return report.estimates_json(answer)
    return answer.to_json() if isinstance(answer, om.BestStates) else sweep_json(answer)


def require_same(answer, *words):
    done = orbitmc(*words, "--json", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    printed = without_clock(json.loads(done.stdout))
    assert printed == without_clock(json.loads(text_of(answer)))


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("method", METHODS)
def test_marginals_of_a_network(method, seen):
    few, typed = ({}, ()) if method in ("auto", "exact") else (FEW, TYPED_FEW)
    answer = om.marginals(om.read(SPRINKLER), SEEN[seen], method=method, **few)
    require_same(answer, "infer", SPRINKLER, *TYPED[seen], "--method", method, *typed)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", [MONITOR, RING], ids=lambda path: path.stem)
def test_marginals_of_other_models(path, method):
    few, typed = ({}, ()) if method in ("auto", "exact") else (FEW, TYPED_FEW)
    answer = om.marginals(om.read(path), method=method, **few)
    require_same(answer, "infer", path, "--method", method, *typed)


@pytest.mark.parametrize("method", ["auto", "gibbs", "mcsat", "lifted"])
def test_marginals_of_a_program(method):
    few, typed = ({}, ()) if method == "auto" else (FEW, TYPED_FEW)
    program = om.read_logic(SMOKERS, FACTS, query="Smokes,Cancer")
    answer = program.marginals(method=method, **few)
    words = ("infer", SMOKERS, "-e", FACTS, "-q", "Smokes,Cancer", "--method", method)
    require_same(answer, *words, *typed)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("method", ["auto", "gibbs"])
def test_questions_about_a_network(method, seen):
    few, typed = ({}, ()) if method == "auto" else (FEW, TYPED_FEW)
    how, model = {"method": method, **few}, om.read(SPRINKLER)
    words = (*TYPED[seen], "--method", method, *typed)
    joint = om.joint(model, ["rain", "sprinkler"], SEEN[seen], **how)
    require_same(joint, "joint", SPRINKLER, "rain", "sprinkler", *words)
    event = "rain != 'none' or sprinkler == 'on'"
    require_same(om.probability(model, event, SEEN[seen], **how), "ask", SPRINKLER, event, *words)
    told = om.information(model, "rain", None, SEEN[seen], **how)
    require_same(told, "ask", SPRINKLER, "--about", "rain", *words)


@pytest.mark.parametrize("seen", SEEN)
def test_the_best_states(seen):
    answer = om.best(om.read(SPRINKLER), SEEN[seen], k=3)
    require_same(answer, "best", SPRINKLER, *TYPED[seen], "-k", "3")


@pytest.mark.parametrize("method", ["auto", "gibbs"])
def test_a_sweep(method):
    few, typed = ({}, ()) if method == "auto" else (FEW, TYPED_FEW)
    answer = om.sweep(om.read(RING), [0.5, 1.0, 1.5], method=method, **few)
    require_same(answer, "sweep", RING, "--beta", "0.5:1.5:3", "--method", method, *typed)


def test_another_number_would_be_seen():
    other = om.marginals(om.read(SPRINKLER), {"grass": "dry"})
    with pytest.raises(AssertionError):
        require_same(other, "infer", SPRINKLER, *TYPED["wet"])
