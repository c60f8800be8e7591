"""Programs with equivalence relations: their partitions are sampled, their rules are not ground."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.statistics import is_rare
from orbitmc.inference import answer as answer_module
from orbitmc.inference._marginals import marginals_query
from orbitmc.inference.answer import _ask_in_relations
from orbitmc.inference.program import ground_program
from orbitmc.inference.settings import Settings
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.atoms import PairAtoms
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.run import Run
from tests.benchmarks.trusting import module
from tests.oracle import brute_force
from tests.sampling.executors import Copying, Losing

SAME = "Same(x,x).\nSame(x,y) => Same(y,x).\nSame(x,y) ^ Same(y,z) => Same(x,z).\n"
LIKE = "Like(x,y) <=> Like(y,x).\n"


def read(text, database="", **options):
    """A program whose relations are open, whatever evidence says of some pairs."""
    program = parse(text)
    opened = [name for name in ("Same", "Like") if name in program.predicates]
    known = parse_database(database, program)
    return ground_program(program, known, **{"opened": opened, **options})


def program_text(items, rules, declarations=""):
    names = ", ".join(f"C{number}" for number in range(items))
    return f"thing = {{ {names} }}\nSame(thing, thing)\n{declarations}\n{rules}\n"


SOFT = """
0.7 Same(x,y) ^ Has(x,w) ^ Has(y,w)
-0.4 Same(x,y)
0.3 Same(x,y) ^ Red(x) => Red(y)
-0.5 Red(C0)
0.6 Same(C1,x) ^ !Same(x,C2)
0.2 Same(x,y) ^ Same(y,z) ^ x != z ^ Has(x,w) ^ Has(z,w)
"""
DECLARED = "Has(thing, word)\nRed(thing)\n"
WORDS = "Has(C0,W1) Has(C1,W1) Has(C2,W2) Has(C3,W2) Has(C0,W2)"

CASES = {
    "pairs only": (program_text(4, f"{SAME}0.3 Same(x,y)\n0.9 Same(C0,C2)"), ""),
    "words and other atoms": (program_text(4, SAME + SOFT, DECLARED), WORDS),
    "one item": (program_text(4, SAME + SOFT, DECLARED), f"{WORDS}\nSame(C0,C3) ?Same(C0,C1)"),
    "kept apart": (program_text(4, SAME + SOFT, DECLARED), f"{WORDS}\n!Same(C2,C1)"),
    "both": (program_text(5, SAME + "0.3 Same(x,y)\n-1 Same(C1,x)"), "Same(C4,C2) !Same(C0,C2)"),
    "soft evidence": (
        program_text(4, SAME + SOFT, DECLARED),
        f"{WORDS}\n0.8 Same(C0,C1)\n0.3 Same(C1,C0)\n0.6 Same(C1,C1)",
    ),
    "a symmetric one beside it": (
        program_text(
            3,
            f"{SAME}{LIKE}0.8 Same(x,y) => Like(x,y)\n-0.6 Like(x,y)\n0.4 Like(x,y) ^ Like(y,z)",
            "Like(thing, thing)\n",
        ),
        "Like(C0,C2)",
    ),
    "two relations": (
        "t = { A, B, C }\nu = { X, Y, Z }\nSame(t,t)\nIs(u,u)\nOf(t,u)\n"
        f"{SAME}{SAME.replace('Same', 'Is')}"
        "0.9 Same(x,y) ^ Of(x,p) ^ Of(y,q) => Is(p,q)\n-0.3 Is(p,q)\n0.2 Same(x,y)\n",
        "Of(A,X) Of(B,Y) Of(C,Z)",
    ),
    "other hard rules": (
        program_text(4, f"{SAME}!Same(C0,C1) v Red(C2).\nRed(x) ^ Same(x,y) => Red(y).\n0.5 Red(x)"
                     "\n0.4 Same(x,y)", "Red(thing)\n"),
        "",
    ),
    "euclidean": (program_text(4, "Same(x,x).\nSame(x,y) ^ Same(x,z) => Same(y,z).\n0.3 Same(x,y)"
                               "\n1 Same(C0,C1) v Same(C1,C2)"), ""),
}  # fmt: skip


def is_partition(model, state):
    for relation in model.relations:
        related = np.eye(relation.items, dtype=bool)
        on = state[relation.variables] == 1
        related[relation.first[on], relation.second[on]] = True
        related[relation.second[on], relation.first[on]] = True
        if ((related.astype(int) @ related > 0) != related).any():
            return False
    return True


def enumerate_partitions(program):
    """The probability of each atom, from all states of the model in pairs that are partitions."""
    model = program.model
    assert model.relations
    every = np.array(list(itertools.product((0, 1), repeat=model.graph.variables)))
    possible = np.array([state for state in every if is_partition(model, state)])
    logs = np.array([brute_force.log_weight(model.graph, state) for state in possible])
    weights = np.exp(logs - logs.max())
    chance = weights @ possible / weights.sum()
    asked = program.asked
    known = (asked.status == 1).astype(float)
    chances = np.where(asked.variable >= 0, chance[asked.variable], known)
    return dict(zip(asked.names, chances.tolist(), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_partitions_have_the_probabilities_of_the_program_with_all_rules(case):
    """By elimination of the whole program, and by a sum over partitions of the model in pairs."""
    program = read(*CASES[case])
    exact = program.marginals(method="exact")
    expected = enumerate_partitions(program.in_relations)
    assert expected.keys() == set(exact)
    for name, chance in expected.items():
        assert exact[name].probability[0] == pytest.approx(chance, abs=1e-9), name


@pytest.mark.parametrize("case", CASES)
def test_sampled_partitions_have_the_exact_probabilities(case):
    """Estimates are off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    program = read(*CASES[case])
    exact = program.marginals(method="exact")
    sampled = program.marginals(method="gibbs", base="relations", samples=400, seed=3)
    assert set(sampled.verdicts()) <= {"good", "observed", "forced", "rare"}
    for name in exact:
        error = sampled[name].standard_error[0]
        assert error <= 0.01
        off = abs(sampled[name].probability[0] - exact[name].probability[0])
        assert off <= 6.5 * error + 1e-6, name


def test_a_model_in_pairs_has_no_variable_twice():
    program = read(*CASES["one item"]).in_relations
    atoms = program.ground.atoms["Same"]
    assert isinstance(atoms, PairAtoms)
    assert (atoms.items, atoms.variables) == (3, 3)
    same = [name for name in program.model.names if name.startswith("Same")]
    assert same == ["Same(C0,C1)", "Same(C0,C2)", "Same(C1,C2)"]


@pytest.mark.parametrize(
    "database",
    ["Same(C0,C1) Same(C1,C2) !Same(C2,C0)", "!Same(C1,C1)", "Same(C0,C1) !Same(C1,C0)"],
)
def test_evidence_that_is_no_equivalence_relation_is_a_contradiction(database):
    with pytest.raises(ContradictionError):
        read(CASES["pairs only"][0], database)
    wide = program_text(13, f"{SAME}0.3 Same(x,y)")
    with pytest.raises(ContradictionError, match="the hard rules about Same: Same"):
        read(wide, database).marginals(samples=5)


def test_known_pairs_decide_others():
    text = program_text(13, f"{SAME}0.3 Same(x,y)")
    program = read(text, "Same(C0,C1) Same(C1,C2) !Same(C2,C3)")
    answer = program.marginals(samples=5)
    for name, chance in {"Same(C0,C2)": 1.0, "Same(C3,C0)": 0.0, "Same(C1,C3)": 0.0}.items():
        assert answer[name].probability[0] == chance
        assert answer[name].verdict == "observed"
    twins = {answer[f"Same({one},C5)"].probability[0] for one in ("C0", "C1", "C2")}
    assert len(twins) == 1


def asks_in_pairs(program, **options):
    return _ask_in_relations(marginals_query(program, None, None), Settings(**options)) is not None


def test_auto_samples_partitions_where_elimination_is_too_expensive():
    small, large = read(*CASES["pairs only"]), read(program_text(13, f"{SAME}0.3 Same(x,y)"))
    assert not asks_in_pairs(small)
    assert small.marginals(samples=5).about.method == "exact"
    assert asks_in_pairs(large)
    assert not large.is_ground
    assert asks_in_pairs(small, method="gibbs", base="relations")
    for options in (
        {"method": "mcsat"},
        {"method": "exact"},
        {"method": "lmh"},
        {"scan": "random"},
    ):
        assert not asks_in_pairs(large, **options)


SOFTLY_TRANSITIVE = SAME.replace("Same(x,y) ^", "5 Same(x,y) ^").replace("Same(x,z).", "Same(x,z)")


@pytest.mark.parametrize(
    ("text", "database"),
    [
        (program_text(13, "Same(x,x).\nSame(x,y) => Same(y,x).\n0.3 Same(x,y)"), ""),
        (program_text(13, f"{SOFTLY_TRANSITIVE}0.3 Same(x,y)"), ""),
        (program_text(3, f"{SAME}0.3 Same(x,y)"), "Same(C0,C1) !Same(C0,C2) !Same(C1,C2)"),
    ],
)
def test_other_programs_are_ground_as_ever(text, database):
    program = read(text, database)
    assert program.in_relations is None
    assert program.is_ground
    with pytest.raises(InputError, match="base=relations is for marginals, joints"):
        program.marginals(method="gibbs", base="relations", samples=5)


def test_a_closed_relation_is_no_matter_for_partitions():
    text = program_text(3, f"{SAME}0.3 Same(x,y)\n0.2 Red(x)", "Red(thing)\n")
    every = " ".join(f"Same(C{number},C{number})" for number in range(3))
    program = read(text, every, query="Red", opened=[])
    assert program.in_relations is None


def test_weights_too_large_to_add_up_are_not_sampled_in_pairs():
    text = program_text(13, f"{SAME}1e30 Same(C0,C1)\n0.3 Same(x,y)")
    assert not asks_in_pairs(read(text))
    with pytest.raises(LimitError, match="need the rules of Same to be ground"):
        read(text).marginals(method="gibbs", base="relations", samples=5)


def test_a_base_of_partitions_is_for_gibbs_and_lmh():
    program = read(*CASES["pairs only"])
    with pytest.raises(InputError, match="for the methods gibbs and lmh, not for lifted"):
        program.marginals(method="lifted", base="relations", samples=5)
    with pytest.raises(InputError, match="swaps constants: it has no generators"):
        program.marginals(method="lmh", base="relations", generators=["(A B)"], samples=5)
    with pytest.raises(InputError, match="swaps constants: it has no weights"):
        program.marginals(method="lmh", base="relations", approximation="weights", samples=5)
    with pytest.raises(InputError, match="the approximation evidence has no blocks"):
        program.marginals(method="lmh", base="relations", blocks="pilot", samples=5)
    with pytest.raises(InputError, match="scan is for variables one at a time"):
        program.marginals(method="gibbs", base="relations", scan="random", samples=5)


def test_a_run_is_resumed_where_it_stopped(tmp_path):
    program = read(*CASES["words and other atoms"])
    options = {"method": "gibbs", "base": "relations", "seed": 5, "packs": 2, "lanes": 32}
    whole = program.marginals(samples=40, warm_up=5, **options)
    path = tmp_path / "run"

    def stop(run):
        if run.recorded:
            run.stop()

    part = program.marginals(samples=40, warm_up=5, checkpoint=path, watchers=[stop], **options)
    assert part.about.samples <= 40
    resumed = om.resume(path, program)
    assert resumed.about.samples == 40
    for name in whole:
        assert resumed[name].probability[0] == whole[name].probability[0]


def test_partitions_are_told_in_the_answer():
    program = read(program_text(13, f"{SAME}0.3 Same(x,y)"))
    answer = program.marginals(samples=20, seed=1)
    assert answer.about.method == "gibbs"
    assert "Same is an equivalence relation" in answer.about.reason
    assert "13 items are moved between blocks" in answer.about.reason
    assert not [word for word in answer.about.warnings if "frozen" in word]


# Other questions, against all partitions of four items.

ASKED = "words and other atoms"
BY_PARTITIONS = {"method": "gibbs", "base": "relations", "samples": 400, "seed": 4}


def near(estimate, exact):
    """Within 6.5 errors: a false alarm comes in less than 1e-8 of all seeds, if chains mix."""
    assert estimate.about.method == "gibbs"
    assert "equivalence relation" in estimate.about.reason
    assert estimate.verdict in ("good", "fair")
    error = np.max(estimate.standard_error)
    assert error < 0.01
    gap = np.abs(np.asarray(value_of(estimate)) - np.asarray(value_of(exact))).max()
    assert gap <= 6.5 * error


def value_of(estimate):
    return estimate.value if hasattr(estimate, "value") else estimate.probability


@pytest.mark.parametrize(
    "names", [["Same(C0,C1)", "Same(C2,C1)"], ["Same(C0,C1)", "Red(C2)"], ["Red(C0)", "Red(C2)"]]
)
def test_joints_of_pairs_and_other_atoms(names):
    program = read(*CASES[ASKED])
    near(om.joint(program, names, **BY_PARTITIONS), om.joint(program, names, method="exact"))


@pytest.mark.parametrize(
    ("event", "given"),
    [
        ("Same(C0,C1) ^ Same(C1,C2)", None),
        ("Same(C0,C1)", "Same(C2,C1)"),
        ("Red(C1)", "Same(C0,C1) ^ !Red(C3)"),
        ("Same(C0,C2) v Same(C1,C3)", "Same(C0,C1) v Red(C0)"),
    ],
)
def test_events_of_pairs_and_other_atoms(event, given):
    program = read(*CASES[ASKED])
    exact = om.probability(program, event, given=given, method="exact")
    near(om.probability(program, event, given=given, **BY_PARTITIONS), exact)


def test_an_event_that_is_given_and_impossible_is_refused():
    program = read(*CASES[ASKED])
    with pytest.raises(ContradictionError, match="impossible"):
        om.probability(program, "Red(C0)", given="Same(C0,C1) ^ !Same(C1,C0)", **BY_PARTITIONS)


def test_means_and_draws_see_partitions():
    program = read(*CASES[ASKED])
    pairs = [f"Same(C{a},C{b})" for a, b in itertools.combinations(range(4), 2)]
    count = {"pairs": lambda s: sum(s[name] for name in pairs)}
    exact = om.expect(program, count, method="exact")["pairs"]
    near(om.expect(program, count, **BY_PARTITIONS)["pairs"], exact)
    drawn = om.draws(program, method="gibbs", base="relations", samples=50, chains=32, seed=2)
    values = drawn.values.reshape(-1, len(drawn.names))
    place = {name: number for number, name in enumerate(drawn.names)}
    related = np.stack(
        [[values[:, place[f"Same(C{a},C{b})"]] for b in range(4)] for a in range(4)]
    ).transpose(2, 0, 1)
    assert (related == related.transpose(0, 2, 1)).all()
    assert ((related.astype(int) @ related > 0) == related).all()
    whole = program.model
    index = [place[name] for name in whole.names]
    some = values[:40]
    logs = [brute_force.log_weight(whole.graph, state[index]) for state in some]
    np.testing.assert_allclose(drawn.log_weight.reshape(-1)[:40], logs, atol=1e-9)


def test_conjunctions_of_a_query_are_sampled_in_pairs():
    text, words = CASES[ASKED]
    program = read(text, words, query="Same(C0,x) ^ Red(x)")
    exact = program.marginals(method="exact")
    sampled = program.marginals(**BY_PARTITIONS)
    assert "equivalence relation" in sampled.about.reason
    for name in exact:
        off = abs(sampled[name].probability[0] - exact[name].probability[0])
        assert off <= 6.5 * sampled[name].standard_error[0] + 1e-6


def test_questions_that_are_no_runs_are_not_saved(tmp_path):
    program = read(*CASES[ASKED])
    with pytest.raises(InputError, match="a checkpoint keeps marginals only"):
        om.joint(program, ["Same(C0,C1)"], checkpoint=tmp_path / "run", **BY_PARTITIONS)


def test_averages_over_a_pair_by_single_factors_would_be_wrong(monkeypatch):
    """What the test of joints would see: the conditional of one pair, without its relation."""
    program = read(*CASES[ASKED])
    names = ["Same(C0,C1)", "Same(C2,C1)"]
    exact = om.joint(program, names, method="exact")
    monkeypatch.setattr(
        "orbitmc.inference._joint.choose_averaged_variable", lambda model, scope: scope[0]
    )
    wrong = om.joint(program, names, **BY_PARTITIONS)
    error = wrong.standard_error.max()
    assert np.abs(wrong.probability - exact.probability).max() > 10 * error


def test_a_program_that_is_not_ground_is_shown_as_it_is():
    program = read(program_text(13, f"{SAME}0.3 Same(x,y)"))
    assert "not ground yet" in program._repr_html_()
    assert not program.is_ground


# What `auto` chooses by itself, against all partitions.


def true_chances(items, gain):
    """The chance of every pair, from all partitions; `gain[one, other]` of pairs in one block."""

    def partitions(count):
        if count == 0:
            yield []
            return
        for labels in partitions(count - 1):
            for label in range(max(labels, default=-1) + 2):
                yield [*labels, label]

    labels = np.array(list(partitions(items)))
    same = labels[:, :, None] == labels[:, None, :]
    weights = np.exp((same * gain).sum(axis=(1, 2)))
    return np.einsum("p,pij->ij", weights, same) / weights.sum(), len(labels)


@pytest.fixture
def nothing_is_eliminated(monkeypatch):
    monkeypatch.setattr(answer_module, "plan_elimination", lambda *asked: (None, "too wide"))


@pytest.mark.usefixtures("nothing_is_eliminated")
@pytest.mark.parametrize(("items", "partitions"), [(7, 877), (8, 4140)])
def test_what_auto_chooses_is_right(items, partitions):
    """Estimates are off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    rng = np.random.default_rng(items)
    gain = np.round(rng.normal(-0.3, 0.8, (items, items)), 3)
    np.fill_diagonal(gain, 0.0)
    chances, count = true_chances(items, gain)
    assert count == partitions
    rules = [
        f"{gain[one, other]} Same(C{one},C{other})"
        for one, other in itertools.permutations(range(items), 2)
    ]
    program = read(program_text(items, SAME + "\n".join(rules)))
    answer = program.marginals(samples=1000, seed=2)
    assert "items are moved between blocks" in answer.about.reason
    assert set(answer.verdicts()) <= {"good", "observed"}
    for one, other in itertools.combinations(range(items), 2):
        pair = answer[f"Same(C{one},C{other})"]
        assert pair.standard_error[0] < 0.003
        assert abs(pair.probability[0] - chances[one, other]) <= 6.5 * pair.standard_error[0]


@pytest.mark.usefixtures("nothing_is_eliminated")
def test_workers_give_the_same_bytes():
    program = read(*CASES["words and other atoms"])
    options = {"samples": 30, "seed": 3, "packs": 2, "lanes": 32}
    here, executor = program.marginals(**options), Copying()
    there = program.marginals(executor=executor, **options)
    assert executor.sent
    assert "items are moved between blocks" in there.about.reason
    assert there.columns.probability.tolist() == here.columns.probability.tolist()
    assert there.verdicts() == here.verdicts()
    lost = program.marginals(executor=Losing(), **options)
    assert lost.columns.probability.tolist() == here.columns.probability.tolist()
    means = {"pairs": lambda s: s["Same(C0,C1)"] + s["Same(C2,C3)"]}
    here, there = (om.expect(program, means, **options, executor=one) for one in (None, Copying()))
    assert here["pairs"].value == there["pairs"].value


# Rare pairs are not asked whether chains persist in them.


def rare_pairs():
    """Items that are hardly ever the same, and two that often are."""
    return read(program_text(12, f"{SAME}-2.5 Same(x,y)\n5.2 Same(C0,C1)"))


def test_rare_pairs_are_no_alarm_and_others_still_are(monkeypatch):
    """A pair that is 1 for a few moments looks as if chains persisted in it."""
    program = rare_pairs()
    options = {"method": "gibbs", "base": "relations", "samples": 60, "seed": 5}
    seen = []
    original = Run._without_false_alarms

    def watched(run, known, rows):
        asked = original(run, known, rows)
        seen.append((known, asked, is_rare(known.probability, known.states)))
        return asked

    monkeypatch.setattr(Run, "_without_false_alarms", watched)
    answer = program.marginals(**options)
    known, asked, rare = seen[-1]
    assert answer["Same(C0,C1)"].verdict == "good"
    assert answer["Same(C2,C3)"].verdict == "rare"
    assert rare.sum() > 0.9 * len(rare) > 0
    assert not (asked.persists & rare).any()
    assert not (asked.drifts & rare).any()
    assert (asked.persists[~rare] == known.persists[~rare]).all()
    assert (asked.drifts[~rare] == known.drifts[~rare]).all()


def test_an_alarm_for_a_pair_that_is_not_rare_stays(monkeypatch):
    program = rare_pairs()
    original = Run._without_false_alarms

    def alarmed(run, known, rows):
        return original(run, replace(known, persists=np.ones_like(known.persists)), rows)

    monkeypatch.setattr(Run, "_without_false_alarms", alarmed)
    options = {"method": "gibbs", "base": "relations", "samples": 60, "seed": 5}
    answer = program.marginals(**options)
    assert answer["Same(C0,C1)"].verdict == "not mixed"
    assert not answer.converged


def test_without_it_rare_pairs_would_be_alarms(monkeypatch):
    """The mistake that the exemption is for; among 4,950 pairs some look as if chains persisted."""
    program = module("through").read(100)
    options = {"method": "gibbs", "base": "relations", "samples": 100, "seed": 6}
    assert "not mixed" not in program.marginals(**options).verdicts()
    monkeypatch.setattr(Run, "_without_false_alarms", lambda run, known, rows: known)
    assert program.marginals(**options).verdicts()["not mixed"] > 0
