"""Relations that hard rules make of a predicate are known by their meaning."""

import itertools
import random
import re
from functools import cache

import numpy as np
import pytest

from orbitmc.mln.grounding.relations import recognise_relations
from orbitmc.mln.language.parser import parse

# A law is a clause: where all pairs of the body are related, one of the head is. "x=y" is equality.

REFLEXIVE = ((), ("xx",))
IRREFLEXIVE = (("xx",), ())
SYMMETRIC = (("xy",), ("yx",))
TRANSITIVE = (("xy", "yz"), ("xz",))
EUCLIDEAN = (("xy", "xz"), ("yz",))
LEFT_EUCLIDEAN = (("xz", "yz"), ("xy",))
CYCLIC = (("xy", "yz"), ("zx",))
ANTISYMMETRIC = (("xy", "yx"), ("x=y",))
ASYMMETRIC = (("xy", "yx"), ())
TOTAL = ((), ("xy", "yx", "x=y"))
STRONGLY_TOTAL = ((), ("xy", "yx"))
CHAIN = (("xz", "yz"), ("xy", "yx", "x=y"))
ONE_SECOND = (("xy", "xz"), ("y=z",))
ONE_FIRST = (("xz", "yz"), ("x=y",))
NO_PATH = (("xy", "yz"), ())
SMALL_BLOCKS = (("xy", "yz"), ("x=y", "y=z", "x=z"))
EVERY_LAW = (
    *(REFLEXIVE, IRREFLEXIVE, SYMMETRIC, TRANSITIVE, EUCLIDEAN, LEFT_EUCLIDEAN, CYCLIC),
    *(ANTISYMMETRIC, ASYMMETRIC, TOTAL, STRONGLY_TOTAL, CHAIN, ONE_SECOND, ONE_FIRST),
    *(NO_PATH, SMALL_BLOCKS),
)

WAYS = {
    "equivalence": [
        (REFLEXIVE, SYMMETRIC, TRANSITIVE),
        (REFLEXIVE, EUCLIDEAN),
        (REFLEXIVE, LEFT_EUCLIDEAN),
        (REFLEXIVE, CYCLIC),
        (REFLEXIVE, SYMMETRIC, EUCLIDEAN, TRANSITIVE),
    ],
    "partial equivalence": [(SYMMETRIC, TRANSITIVE), (SYMMETRIC, EUCLIDEAN), (SYMMETRIC, CYCLIC)],
    "total order": [
        (REFLEXIVE, TOTAL, ANTISYMMETRIC, TRANSITIVE),
        (STRONGLY_TOTAL, ANTISYMMETRIC, TRANSITIVE),
    ],
    "strict total order": [
        (IRREFLEXIVE, TOTAL, TRANSITIVE),
        (ASYMMETRIC, TOTAL, TRANSITIVE),
        (IRREFLEXIVE, ANTISYMMETRIC, TOTAL, TRANSITIVE),
    ],
    "forest": [(IRREFLEXIVE, TRANSITIVE, CHAIN), (ASYMMETRIC, TRANSITIVE, CHAIN)],
    "partial matching": [(ONE_SECOND, ONE_FIRST)],
    "symmetric": [(SYMMETRIC,)],
}
LABELLED = {  # relations of a kind on four elements, as everybody counts them
    "equivalence": 15,  # Bell numbers
    "partial equivalence": 52,
    "total order": 24,
    "strict total order": 24,
    "forest": 125,  # rooted labelled forests: 5 ** 3
    "partial matching": 209,  # partial injections
    "symmetric": 1024,
}


def literal(part):
    return f"{part[0]} = {part[2]}" if "=" in part else f"R({part[0]},{part[1]})"


def negated(part):
    return literal(part).replace(" = ", " != ") if "=" in part else f"!{literal(part)}"


def shuffle(parts, rng):
    every = list(parts)
    return rng.sample(every, len(every))


def implication(law, rng):
    left = " ^ ".join(map(literal, shuffle(law[0], rng)))
    right = " v ".join(map(literal, shuffle(law[1], rng)))
    if not law[0]:
        return right
    return f"{left} => ({right})" if law[1] else f"!({left})"


def clause(law, rng):
    return " v ".join(shuffle([*map(negated, law[0]), *map(literal, law[1])], rng))


def contrapositive(law, rng):
    left, right = shuffle(map(negated, law[1]), rng), shuffle(map(negated, law[0]), rng)
    return f"{' ^ '.join(left)} => ({' v '.join(right)})" if left and right else clause(law, rng)


def denial(law, rng):
    """It is not so that the body holds and the head does not."""
    return f"!({' ^ '.join(shuffle([*map(literal, law[0]), *map(negated, law[1])], rng))})"


def curried(law, rng):
    """One condition after the other."""
    if len(law[0]) < 2 or not law[1]:
        return denial(law, rng)
    first, second = shuffle(map(literal, law[0]), rng)
    return f"{first} => ({second} => ({' v '.join(map(literal, law[1]))}))"


def quantified(law, rng):
    names = sorted(set("".join((*law[0], *law[1]))) - {"="})
    return f"(FORALL {','.join(shuffle(names, rng))} ({implication(law, rng)}))"


def two_sided(law, rng):
    """Symmetry both ways; other laws are as true as what always holds."""
    if law == SYMMETRIC:
        return "R(x,y) <=> R(y,x)"
    return f"({clause(law, rng)}) <=> (R(x,x) v !R(x,x))"


FORMS = (implication, clause, contrapositive, denial, curried, quantified, two_sided)


def rename(formula, rng):
    names = dict(zip("xyz", rng.sample(["a", "b1", "c", "some", "x", "y", "zz"], 3), strict=True))
    return re.sub(r"\b[xyz]\b", lambda found: names[found[0]], formula)


def spell(laws, rng):
    """Rules in other words: any form, any order, renamed, some of them merged into one."""
    formulas = [rng.choice(FORMS)(law, rng) for law in shuffle(laws, rng)]
    while len(formulas) > 1 and rng.random() < 0.3:
        formulas[-2:] = [f"({formulas[-2]}) ^ ({formulas[-1]})"]
    return "\n".join(f"{rename(formula, rng)}." for formula in formulas)


def kinds(rules, declared="R(t,t)"):
    program = parse(f"{declared}\nS(t,t)\nT(t,t,t)\n{rules}\n")
    return {relation.predicate: relation.kind for relation in recognise_relations(program)}


def relations_on_four():
    bits = np.arange(2**16)[:, None] >> np.arange(16) & 1
    return bits.astype(bool).reshape(-1, 4, 4)


FOUR = relations_on_four()


@cache
def satisfied(law):
    """Which relations on four elements satisfy a law, by trying all elements."""
    holds = np.ones(len(FOUR), dtype=bool)
    for chosen in itertools.product(range(4), repeat=3):
        at = dict(zip("xyz", chosen, strict=True))

        def truth(part, at=at):
            equal = np.full(len(FOUR), at[part[0]] == at[part[-1]])
            return equal if "=" in part else FOUR[:, at[part[0]], at[part[1]]]

        heads = np.any([truth(part) for part in law[1]] + [np.zeros(len(FOUR), bool)], axis=0)
        holds &= heads | ~np.all([truth(part) for part in law[0]] + [~heads], axis=0)
    return holds


def satisfying(laws):
    return np.all([satisfied(law) for law in laws], axis=0)


@pytest.mark.parametrize("kind", WAYS)
def test_laws_of_a_kind_have_as_many_relations_as_everybody_counts(kind):
    for laws in WAYS[kind]:
        assert satisfying(laws).sum() == LABELLED[kind]


@pytest.mark.parametrize("kind", WAYS)
def test_a_kind_is_recognised_in_two_hundred_spellings(kind):
    rng = random.Random(kind)
    spellings = set()
    while len(spellings) < 200:
        spellings.add(spell(rng.choice(WAYS[kind]), rng))
    for rules in spellings:
        assert kinds(rules) == {"R": kind}, rules


def test_laws_in_any_company_are_taken_for_what_they_are_and_never_for_more():
    """Whatever is recognised has exactly the relations of its kind on four elements."""
    rng = random.Random(3)
    seen = dict.fromkeys(WAYS, 0)
    for _ in range(400):
        laws = rng.sample(EVERY_LAW, rng.randint(1, 4))
        texts = [rng.choice(FORMS)(law, rng) for law in laws]
        program = parse("R(t,t)\n" + "\n".join(f"{rename(text, rng)}." for text in texts) + "\n")
        for relation in recognise_relations(program):
            used = [laws[number] for number in relation.rules]
            assert satisfying(used).sum() == LABELLED[relation.kind]
            assert (satisfying(used) == satisfying(WAYS[relation.kind][0])).all()
            assert not (satisfying(laws) & ~satisfying(used)).any()
            seen[relation.kind] += 1
    assert min(seen["equivalence"], seen["symmetric"], seen["partial matching"]) >= 3


SAME = "R(x,x).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) => R(x,z)."


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ("R(x,x).\nR(x,y) => R(y,x).", "symmetric"),
        ("R(x,x).\nR(x,y) ^ R(y,z) => R(x,z).", None),
        ("R(x,x).\nR(x,y) => R(y,x).\n3 R(x,y) ^ R(y,z) => R(x,z)", "symmetric"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) => S(x,z).", "symmetric"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) ^ S(x,z) => R(x,z).", "symmetric"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(x,A) ^ R(A,z) => R(x,z).", "symmetric"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) ^ x < z => R(x,z).", "symmetric"),
        ("R(A,A).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) => R(x,z).", "partial equivalence"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(x,y) ^ R(y,z) ^ R(z,w) => R(x,w).", "symmetric"),
        ("R(x,x).\nR(x,y) => R(y,x).\nR(+x,y) ^ R(y,z) => R(+x,z).", "symmetric"),
        ("R(x,x).\nEXIST y (R(x,y) => R(y,x)).\nR(x,y) ^ R(y,z) => R(x,z).", None),
        ("R(x,y) ^ R(x,z) => y = z.", None),
        ("!R(x,x).\nR(x,y) ^ R(y,z) => R(x,z).", None),
        ("!R(x,x).\nR(x,y) v R(y,x) v x = y.", None),
    ],
)
def test_rules_that_are_almost_of_a_kind_are_not_taken_for_it(rules, kind):
    assert kinds(rules).get("R") == kind


def test_other_rules_about_a_relation_stay_rules():
    extra = "R(x,y) ^ R(y,z) => x = y v y = z v x = z."
    program = parse(f"R(t,t)\nS(t,t)\n1.5 R(x,y) => S(x,y)\n{extra}\n{SAME}\n")
    (relation,) = recognise_relations(program)
    assert (relation.kind, relation.rules) == ("equivalence", (2, 3, 4))


def test_several_relations_are_told_apart():
    rules = f"{SAME}\n{SAME.replace('R(', 'S(')}\nT(x,y,z) => R(x,y)."
    assert kinds(rules) == {"R": "equivalence", "S": "equivalence"}


@pytest.mark.parametrize("declared", ["R(t,t!)", "R(t)", "R(t,t,t)"])
def test_predicates_that_are_no_plain_relations_are_passed_over(declared):
    arguments = ",".join("x" * (1 + declared.count(",")))
    assert kinds(f"R({arguments}).", declared) == {}


SECOND, FIRST = "M(x,y) ^ M(x,z) => y = z.", "M(x,y) ^ M(w,y) => x = w."


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        (f"{SECOND}\n{FIRST}", "partial matching"),
        (f"!(M(x,y) ^ M(x,z) ^ y != z).\n{FIRST}", "partial matching"),
        (f"{SECOND}\n{FIRST}\nEXIST y M(x,y).", "matching of all first"),
        (f"{SECOND}\n{FIRST}\nEXIST x M(x,y).", "matching of all second"),
        (f"{SECOND}\n{FIRST}\nEXIST x M(x,y).\n!(FORALL y !M(x,y)).", "perfect matching"),
        (f"{SECOND}\n{FIRST}\nEXIST x !M(x,y).", "partial matching"),
        (f"{SECOND}\n{FIRST}\n2 EXIST x M(x,y)", "partial matching"),
        (f"{SECOND}\n{FIRST}\nEXIST x,y M(x,y).", "partial matching"),
        (f"{SECOND}\nEXIST y M(x,y).", None),
        (f"{FIRST}\nEXIST y M(x,y).", None),
        (f"{SECOND}\n2 {FIRST[:-1]}", None),
    ],
)
def test_matchings_of_two_sorts_are_recognised(rules, kind):
    assert kinds(rules, "M(left,right)").get("M") == kind


def test_a_matching_in_two_hundred_spellings():
    rng = random.Random(5)
    spellings = set()
    while len(spellings) < 200:
        forms = [rng.choice(FORMS[:6])(law, rng) for law in shuffle([ONE_SECOND, ONE_FIRST], rng)]
        spellings.add("\n".join(f"{rename(form, rng)}." for form in forms).replace("R(", "M("))
    for rules in spellings:
        assert kinds(rules, "M(left,right)") == {"M": "partial matching"}, rules
