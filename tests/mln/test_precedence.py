"""Every chain of connectives groups as cutting it at the loosest, rightmost connective would."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.mln.language.parser import parse
from tests.mln.shown import shown

LOOSEST_FIRST = {"alchemy": ["<=>", "=>", "v", "^"], "pracmln": ["^", "v"]}
DECLARATIONS = "A\nB\nC\nD\nE\nP(t)\nQ(t,t)\n"


def grouped(words, loosest_first):
    """Put all parentheses; chains of ^ and v stay flat, as they have no order."""
    for connective in loosest_first:
        places = [place for place, word in enumerate(words) if word == connective]
        if places and connective in "^v":
            cuts = [-1, *places, len(words)]
            parts = [words[a + 1 : b] for a, b in itertools.pairwise(cuts)]
            return "(" + f" {connective} ".join(grouped(p, loosest_first) for p in parts) + ")"
        if places:
            left, right = words[: places[-1]], words[places[-1] + 1 :]
            return f"({grouped(left, loosest_first)} {connective} {grouped(right, loosest_first)})"
    (word,) = words
    return word


@pytest.mark.parametrize("dialect", LOOSEST_FIRST)
def test_chains_of_connectives(dialect):
    for connectives in itertools.product(LOOSEST_FIRST[dialect], repeat=4):
        words = ["A", *itertools.chain(*zip(connectives, ["!B", "C", "!D", "E"], strict=True))]
        (rule,) = parse(DECLARATIONS + "1 " + " ".join(words), dialect=dialect).rules
        assert shown(rule.formula) == grouped(words, LOOSEST_FIRST[dialect])


LEAVES = st.sampled_from(["A", "B", "P(x)", "P(v)", "Q(x,y)", "Q(y,v)", "(x = y)", "(v != x)"])
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("!{}".format, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["^", "v", "=>", "<=>"]), inner),
    ),
    max_leaves=12,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(text=NESTED)
def test_with_all_parentheses_a_formula_is_read_as_it_stands(text):
    typed = f"({text} ^ (Q(x,y) ^ P(v)))"
    for dialect in ("alchemy", "pracmln", "tuffy"):
        (rule,) = parse(f"{DECLARATIONS}1 {typed}", dialect=dialect).rules
        assert shown(rule.formula) == typed
        assert rule.types == {"x": "t", "y": "t", "v": "t"}
