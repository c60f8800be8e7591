"""Whatever is asked exactly, tables that do not fit into the memory that is given are refused."""

import pytest

import orbitmc as om
from orbitmc.errors import LimitError

GRID = om.ising_grid(12, 12, 0.3)
FIRST, SECOND = GRID.names[:2]
QUESTIONS = {
    "marginals": lambda **how: om.marginals(GRID, **how),
    "joint": lambda **how: om.joint(GRID, [FIRST, SECOND], **how),
    "probability": lambda **how: om.probability(GRID, f"{FIRST} == 'up'", **how),
    "expect": lambda **how: om.expect(GRID, {"up": lambda states: states[FIRST] == 1}, **how),
    "information": lambda **how: om.information(GRID, FIRST, [SECOND], **how),
    "draws": lambda **how: om.draws(GRID, samples=8, chains=1, **how),
    "best": lambda **how: om.best(GRID, **how),
    "log_z": lambda **how: om.log_z(GRID, **how),
    "sweep": lambda **how: om.sweep(GRID, [0.5], **how),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_tables_that_do_not_fit_are_refused(question):
    with pytest.raises(LimitError, match="the limit is"):
        QUESTIONS[question](method="exact", memory=2**15)
