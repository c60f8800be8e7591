"""Evidence in any form that people have it means the same to every question."""

import numpy as np
import pandas as pd
import pytest

import orbitmc as om
from orbitmc.errors import InputError

NUMBERS = {
    "marginals": lambda m, seen: om.marginals(m, seen, query=["season"])["season"].probability,
    "joint": lambda m, seen: om.joint(m, ["season", "rain"], seen).probability,
    "probability": lambda m, seen: om.probability(m, "rain == none or season == dry", seen).value,
    "expect": lambda m, seen: om.expect(m, {"f": lambda s: s["season"]}, seen)["f"].value,
    "draws": lambda m, seen: om.draws(m, seen, samples=9, chains=2, seed=1).log_weight,
    "best": lambda m, seen: [one.log_weight for one in om.best(m, seen, k=3)],
    "log_z": lambda m, seen: om.log_z(m, seen).value,
    "information": lambda m, seen: om.information(m, "season", ["rain"], seen)["rain"].value,
    "sweep": lambda m, seen: [float(rung.energy) for rung in om.sweep(m, [0.5, 1.0], seen)],
    "predict": lambda m, seen: om.predict(m, [{}], seen, query=["season"]).to_numpy(),
    "given": lambda m, seen: om.log_z(m.given(seen)).value,
}
ALIKE = {
    "a row": (pd.Series({"grass": "wet", "season": np.nan}), {"grass": "wet"}),
    "a row of a frame": (pd.DataFrame({"grass": ["wet"]}).iloc[0], {"grass": "wet"}),
    "a number": ({"grass": np.int8(1)}, {"grass": "wet"}),
    "text of numpy": ({"grass": np.str_("wet")}, {"grass": "wet"}),
    "nothing": ({"grass": np.nan, "season": None, "rain": pd.NA}, {}),
    "weights in order": ({"grass": [0.2, 0.8]}, {"grass": {"wet": 0.8, "dry": 0.2}}),
    "a set": ({"rain": {"light", "heavy"}}, {"rain": [0, 1, 1]}),
    "a set of one": ({"rain": frozenset(["light"])}, {"rain": "light"}),
}


@pytest.fixture(scope="module")
def sprinkler():
    return om.read("examples/sprinkler.bif")


@pytest.mark.parametrize("question", NUMBERS)
@pytest.mark.parametrize("form", ALIKE)
def test_forms_mean_the_same(sprinkler, form, question):
    one, other = ALIKE[form]
    found, expected = (np.asarray(NUMBERS[question](sprinkler, seen)) for seen in (one, other))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("question", NUMBERS)
@pytest.mark.parametrize(("seen", "said"), [({"gras": "wet"}, "grass"), ({"grass": "wett"}, "wet")])
def test_wrong_names_and_values_get_a_suggestion(sprinkler, question, seen, said):
    with pytest.raises(InputError, match=f"did you mean '{said}'"):
        NUMBERS[question](sprinkler, seen)


@pytest.mark.parametrize("question", NUMBERS)
def test_truths_are_for_values_that_say_so(sprinkler, question):
    with pytest.raises(InputError, match="True"):
        NUMBERS[question](sprinkler, {"grass": True})
