"""Evidence of low Boolean rank: what counts of the approximation say, and that they say so."""

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError
from orbitmc.inference.program import MarkovLogic
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN
from orbitmc.symmetry.boolean_rank import factorise_links
from tests.lifted.random_fragments import random_fragment
from tests.lifted.test_counting import CLOSE, SMOKERS, people, read

CAUTION = "this answers an approximation of the program, not the program"


def irregular_friends(count: int = 12, pairs: int = 20) -> MarkovLogic:
    """Smokers with closed friendships without a pattern, and soft evidence on everybody."""
    rng = np.random.default_rng(3)
    every = list(itertools.combinations(range(count), 2))
    some = [every[place] for place in rng.choice(len(every), pairs, replace=False)]
    facts = [f"Friends(P{a},P{b})\nFriends(P{b},P{a})" for a, b in some]
    facts += [f"{0.1 + 0.8 * n / count:.4f} Smokes(P{n})" for n in range(count)]
    return read(people(count) + SMOKERS, "\n".join(facts), opened=["Smokes"])


def matrix(program: MarkovLogic, name: str = "Friends") -> np.ndarray:
    """What is known of all pairs."""
    atoms = program.source.atoms.atoms[name]
    size = program.source.atoms.universe.size("person")
    return atoms.status(np.arange(atoms.size)).reshape(size, size)


RULES = (
    "{} Smokes(x) ^ Friends(x,y) => Smokes(y)",
    "{} Friends(x,y) => (Cancer(x) <=> Smokes(y))",
    "{} Friends(x,y) ^ !Friends(y,x)",
    "{} Smokes(x) => Cancer(x)",
    "{} x != y => (Smokes(x) v Cancer(y))",
    "{} Cancer(x)",
)


def random_friends(seed: int) -> MarkovLogic:
    """Random rules, and irregular evidence of every kind on friends, closed or not."""
    rng = np.random.default_rng(seed)
    count, share = int(rng.integers(4, 7)), rng.uniform(0.2, 0.9)
    closed = bool(rng.random() < 0.5) or count > 4
    rules = [rule.format(repr(float(rng.normal()))) for rule in RULES if rng.random() < 0.7]
    facts = [f"{rng.uniform(0.1, 0.9):.3f} Smokes(P{n})" for n in range(0, count, 2)]
    for a, b in itertools.product(range(count), repeat=2):
        if rng.random() < share:
            sign = rng.choice(["", "", "!", "0.3 ", "0.8 "] if count < 5 else ["", "", "!"])
            facts.append(f"{sign}Friends(P{a},P{b})")
    head = "\n".join(SMOKERS.strip().splitlines()[:3])
    opened = ["Smokes", "Cancer", *([] if closed else ["Friends"])]
    text = people(count) + head + "\n" + "\n".join(rules) + "\n0.2 Friends(x,y) ^ Smokes(x)\n"
    return read(text, "\n".join(facts), opened=opened)


def random_evidence(seed: int) -> MarkovLogic:
    written = random_fragment(seed)
    return read(written.program, written.database, opened=written.opened)


def compare(write: Callable[[int], MarkovLogic], seed: int) -> tuple[str, ...]:
    """Count a random program with evidence of rank 1, and eliminate what it means on the ground."""
    try:
        program = write(seed)
        approximate = program.over_symmetric(rank=1, clusters=1)
        exact = om.marginals(approximate, method="exact")
    except (ContradictionError, InputError):
        return ("impossible",)
    counted = om.marginals(approximate, method="counting")
    assert counted.about.warnings[0].startswith(CAUTION)
    assert exact.about.warnings[0].startswith(CAUTION)
    log_z = float(om.log_z(approximate, method="exact"))
    assert counted.about.log_z == pytest.approx(log_z, abs=CLOSE, rel=1e-13)
    assert list(counted) == list(exact)
    assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE
    try:
        truth = om.marginals(program, method="exact")
    except ContradictionError:
        return ("counted",)
    shared = [name for name in truth if name in counted]
    gap = max(
        (abs(truth[name].probability[0] - counted[name].probability[0]) for name in shared),
        default=0.0,
    )
    return ("counted", "same" if gap < CLOSE else "biased")


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_random_approximations_are_counted_as_they_are_eliminated(first):
    """The program itself has other answers: whoever counted that would be noticed."""
    outcomes = Counter(
        word for seed in range(first, first + 40) for word in compare(random_friends, seed)
    )
    assert outcomes["counted"] >= 38
    assert outcomes["biased"] >= 30


def test_random_fragments_are_counted_as_they_are_eliminated():
    outcomes = Counter(word for seed in range(60) for word in compare(random_evidence, seed))
    assert outcomes["counted"] >= 40


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_friends_become_rectangles(rank):
    program = irregular_friends()
    links = matrix(program) == TRUE
    cover = factorise_links(links, rank).cover()
    np.fill_diagonal(cover, val=False)
    after = program.over_symmetric(rank=rank)
    assert ((matrix(after) == TRUE) == cover).all()
    assert ((matrix(after) == FALSE) == ~cover).all(), "what is closed stays closed"
    assert after.source.atoms.universe.constants == program.source.atoms.universe.constants


def test_rank_0_keeps_pairs_and_many_clusters_keep_weights():
    program = irregular_friends()
    same = program.over_symmetric(rank=0, clusters=100)
    assert (matrix(same) == matrix(program)).all()
    before, after = (om.marginals(each, method="exact") for each in (program, same))
    assert (before.columns.probability == after.columns.probability).all()
    assert not before.about.warnings
    assert after.about.warnings == (f"{CAUTION}: soft evidence in 100 clusters",)


def test_soft_evidence_becomes_means_of_clusters():
    program = irregular_friends()
    before = program.source.atoms.soft["Smokes"][1]
    after = program.over_symmetric(rank=0, clusters=3).source.atoms.soft["Smokes"][1]
    assert len(np.unique(after)) == 3
    for mean in np.unique(after):
        assert mean == pytest.approx(before[after == mean].mean(), abs=1e-12)


def test_what_is_known_of_a_constant_and_itself_stays():
    facts = "Friends(P0,P0)\n!Friends(P1,P1)\nFriends(P0,P1)\nFriends(P2,P3)\n!Friends(P3,P2)"
    program = read(people(5) + SMOKERS, facts, opened=["Friends"])
    after = matrix(program.over_symmetric(rank=1))
    assert (np.diag(after) == [TRUE, FALSE, UNKNOWN, UNKNOWN, UNKNOWN]).all()


def test_a_pair_in_rectangles_of_two_things_stays_open():
    """Two rectangles, one with a hole of the other kind: the hole is covered by both."""
    size = 8
    known = np.full((size, size), UNKNOWN)
    known[:4, 4:] = TRUE
    known[2, 6] = FALSE
    words = {TRUE: "", FALSE: "!"}
    facts = [
        f"{words[known[a, b]]}Friends(P{a},P{b})" for a, b in np.argwhere(known != UNKNOWN).tolist()
    ]
    program = read(people(size) + SMOKERS, "\n".join(facts), opened=["Friends"])
    after = matrix(program.over_symmetric(rank=1))
    expected = known.copy()
    expected[2, 6] = UNKNOWN
    assert (after == expected).all()


def test_every_answer_says_that_it_is_of_an_approximation(tmp_path):
    program = irregular_friends()
    biased = program.over_symmetric(rank=1, clusters=2)
    two = ["Smokes(P0)", "Smokes(P1)"]
    answers = [
        om.marginals(biased, method="counting"),
        om.marginals(biased.knowing("Smokes(P3)"), method="counting"),
        om.joint(biased, two, method="counting"),
        om.probability(biased, " v ".join(two), method="counting"),
        om.log_z(biased, method="counting"),
        om.best(biased, method="counting"),
        om.best(biased, method="exact"),
        om.draws(biased, samples=4, chains=2, method="counting"),
        om.marginals(biased, method="exact"),
        om.log_z(biased, method="exact"),
        om.marginals(biased, method="gibbs", samples=8),
        om.marginals(biased, method="lifted", samples=8),
        om.marginals(biased, method="gibbs", base="counts", samples=8),
        om.joint(biased, two, method="gibbs", base="counts", samples=8),
        om.probability(biased, two[0], method="gibbs", base="counts", samples=8),
    ]
    for answer in answers:
        assert any(words.startswith(CAUTION) for words in answer.about.warnings), answer
    assert not om.marginals(program, method="exact").about.warnings


def test_an_approximation_of_rank_1_is_counted_where_the_program_is_not():
    """Friendships of a hundred people have too large a width; of rank 1, they have few groups."""
    rng = np.random.default_rng(8)
    pairs = {(int(a), int(b)) for a, b in rng.integers(100, size=(600, 2)) if a != b}
    facts = "\n".join(f"Friends(P{a},P{b})" for a, b in sorted(pairs))
    program = read(people(100) + SMOKERS, facts, opened=["Smokes"])
    assert isinstance(program.source.lifting, str)
    answer = om.marginals(program.over_symmetric(rank=1), method="counting")
    assert answer.about.method == "counting"
    assert answer.about.warnings[0].startswith(CAUTION)


def test_chains_on_the_approximation_agree_with_counts_and_not_with_the_program():
    """Its bias is many times what noise is; jumps of LMH, which only proposes by it, have none."""
    program = irregular_friends()
    biased = program.over_symmetric(rank=1, clusters=2)
    truth, counted = om.marginals(program, method="exact"), om.marginals(biased, method="counting")

    def farthest(sampled: om.Marginals, exact: om.Marginals) -> float:
        gaps = np.abs(sampled.columns.probability - exact.columns.probability)
        return float((gaps / sampled.columns.standard_error).max())

    how = {"samples": 400, "packs": 4, "lanes": 32, "seed": 5}
    for method in ({"method": "lifted"}, {"method": "gibbs", "base": "counts"}):
        sampled = om.marginals(biased, **method, **how)
        assert farthest(sampled, counted) < 5
        assert farthest(sampled, truth) > 50
    lmh = om.marginals(program, method="lmh", approximation="rank", rank=1, clusters=2, **how)
    assert farthest(lmh, truth) < 5
    assert farthest(lmh, counted) > 50


def test_ranks_and_clusters_that_make_no_sense_are_refused():
    program = irregular_friends()
    with pytest.raises(InputError, match="Boolean rank is 0 or more"):
        program.over_symmetric(rank=-1)
    with pytest.raises(InputError, match="at least one cluster"):
        program.over_symmetric(clusters=0)


# Copies of a rule.


def habits(count: int, seed: int = 0) -> tuple[str, str]:
    """Everybody has weights of his own, as learning rules with `+` gives them."""
    rng = np.random.default_rng(seed)
    lines = [f"{rng.normal()!r} Smokes(P{n}) => Cancer(P{n})" for n in range(count)]
    lines += [f"{rng.normal()!r} Smokes(P{n})" for n in range(count)]
    lines += [f"{0.2 * rng.normal()!r} Friends(P{n},y) => Smokes(y)" for n in range(count)]
    lines += ["0.1 Smokes(x) ^ Friends(x,y) => Smokes(y)", "Cancer(P0) v Smokes(P0)."]
    facts = [f"Friends(P{n},P{n // 2})" for n in range(1, count, 2)]
    head = "\n".join(SMOKERS.strip().splitlines()[:3])
    return people(count) + head + "\n" + "\n".join(lines) + "\n", "\n".join(facts)


def soft_weights(program: MarkovLogic) -> list[float]:
    return [rule.weight for rule in program.source.program.rules if np.isfinite(rule.weight)]


@pytest.mark.parametrize("seed", range(6))
def test_copies_with_many_clusters_say_what_the_program_says(seed: int) -> None:
    """No weight changes: what stands for the copies is right, apart from a constant in log Z."""
    program = read(*habits(4, seed), opened=["Friends"])
    same = program.over_symmetric(rank=0, clusters=100)
    assert sorted(soft_weights(same)) == pytest.approx(sorted(soft_weights(program)))
    before, after = (om.marginals(each, method="exact") for each in (program, same))
    assert list(before) == list(after)
    assert np.abs(before.columns.probability - after.columns.probability).max() < CLOSE
    log_z = [float(om.log_z(each, method="exact")) for each in (program, same)]
    assert log_z[0] == pytest.approx(log_z[1], abs=CLOSE)
    assert (
        after.about.warnings[0] == f"{CAUTION}: soft evidence and copies of rules in 100 clusters"
    )


@pytest.mark.parametrize("seed", range(6))
def test_clustered_copies_are_counted_as_they_are_eliminated(seed: int) -> None:
    program = read(*habits(4, seed), opened=["Friends"])
    coarse = program.over_symmetric(rank=1, clusters=2)
    assert len(soft_weights(coarse)) == 3 * 2 + 1
    exact, counted = (om.marginals(coarse, method=how) for how in ("exact", "counting"))
    assert list(counted) == list(exact)
    assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE
    truth = om.marginals(program, method="exact")
    assert np.abs(truth.columns.probability - exact.columns.probability).max() > 1e-4


def test_weights_of_copies_become_means_of_clusters() -> None:
    text = people(6) + "\n".join(SMOKERS.strip().splitlines()[:3]) + "\n"
    weights = [0.1, 0.2, 0.3, 2.0, 2.2, 2.4]
    text += "\n".join(f"{w} Smokes(P{n})" for n, w in enumerate(weights)) + "\n"
    coarse = read(text).over_symmetric(rank=0, clusters=2)
    assert soft_weights(coarse) == pytest.approx([0.2, 2.2])
    alike = om.marginals(coarse, query="Smokes", method="exact").columns.probability
    expected = 1 / (1 + np.exp(-np.repeat([0.2, 2.2], 3)))
    assert alike == pytest.approx(expected, abs=1e-12)


def test_many_constants_with_copies_are_counted_when_these_are_clustered() -> None:
    """Forty constants that rules name cannot be counted; in three clusters they can."""
    text, facts = habits(40)
    program = read(text.rpartition("Cancer(P0) v")[0], facts, opened=["Friends"])
    with pytest.raises(InputError, match="constants"):
        om.marginals(program, method="counting")
    counted = om.marginals(
        program.over_symmetric(rank=1, clusters=2), query="Smokes", method="counting"
    )
    assert counted.about.method == "counting"
    assert len(set(counted.columns.probability.round(12).tolist())) < 40


def test_copies_about_several_constants_and_hard_ones_stay() -> None:
    text = people(3) + "\n".join(SMOKERS.strip().splitlines()[:3]) + "\n"
    text += "0.3 Friends(P0,P1)\n0.5 Friends(P1,P2)\nSmokes(P0).\nSmokes(P1).\n"
    text += "0.1 Smokes(P2)\n0.2 Smokes(P2)\n0.4 Cancer(P1)\n0.2 Smokes(x)\n"
    program = read(text)
    rules = program.over_symmetric(rank=0, clusters=2).source.program.rules
    assert rules == program.source.program.rules
