"""How long does learning 5,474 weights on WebKB take, and do links help on an unseen university?

Each university is left out in turn: weights are learned on the other two by conditional
pseudo-likelihood, then all labels of the third are predicted together by Gibbs sampling, given
words and links; and again by a model without links, and with weights learned by likelihood. Pages
without labels are left out. Seconds include grounding, but neither reading nor compiling.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from scipy.stats import rankdata

from orbitmc.graph.conditionals import conditionals
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.learn.learning import Settings, learn
from orbitmc.learn.worlds import TrainingWorld, training_worlds
from orbitmc.logic.assembly import graph_of
from orbitmc.logic.database import Database, Facts
from orbitmc.logic.evidence import read_database
from orbitmc.logic.parser import parse
from orbitmc.logic.syntax import Program
from orbitmc.run.sampler import sample
from orbitmc.run.schedule import Schedule

DATA = Path(__file__).parents[2] / "shared" / "data" / "webkb"
FOLDS = {"Cornell": 1, "Texas": 2, "Washington": 3}
IN_FILES = """
Linkto(page,page)
Has(word,page)
Pageclass(page,class)
Hasanchor(word,anchor)
Departmentof(page,page)
Instructorsof(page,page)
Membersofproject(page,page)
"""
WITHOUT_LINKS = """
Linkto(page,page)
Has(word,page)
Pageclass(page,class)
Pageclass(p,+c)
Has(+w,p) => Pageclass(p,+c)
"""
WITH_LINKS = WITHOUT_LINKS + "Pageclass(p1,+c1) ^ Linkto(p1,p2) => Pageclass(p2,+c2)\n"
PAGES = {"Pageclass": (0,), "Has": (1,), "Linkto": (0, 1)}  # which arguments are pages
LABELS = frozenset({"Pageclass"})
PRIOR = 0.25  # a page has some sixty words, so each may say little; the same for all folds
PSEUDO = Settings(method="conditional", query=LABELS, deviation=PRIOR)
MODELS = {
    "words": (WITHOUT_LINKS, PSEUDO),
    "words and links": (WITH_LINKS, PSEUDO),
    "words and links, by likelihood": (
        WITH_LINKS,
        replace(PSEUDO, method="discriminative", iterations=60),
    ),
}
SURE = 1e-6  # no label is held more certain than this


@dataclass(frozen=True)
class Score:
    """How good the probabilities of labels are; the first two label by label."""

    area: dict[str, float]
    f1: dict[str, float]
    log_likelihood: float


def read_fold(number: int) -> Database:
    """The facts of one university about its labelled pages; all words that it uses."""
    whole = read_database(DATA / f"webkb-fold{number}.db.gz", parse(IN_FILES))
    labelled = set(whole.facts["Pageclass"].columns[0])
    facts = {name: _about(whole.facts[name], labelled, PAGES[name]) for name in PAGES}
    return Database(facts, {"word": tuple(dict.fromkeys(whole.facts["Has"].columns[0]))})


def _about(facts: Facts, pages: set[str], places: Sequence[int]) -> Facts:
    rows = [
        row
        for row, names in enumerate(zip(*facts.columns, strict=True))
        if all(names[place] in pages for place in places)
    ]
    columns = tuple(tuple(column[row] for row in rows) for column in facts.columns)
    return Facts(columns, facts.truth[rows], facts.log_odds[rows])


def program_on(text: str, folds: Sequence[Database]) -> Program:
    """A program that knows the words and classes of all folds, so that weights are comparable."""
    program = parse(text, learning=True)
    words = {word: None for fold in folds for word in fold.constants["word"]}
    classes = {name: None for fold in folds for name in fold.facts["Pageclass"].columns[1]}
    known = {"word": tuple(words), "class": tuple(sorted(classes))}
    return replace(program, constants={**program.constants, **known})


def probabilities(world: TrainingWorld, weights: Any, samples: int) -> Any:
    """How probable each label is, given words and links."""
    graph = graph_of(world.ground, weights)
    kernel = SystematicScan(conditionals(graph))
    run = sample(graph, kernel, Schedule(samples=samples), seed=1)
    found = run.statistics().probability.reshape(graph.variables, -1)[:, -1]
    return np.clip(found, SURE, 1 - SURE)


def score(world: TrainingWorld, found: Any, classes: Sequence[str]) -> Score:
    """Compare probabilities with the labels of a university."""
    chance, truth = (array.reshape(-1, len(classes)) for array in (found, world.values == 1))
    columns = [(chance[:, place], truth[:, place]) for place in range(len(classes))]
    return Score(
        {name: area(*column) for name, column in zip(classes, columns, strict=True)},
        {name: f1(*column) for name, column in zip(classes, columns, strict=True)},
        float(np.log(np.where(truth, chance, 1 - chance)).mean()),
    )


def area(chance: Any, truth: Any) -> float:
    """The chance that a page with the label is ranked above one without it."""
    ranks = rankdata(chance)
    have, lack = truth.sum(), (~truth).sum()
    return float((ranks[truth].sum() - have * (have + 1) / 2) / (have * lack))


def f1(chance: Any, truth: Any) -> float:
    """Twice the right positives, over all that are said or are positive."""
    said = chance > 0.5
    return float(2 * (said & truth).sum() / max(said.sum() + truth.sum(), 1))


def main() -> None:
    asked = measuring.arguments(__doc__ or "")
    if not DATA.exists():
        sys.exit("the WebKB data are not here")
    measuring.use_one_core()
    folds = {name: read_fold(number) for name, number in FOLDS.items()}
    left_out = list(folds)[:1] if asked.quick else list(folds)
    results = {
        f"{name}, {model}": measure(folds, name, model, quick=asked.quick)
        for name in left_out
        for model in (list(MODELS)[:2] if asked.quick else MODELS)
    }
    rows = [
        [
            row,
            *(found[key] for key in ("weights", "seconds", "iterations", "log_likelihood")),
            *(float(np.mean(list(found[key].values()))) for key in ("area", "f1")),
        ]
        for row, found in results.items()
    ]
    columns = ["left out, model", "weights", "seconds", "iterations", "CLL", "mean AUC", "mean F1"]
    measuring.print_table("learning and predicting page classes", columns, rows)
    for key, title in (("area", "AUC"), ("f1", "F1")):
        classes = list(next(iter(results.values()))[key])
        table = [[row, *found[key].values()] for row, found in results.items()]
        measuring.print_table(f"{title} of each label", ["left out, model", *classes], table)
    measuring.write_results(
        asked.results, "webkb_learning", results, quick=asked.quick, repetitions=1
    )


def measure(
    folds: dict[str, Database], left_out: str, model: str, *, quick: bool
) -> dict[str, Any]:
    """Learn on all folds but one, and score the predictions on that one."""
    text, settings = MODELS[model]
    program = program_on(text, list(folds.values()))
    training = [fold for name, fold in folds.items() if name != left_out]
    learned = learn(program, training, settings)
    (world,) = training_worlds(program, [folds[left_out]], LABELS)
    found = probabilities(world, learned.weights, 20 if quick else 500)
    scored = score(world, found, world.ground.universe.constants["class"])
    return {
        "weights": len(learned.weights),
        "seconds": learned.seconds,
        "iterations": learned.step.iteration,
        "objective": learned.step.objective,
        **asdict(scored),
    }


if __name__ == "__main__":
    main()
