"""WebKB with weights learned on the other universities; a look-alike where the data are missing.

Labelled pages only. Word and label weights, and weights of label pairs along links, are learned by
conditional pseudo-likelihood; words and links of the university in question are then given.
"""

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

import numpy as np
from figure import Asked, note
from samplers import paper_lmh
from webkb_files import FOLDS, WebKB, read_webkb, synthetic_webkb, webkb_program

from orbitmc import InputError, Model
from orbitmc.compare import (
    Divergence,
    Reference,
    by_method,
    learn,
    model_of,
    reference_of,
    training_worlds,
)
from orbitmc.mln.learning.learner import LearningSettings as LearningSettings

QUERY = frozenset({"Pageclass"})
DEVIATION = 0.5  # of the prior on weights
SELDOM = 0.98  # the share of Gibbs steps beside shuffles, for the truth
COUNTED = 1 / 16  # of a sweep between two states whose values are counted
LOOK_ALIKES = ("look-alike 1", "look-alike 2")


def universities(folder: Path, *, quick: bool) -> tuple[Mapping[str, WebKB], str]:
    """The folds that are there, and what a title must say about them."""
    found = {} if quick else folds_in(folder)
    if len(found) > 1:
        missing = [name.capitalize() for name in FOLDS if name.capitalize() not in found]
        return found, f" ({', '.join(missing)} missing)" if missing else ""
    pages = {
        name: synthetic_webkb(40, 20, seed=seed) for seed, name in enumerate(LOOK_ALIKES, start=1)
    }
    return pages, " (SYNTHETIC look-alike, not the data)"


def folds_in(folder: Path) -> dict[str, WebKB]:
    found: dict[str, WebKB] = {}
    for name in FOLDS:
        try:
            found[name.capitalize()] = read_webkb(folder, name)
        except InputError:
            note(f"{name.capitalize()} is not in the data")
    return found


def truth_for(model: Model, asked: Asked, name: str) -> Reference:
    """Gibbs, and Gibbs with seldom shuffles, once; the truth is kept beside the weights."""
    seconds = asked.truth_seconds
    path = asked.cache / f"webkb-truth-{file_name(name)}-{seconds:g}.npz"
    if not path.exists():
        pair = [by_method(model, "gibbs", seconds=seconds), paper_lmh(model, alpha=SELDOM)]
        found = reference_of(model, seconds=seconds, seed=1000, samplers=pair)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, probability=found.probability, floor=astuple(found.floor), how=found.how)
    with np.load(path) as kept:
        return Reference(kept["probability"], Divergence(*kept["floor"].tolist()), str(kept["how"]))


def file_name(name: str) -> str:
    return name.lower().replace(" ", "-")


def learned_model(folds: Mapping[str, WebKB], asked: str, cache: Path) -> Model:
    """The model of one university; its weights come from the others and are kept in a file."""
    program = webkb_program(folds.values())
    kept = cache / f"webkb-weights-{file_name(asked)}.npy"
    if kept.exists():
        weights = np.load(kept)
    else:
        others = [fold.everything() for name, fold in folds.items() if name != asked]
        learned = learn(program, others, LearningSettings(query=QUERY, deviation=DEVIATION))
        note(f"{asked}: {len(learned.weights)} weights learned in {learned.seconds:.0f} s")
        weights = learned.weights
        cache.mkdir(parents=True, exist_ok=True)
        np.save(kept, weights)
    (world,) = training_worlds(program, [folds[asked].everything()], QUERY)
    return model_of(world.ground, weights)
