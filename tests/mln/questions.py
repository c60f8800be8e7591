"""Random programs as the package reads them."""

import numpy as np

from orbitmc.inference.program import MarkovLogic, ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.oracle.markov_logic import Case
from tests.oracle.markov_logic_text import database_text, program_text


def question(case: Case, seed: int) -> MarkovLogic:
    """Our reading of a program; the seed decides how it is written."""
    rng = np.random.default_rng(seed)
    program = parse(program_text(case, rng), dialect=case.dialect)
    return ground_program(
        program,
        parse_database(database_text(case, rng), program),
        query=None if case.query is None else ",".join(sorted(case.query)),
        opened=case.opened,
        closed=case.closed,
        meaning=case.meaning,
    )
