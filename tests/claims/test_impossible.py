"""No question about a model without any possible state has an answer, whatever is observed."""

import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError

VALUES = {"a": ["0", "1"], "b": ["0", "1"]}
ZERO, EQUAL, OTHER = [0.0, 0.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]
MODELS = {
    "no value left": om.model(VALUES, [(["a"], ZERO)]),
    "no pair left": om.model(VALUES, [(["a", "b"], [0.0] * 4)]),
    "two factors that disagree": om.model(VALUES, [(["a", "b"], EQUAL), (["a", "b"], OTHER)]),
    "another component": om.model(
        {**VALUES, "c": ["0", "1"]}, [(["a"], ZERO), (["b", "c"], [1.0, 2.0, 3.0, 4.0])]
    ),
}
EVIDENCE = {
    "nothing": {},
    "a": {"a": "0"},
    "b": {"b": "0"},
    "all": {"a": "0", "b": "0"},
}
QUESTIONS = {
    "marginals": lambda m, e, s: om.marginals(m, e, **s),
    "marginals of b": lambda m, e, s: om.marginals(m, e, query=["b"], **s),
    "information": lambda m, e, s: om.information(m, "a", None, e, **s),
    "information of b": lambda m, e, s: om.information(m, "b", ["a"], e, **s),
    "joint": lambda m, e, s: om.joint(m, ["b"], e, **s),
    "probability": lambda m, e, s: om.probability(m, "b=0", e, **s),
    "expect": lambda m, e, s: om.expect(m, {"x": lambda state: state["b"]}, e, **s),
    "expect a constant": lambda m, e, s: om.expect(m, {"x": lambda state: 0 * state["b"]}, e, **s),
    "draws": lambda m, e, s: om.draws(m, e, **{"samples": 5, **s}),
    "best": lambda m, e, s: om.best(m, e, **{k: s[k] for k in s if k == "method"}),
    "log Z": lambda m, e, s: om.log_z(m, e, **{k: s[k] for k in s if k == "method"}),
    "sweep": lambda m, e, s: om.sweep(m, [0.5, 1.0], e, **s),
}
SETTINGS = {"auto": {}, "gibbs": {"method": "gibbs", "samples": 5}}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("model", MODELS)
def test_an_impossible_model_is_refused(model, question):
    for evidence in EVIDENCE.values():
        for settings in SETTINGS.values():
            with pytest.raises(ContradictionError):
                QUESTIONS[question](MODELS[model], evidence, settings)


def test_a_possible_model_without_other_variables_has_an_empty_answer():
    model = om.model(VALUES, [(["a"], [0.0, 1.0])])
    for settings in SETTINGS.values():
        found = om.information(model, "a", None, {"b": "0"}, **settings)
        assert dict(found) == {}
        assert found.converged
