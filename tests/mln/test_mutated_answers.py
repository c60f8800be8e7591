"""Whatever a program and a database say, they are answered with probabilities, or refused."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.errors import OrbitError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.answers import atoms_answered, ends_well
from tests.mln.test_mutations import mutations

MEMORY = 2**24
PROGRAMS = {
    "alchemy": """person = { Anna, Bob }
class = { C, D }
time = { 1, 2 }
Friends(person, person)
Topic(person, class!)
Rain
At(person, time)
1.5 Friends(x,y) ^ x != y => (Topic(x,+c) <=> Topic(y,c)) v Rain
-2 At(x,i) ^ !At(x, i + 1)
EXIST y Friends(x,y) ^ !Rain.
0.3 FORALL x, y !(Friends(x,y)) v x = Anna
""",
    "pracmln": """p = { A, B }
c = { R, S }
X(p)
Col(p,c!)
log(4)/2 X(x) ^ Col(x,R) v EXIST y (X(y))
-0.7 X(x) <=> Col(x,S)
X(A) v X(B).
""",
    "tuffy": """w(p, q)
c(q)
.5 w(x,y) => c(y)
-1 !w(x,y) v !c(y)
""",
}
DATABASES = {
    "alchemy": "Friends(Anna, Bob)\n?Friends(Bob, Bob)\n0.7 At(Bob,2)\n!Topic(Bob,C)\n",
    "pracmln": "X(B)\n?Col(A,R)\n0.9 X(A)\n",
    "tuffy": "w(P, Q)\n?w(P2, Q)\n0.25 c(Q)\n",
}
KINDS = {
    "weight": (r"(?m)^-?[\d.]+(?= )", ["1e308", "-1e308", "1e16", "-1e16", "1e7", "1e-308", "0"]),
    "sign": (r"=>|<=>| v | \^ ", ["=>", "<=>", " v ", " ^ "]),
    "name": (r"\b[A-Z]\w*(?=\()|\b[wc](?=\()", ["Friends", "Topic", "At", "X", "Col", "w", "c"]),
    "term": (r"(?<=[(,])[\w +]+(?=[,)])", ["x", "y", "z", "i", "c", "Anna", "1", "A", "R", "Q"]),
    "not": (r"\b(?=[A-Z]\w*\()|!(?=\w)", ["", "!", "?", "EXIST x ", "!EXIST y ", "0.3 ", "1 "]),
    "end": (r"\.?\n", [".\n", "\n", "\n\n", " v Rain\n", " ^ X(x)\n", " => c(y)\n"]),
}
"""Pieces of a text by what they are, and what may stand for them instead."""


@st.composite
def changed(draw, text):
    """A text that is mutated anywhere, or has some pieces exchanged for others of their kind."""
    if draw(st.integers(0, 4)) == 0:
        return draw(mutations(text))
    for _ in range(draw(st.integers(1, 3))):
        pattern, others = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        places = [found.span() for found in re.finditer(pattern, text)]
        if places:
            start, stop = draw(st.sampled_from(places))
            text = text[:start] + draw(st.sampled_from(others)) + text[stop:]
    return text


def is_answered(text, facts, dialect):
    try:
        program = parse(text, dialect=dialect, memory=MEMORY)
        database = parse_database(facts, program, memory=MEMORY)
        asked = ground_program(program, database, max_groundings=2_000, memory=MEMORY)
    except OrbitError:
        return False
    return atoms_answered(asked)


def answers_to_programs(dialect, examples):
    @settings(max_examples=examples, derandomize=True, deadline=None)
    @given(text=changed(PROGRAMS[dialect]))
    def check(text):
        answers.append(is_answered(text, DATABASES[dialect], dialect))

    answers = []
    check()
    return answers


def answers_to_databases(dialect, examples):
    @settings(max_examples=examples, derandomize=True, deadline=None)
    @given(facts=changed(DATABASES[dialect]))
    def check(facts):
        answers.append(is_answered(PROGRAMS[dialect], facts, dialect))

    answers = []
    check()
    return answers


@pytest.mark.parametrize("dialect", PROGRAMS)
def test_any_program_is_answered_or_refused(dialect):
    assert sum(answers_to_programs(dialect, 250)) > 50  # so this is about answers


@pytest.mark.parametrize("dialect", PROGRAMS)
def test_any_database_is_answered_or_refused(dialect):
    assert sum(answers_to_databases(dialect, 150)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("dialect", PROGRAMS)
def test_answers_stay_within_limits_of_time_and_memory(dialect):
    assert ends_well(answers_to_programs, dialect, 5_000)
    assert ends_well(answers_to_databases, dialect, 3_000)
