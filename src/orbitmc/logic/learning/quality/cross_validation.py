"""Choose the width of the prior by what it predicts of databases that were left out."""

from collections.abc import Sequence

import numpy as np

from orbitmc._util.interrupts import heed
from orbitmc.errors import InputError
from orbitmc.logic.learning.changes import Changes, changes, joined
from orbitmc.logic.learning.objectives.ascent import first_step, maximise
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.objectives.prior import prior
from orbitmc.logic.learning.worlds import TrainingWorld

DEVIATIONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_FOLDS = 10


def best_deviation(worlds: Sequence[TrainingWorld]) -> float:
    """The width under which databases are best predicted by weights learned on the others.

    Learning and scoring are by pseudo-likelihood, whatever the method is. Each database is left
    out once; of many, several at a time.
    """
    if len(worlds) < 2:
        raise InputError("to choose the prior by cross-validation, give two databases at least")
    if any(world.hidden.any() for world in worlds):
        raise InputError("a prior cannot be chosen with hidden atoms: give its width")
    known = [changes(world) for world in worlds]
    scores = [left_out_score(worlds, known, deviation) for deviation in DEVIATIONS]
    return DEVIATIONS[int(np.argmax(scores))]


def left_out_score(
    worlds: Sequence[TrainingWorld], known: Sequence[Changes], deviation: float
) -> float:
    """The pseudo-log-likelihood of all databases, each under weights from the other folds."""
    belief = prior(worlds[0].ground, deviation=deviation)
    fold = np.arange(len(known)) % MOST_FOLDS
    total = 0.0
    for number in np.unique(fold):
        rest = [one for place, one in enumerate(known) if fold[place] != number]
        own = [one for place, one in enumerate(known) if fold[place] == number]
        objective = CompositeLikelihood(joined(rest), belief)
        *_, last = maximise(objective, first_step(objective))
        total += CompositeLikelihood(joined(own), belief).without_prior(last.weights)
        heed()
    return total
