"""Settings are keywords of every question: real ones, typed, documented, with kind errors."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import orbitmc as om
from orbitmc._util.settings import settings_of
from orbitmc.errors import InputError
from orbitmc.inference.program import MarkovLogic
from orbitmc.inference.settings import Options, Settings

SPRINKLER = om.model({"rain": ["no", "yes"]}, [(["rain"], [0.8, 0.2])])
QUESTIONS = [om.marginals, MarkovLogic.marginals]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", [one.name for one in fields(Settings)])
def test_every_setting_is_a_keyword_with_its_type_and_default(question, name):
    shown = inspect.signature(question).parameters[name]
    assert shown.kind is shown.KEYWORD_ONLY
    assert shown.annotation == get_type_hints(Settings)[name]
    assert shown.default == getattr(Settings(), name)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_no_keywords_without_a_name(question):
    kinds = {one.kind for one in inspect.signature(question).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_type_checkers_see_the_same_settings():
    assert set(get_type_hints(Options)) - {"progress"} == set(get_type_hints(Settings))
    assert get_type_hints(Settings).items() <= get_type_hints(Options).items()


@pytest.mark.parametrize("name", [one.name for one in fields(Settings)])
def test_every_setting_has_help_that_docstrings_show(name):
    help_line = settings_of(Settings)[name].help
    assert help_line.endswith(".")
    for text in (om.marginals.__doc__, Settings.__doc__):
        (line,) = (line for line in text.splitlines() if line.lstrip().startswith(f"- `{name}` ("))
        assert line.endswith(f"): {help_line}")


def test_a_wrong_name_says_which_one_was_meant():
    with pytest.raises(TypeError, match="no setting 'secnds'; did you mean 'seconds'"):
        om.marginals(SPRINKLER, secnds=3)
    with pytest.raises(TypeError, match=r"no setting 'wurble'$"):
        om.marginals(SPRINKLER, wurble=3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"method": "gibs"},
            "method: expected auto, exact, counting, toulbar2, gibbs, mcsat, lifted or lmh, not "
            "'gibs'",
        ),
        ({"scan": "sideways"}, "scan: expected systematic or random, not 'sideways'"),
        (
            {"base": "exact"},
            "base: expected gibbs, mcsat, low-width, relations or counts or a kernel, not 'exact'",
        ),
        ({"samples": 10.5}, "samples: expected a whole number, not 10.5"),
        ({"seconds": "5"}, "seconds: expected a number, not '5'"),
        ({"seed": -1}, "seed: expected a whole number of 0 or more, not -1"),
        ({"packs": True}, "packs: expected a whole number of 1 or more, not True"),
        ({"generators": "(A B)"}, "generators: expected a list of words"),
        ({"moves": [1]}, "moves: expected an object"),
        ({"lanes": 40}, "lanes are a multiple of 32, not 40"),
    ],
)
def test_a_wrong_value_says_what_was_expected(given, said):
    with pytest.raises(om.InputError, match=said):
        om.marginals(SPRINKLER, **given)


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    settings = Settings(samples=np.int64(5), seed=np.uint32(1), alpha=np.float32(0.5), method="lmh")
    settings.require_use()


def test_keywords_beside_settings_change_them():
    whole = Settings(method="gibbs", samples=20, seed=3)
    found = om.marginals(SPRINKLER, settings=whole, samples=30)
    assert (found.about.samples, found.about.seed) == (30, 3)


@pytest.mark.parametrize("wrong", ["x.bif", Path("x.bif"), None, 3])
def test_what_is_no_model_is_refused_with_what_to_do(wrong):
    with pytest.raises(InputError, match=r"om\.read\(path\) reads one"):
        om.marginals(wrong)


def test_a_kernel_that_was_not_called_is_refused():
    with pytest.raises(InputError, match=r"om\.kernels\.gibbs\(\), not a function"):
        om.marginals(om.ising_grid(2, 2, 0.3), kernel=om.kernels.gibbs)


def test_two_ends_are_refused_however_the_question_is_answered():
    with pytest.raises(InputError, match="one of samples, seconds and standard_error"):
        om.marginals(om.ising_grid(2, 2, 0.3), samples=10, seconds=1)


def test_a_wrong_name_in_an_answer_gets_a_suggestion():
    found = om.marginals(SPRINKLER, method="exact")
    with pytest.raises(KeyError, match="did you mean 'rain'"):
        found["rian"]
    assert "rian" not in found
    assert found.get("rian") is None


def test_models_show_their_size_and_not_their_tables():
    assert repr(om.ising_grid(3, 3, 0.3, 0.1)) == "Model(9 variables, 21 factors, 0 observed)"


GRID = om.ising_grid(3, 3, 0.3)
WRONG = {
    "seconds": lambda: om.marginals(SPRINKLER, seconds="x"),
    "settings": lambda: om.marginals(SPRINKLER, settings={"seconds": 3}),
    "a setting of settings": lambda: om.marginals(SPRINKLER, settings=Settings(seconds="x")),
    "progress": lambda: om.marginals(SPRINKLER, progress=5),
    "query": lambda: om.marginals(SPRINKLER, query=5),
    "over": lambda: om.best(SPRINKLER, over=5),
    "names": lambda: om.joint(SPRINKLER, 5),
    "candidates": lambda: om.information(SPRINKLER, "rain", 5),
    "ignore": lambda: om.predict(SPRINKLER, [{}], ignore=5),
    "observables": lambda: om.observables(GRID, 5),
    "observables of a sweep": lambda: om.sweep(GRID, [1.0], observables=5),
    "beta": lambda: om.observables(GRID, beta="x"),
    "a model": lambda: om.log_z(5),
    "a file": lambda: om.read(5),
    "a run": lambda: om.resume(5, SPRINKLER),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_value_of_another_kind_is_refused_in_words(what):
    with pytest.raises(om.InputError, match=r"not (about a |'x'|5|\{)"):
        WRONG[what]()
