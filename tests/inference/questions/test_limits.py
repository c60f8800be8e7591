"""Whatever is asked exactly, tables that do not fit into the memory that is given are refused."""

import pytest

import orbitmc as om
from orbitmc.errors import LimitError
from tests.inference.questions.every import questions

QUESTIONS = questions(om.ising_grid(12, 12, 0.3))


@pytest.mark.parametrize("question", sorted(QUESTIONS.keys() - {"predict"}))
def test_tables_that_do_not_fit_are_refused(question):
    with pytest.raises(LimitError, match="the limit is"):
        QUESTIONS[question](method="exact", memory=2**15)
