"""Whatever the text is, only our own error comes out of the readers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.errors import OrbitError
from orbitmc.mln.data.database import Database
from orbitmc.mln.data.reader import parse_database, parse_databases
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import Program

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
    "marked": """#fuzzy
like(thing, kind)
use(thing)
thing = {cup, mug.n.01}
#unique{+?k,+?l}
logx(0.3) like(?t,+?k) ^ like(?t,+?l) => use|use(?t)
-float('inf') EXIST ?u (use(?u) ^ ?u =/= cup)
COUNT(?t | use(?t)) <= 1.
1 count(use(?t)) = 1
P(use(?t)) = 0.2
R(use(cup) v use(mug.n.01)) = 0.7
""",
    "lomrf": """time = {1, ..., 4}
fluent meet(id, id)
Holds(fluent, time)
Happens(id, time)
Holds(f, t) => Holds(f, t++).
1.5 Holds(meet(a,b), t) :- Happens(a, t--) ^ !Happens(b, t) ^ a != b
Holds(meet(A,b), t) :- Happens(b, t).
""",
    "rockit": """*known(p, float_)
good(p)
w: !known(x, w) v good(x)
|x| !known(x, y) v good(x) <= 2
!good(x) v good([y]).
""",
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
PIECES += ["++", "--", ":-", "?x", "|", "COUNT(", "P(", "$", "w:", "#fuzzy\n", "#unique{"]
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
    spoken = {"marked": "pracmln", "rockit": "tuffy"}.get(dialect, dialect)

    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(text=mutations(PROGRAMS[dialect]) | st.text(max_size=40), learning=st.booleans())
    def check(text, learning):
        try:
            program = parse(text, dialect=spoken, learning=learning, memory=MEMORY)
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
