"""Twice the text is twice the work, whether it is right or wrong; work is counted in calls."""

import gc
import sys

import pytest

from orbitmc.errors import OrbitError
from orbitmc.mln.language.parser import parse

DECLARED = (
    "person = {A, B}\nFriends(person,person)\nSmokes(person)\nCancer(person)\n"
    "person MotherOf(person)\nTopic(word!,person)\n"
)
LINES = {
    "clause": "{n}.5 !Topic(W{n},a1) v Smokes(a1) v !Cancer(a1)",
    "nested": "1 Friends(x,y) ^ !(Smokes(x) v Cancer(y)) => (Smokes(x) <=> EXIST z Friends(y,z))",
    "hard": "Friends(P{n},Q{n}) => Smokes(P{n}) ^ Cancer(P{n}).",
    "declaration": "Pred{n}(person, word)",
    "constants": "word = {{W{n}, V{n}}}",
    "unfinished": "1.5 Smokes(x) => Cancer(x",
    "undeclared": "1.5 Smoke{n}(x) => Cancer(x)",
    "character": "1.5 Smokes(x) & Cancer(x)",
    "arity": "1.5 Smokes(x,y) => Cancer(x)",
    "no weight": "Smokes(x) => Cancer(x)",
    "words": "bla bla {n} bla bla",
    "declared twice": "Smokes(person)",
    "small constants": "t{n} = {{ a, B, C }}",
    "strings": '1 Smokes("a {n} // b") v Cancer("',
    "comments": '// {n} "\n/* a\n b */ 1 Smokes(x)',
    "directives": "#unknown {n}",
    "continued": "1 Smokes(x) ^\n  Cancer(x)",
}
PIECES = {
    "disjunction": "Smokes(x{n})",
    "quantifiers": "(EXIST y Friends(x,y))",
    "functions": "Smokes(MotherOf(P{n}))",
    "comparisons": "y{n} = z{n}",
    "brackets": "((((((Smokes(x)))))))",
    "undeclared": "W{n}(x)",
    "terms": "{n}",
    "types": "Topic(x,x)",
}


def calls(text, dialect="alchemy"):
    """How many functions are called to read a text, built-in ones included."""
    count = 0

    def count_one(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_one)
    try:
        parse(text, dialect=dialect)
    except OrbitError:
        count += 1
    finally:
        sys.setprofile(before)
    return count


def doubled(make, dialect="alchemy"):
    """How much more work the second half of twice as much is than the first."""
    calls(make(400), dialect)  # words are remembered, so the first reading of any has more to do
    nothing, once, twice = (calls(make(number), dialect) for number in (0, 200, 400))
    return (twice - once) / (once - nothing)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_lines(line):
    assert doubled(
        lambda count: DECLARED + "".join(line.format(n=n) + "\n" for n in range(count))
    ) == pytest.approx(1, abs=0.1)


DIALECTS = {
    "pracmln": (
        "X(p)\nY(p,q)\n",
        [
            "logx(0.{n}1) X(?a{n}) ^ Y(?a{n},c{n}.n.01) => X|X(?b)",
            "COUNT(?x | Y(?x,c{n})) <= {n}.",
            "P(Y(?x,c{n})) = 0.3",
            "#unique{{+?x,+?y}}\n1 X(?x) ^ X(?y)",
            "1 COUNT(?x | Y(?x,c{n})",
        ],
    ),
    "lomrf": (
        "X(p)\nY(p,q)\n",
        ["{n}.5 X(C{n}) :- Y(C{n},u) ^ !Y(v,D)", "X(a) :- Y(a++,B{n}).", "1 X(t++", "X(C{n}) :- "],
    ),
    "tuffy": (
        "*X(p)\nY(p,q)\n",
        ["w: !Y(x,w) v Y(C{n},w)", "|y| !X(x) v Y(x,y) v Y(C{n},y) <= {n}", "|y| Y(x,y)"],
    ),
}
WRITTEN = [(name, line) for name, (_, lines) in DIALECTS.items() for line in lines]


@pytest.mark.parametrize(("dialect", "line"), WRITTEN)
def test_lines_of_other_dialects(dialect, line):
    declared = DIALECTS[dialect][0]

    def text(count):
        return declared + "".join(line.format(n=n) + "\n" for n in range(count))

    assert doubled(text, dialect) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_long_formulas(piece):
    def text(count):
        pieces = [piece.format(n=n) for n in range(count)]
        return f"{DECLARED}1 {' v '.join(['Smokes(x)', *pieces])}\n"

    assert doubled(text) == pytest.approx(1, abs=0.1)


def test_what_was_read_is_not_searched_again_and_again():
    """Python's search for unreachable objects took a quarter of the time."""
    searches = []
    text = DECLARED + "1.5 Friends(x,y) ^ Smokes(x) => Smokes(y)\n" * 3000

    def heard(phase, _about):
        searches.append(phase)

    gc.callbacks.append(heard)
    try:
        program = parse(text)
    finally:
        gc.callbacks.remove(heard)
    assert len(program.rules) == 3000
    assert not searches
    assert gc.isenabled()
    with pytest.raises(OrbitError):
        parse(DECLARED + "1.5 Smokes(x")
    assert gc.isenabled()


def test_types_that_spread_along_a_chain():
    """Each type is known only once the next is; read from the wrong end it takes no longer."""

    def text(count):
        links = [f"x{n} = x{n + 1}" for n in range(count)]
        return f"{DECLARED}1 {' v '.join([*links, f'Smokes(x{count})'])}\n"

    assert doubled(text) == pytest.approx(1, abs=0.1)


def test_the_count_notices_work_that_grows_with_the_square(monkeypatch):
    from orbitmc.mln.language import resolution as terms

    def slow(self, name):
        number = 1
        while f"{name}_{number}" in self._used_names:
            number += len([number])
        self._used_names.add(f"{name}_{number}")
        return f"{name}_{number}"

    monkeypatch.setattr(terms.TermReader, "fresh", slow)
    piece = PIECES["quantifiers"]
    assert (
        doubled(lambda count: f"{DECLARED}1 {' v '.join(['Smokes(x)', *[piece] * count])}\n") > 1.5
    )
