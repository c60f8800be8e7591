"""Small programs with data, for learning."""

from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.worlds import training_worlds

SMOKERS = """
Smokes(person)
Cancer(person)
Friends(person,person)
0.5 Smokes(x) => Cancer(x)
Friends(x,y) ^ Smokes(x) => Smokes(y)
Smokes(x) v Cancer(x) v Friends(x,x) v !Friends(x,y)
-1. Friends(x,y)
Smokes(x) ^ Cancer(x) ^ Friends(x,y)
"""
PEOPLE = """
Smokes(Anna)
Cancer(Anna)
Friends(Anna,Bob)
Friends(Bob,Anna)
Smokes(Bob)
!Smokes(Carl)
"""

PAGES = """
Topic(page, class!)
Has(word, page)
Linkto(page, page)
Has(+w,p) => Topic(p,+c)
Topic(p1,+c1) ^ Linkto(p1,p2) => Topic(p2,+c2)
Topic(p1,c) v Topic(p2,c) v Topic(p3,c) v !Linkto(p1,p2) v !Linkto(p2,p3)
0.3 Topic(p,c) ^ Linkto(p,q) => !Topic(q,c)
"""
FIRST_PAGES = """
Topic(P1,A)
Topic(P2,B)
Topic(P3,C)
Has(Foo,P1)
Has(Bar,P1)
Has(Bar,P3)
Linkto(P1,P2)
Linkto(P2,P3)
"""
SECOND_PAGES = """
Topic(Q1,B)
Topic(Q2,B)
Has(Baz,Q1)
Has(Foo,Q2)
Linkto(Q2,Q1)
"""

HARD = """
Smokes(person)
Cancer(person)
Smokes(x) v Cancer(x).
Smokes(x) => Cancer(x)
Smokes(x)
"""
HEALTH = """
Smokes(Anna)
Cancer(Bob)
Smokes(Carl)
Cancer(Carl)
Cancer(Dora)
"""

CASES = {
    "generative": (SMOKERS, [PEOPLE], None),
    "given friends": (SMOKERS, [PEOPLE], {"Smokes", "Cancer"}),
    "blocks, + weights and two worlds": (PAGES, [FIRST_PAGES, SECOND_PAGES], {"Topic"}),
    "a hard rule": (HARD, [HEALTH], None),
}


def worlds_of(program, databases, explained=None):
    """The training worlds of texts."""
    read = parse(program, learning=True)
    return training_worlds(read, [parse_database(text, read) for text in databases], explained)
