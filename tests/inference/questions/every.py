"""Every question, asked of one model in the same way."""

import orbitmc as om
from orbitmc.estimate.answers import Sweep
from orbitmc.inference._predict import predictions


def questions(model):
    """A function of settings for each question about a model of spins, by name."""
    first, second = model.names[:2]
    return {
        "marginals": lambda **how: om.marginals(model, **how),
        "joint": lambda **how: om.joint(model, [first, second], **how),
        "probability": lambda **how: om.probability(model, f"{first} == 'up'", **how),
        "expect": lambda **how: om.expect(model, {"up": lambda s: s[first] == 1}, **how),
        "information": lambda **how: om.information(model, first, [second], **how),
        "draws": lambda **how: om.draws(model, **{"samples": 8, "chains": 1} | how),
        "best": lambda **how: om.best(model, **how),
        "log_z": lambda **how: om.log_z(model, **how),
        "sweep": lambda **how: om.sweep(model, [0.5], **how),
        "observables": lambda **how: om.observables(model, ["energy", "|m|"], **how),
        "predict": lambda **how: _predicted(model, **how),
    }


def _predicted(model, watchers=(), **how):
    rows = [{model.names[0]: "up"}, {}]
    return predictions(model, rows, settings=om.Settings(**how), watchers=watchers)


def about(answer):
    """How an answer was found."""
    return answer[0].marginals.about if isinstance(answer, Sweep) else answer.about
