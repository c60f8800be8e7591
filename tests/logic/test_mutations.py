"""Whatever the text is, only our own error comes out of the readers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.errors import OrbitError
from orbitmc.logic.databases.database import Database
from orbitmc.logic.databases.evidence import parse_database, parse_databases
from orbitmc.logic.language.parser import parse
from orbitmc.logic.language.syntax import Program

MEMORY = 2**24
PROGRAMS = {
    "alchemy": """// smokers
person = { Anna, Bob, "Mary Ann" }
time = { 1, ..., 4 }
Friends(person, person)
Topic(person, class!)
Rain
At(person, time)
person MotherOf(person)
1.5 Friends(x,y) ^ x != y => (Topic(x,+c) <=> Topic(y,c)) v Rain
-2:3 *At(x,i) ^ At(MotherOf(x), succ(i) + 1)
EXIST y Friends(x,y) ^
  /* goes on */ !Rain.
2. FORALL x, y !(Friends(x,y)) v x = Anna
""",
    "pracmln": "X(p)\nCol(p,c?)\n#fixweight\nlog(4)/2 X(x) ^ Col(x,R) v EXIST y (X(y))\nX(x).\n",
    "tuffy": '*w(p a, q b)\nc(q)\n@.5 w(x,y), [x + 1 < y AND x <> 3] => c(y)\n[Label] "l" 1 c(x)\n',
}
DATABASE = """Friends(Anna, Bob) // c
!Rain
?At(Anna,3)
0.7 !Topic(Bob,C) Topic("Mary Ann",D)
Anna = MotherOf(Bob)
time = {1, ..., 9}
---
"""
PIECES = ["(", ")", "[", "]", "{", "}", ",", "!", "?", "*", "+", "-", "^", " v ", "=>", "<=>", "="]
PIECES += ["<", '"', "\\", "\n", "\r", "\t", " ", ".", "...", ":", "@", "#", "//", "/*", "*/", "0"]
PIECES += ["1e999", "9" * 30, "EXIST x ", "x", "X", "é", "\0", "(" * 2000, "!" * 2000, " v X" * 300]
PIECES += ["#include ", "log(", "---", "\u2028", "²", "1", "X => " * 300, "+ 1" * 300, "ß", "Ⅷ"]


@st.composite
def mutations(draw, text):
    """A valid text with pieces put in, taken out, cut off or moved."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(start + 12, len(text))))
        match draw(st.sampled_from(["insert", "delete", "cut", "move"])):
            case "insert":
                text = text[:start] + draw(st.sampled_from(PIECES)) + text[start:]
            case "delete":
                text = text[:start] + text[stop:]
            case "cut":
                text = text[:start]
            case "move":
                place = draw(st.integers(0, len(text)))
                text = text[:place] + text[start:stop] + text[place:]
    return text


@pytest.mark.parametrize("dialect", PROGRAMS)
def test_any_program_is_read_or_refused(dialect):
    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(text=mutations(PROGRAMS[dialect]) | st.text(max_size=40), learning=st.booleans())
    def check(text, learning):
        try:
            program = parse(text, dialect=dialect, learning=learning, memory=MEMORY)
        except OrbitError:
            return
        assert isinstance(program, Program)
        for rule in program.rules:
            assert all(kind in program.constants for kind in rule.types.values())

    check()


@settings(max_examples=500, derandomize=True, deadline=None)
@given(text=mutations(DATABASE) | st.text(max_size=40), reader=st.booleans())
def test_any_database_is_read_or_refused(text, reader):
    program = parse(PROGRAMS["alchemy"])
    try:
        if reader:
            database = parse_database(text, program, memory=MEMORY)
        else:
            database, *_ = parse_databases(text, program, memory=MEMORY)
    except OrbitError:
        return
    assert isinstance(database, Database)
    for name, facts in database.facts.items():
        assert len(facts.columns) == len(program.predicates[name].types)
        assert all(len(column) == len(facts.truth) for column in facts.columns)
