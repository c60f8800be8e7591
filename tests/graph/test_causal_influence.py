"""Noisy gates are their full tables, never show their helpers, and stay small with forty causes."""

import itertools
import json
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from tests.cli.commands import orbitmc

MODELS = 300
YES = ["no", "yes"]
COMBINE = {"or": max, "and": min, "max": max, "min": min}


def rows(rng, *shape):
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def full_table(kind, tables, leak):
    """What the child is, by adding up all that its causes may do; rows by values of the causes."""
    size = len(leak)
    shape = [len(table) for table in tables]
    whole = np.zeros((*shape, size))
    for state in itertools.product(*map(range, shape)):
        reached = np.array(leak, dtype=float)
        for table, value in zip(tables, state, strict=True):
            after = np.zeros(size)
            for before, given in itertools.product(range(size), repeat=2):
                both = (
                    min(before + given, size - 1)
                    if kind == "adder"
                    else COMBINE[kind](before, given)
                )
                after[both] += reached[before] * table[value, given]
            reached = after
        whole[state] = reached
    return whole


def random_gate(rng, kind, causes):
    """A gate as people say it, its causes' sizes, and its full table."""
    names = [f"c{k}" for k in range(causes)]
    if kind in ("or", "and"):
        strengths, leak = rng.random(causes), float(rng.random())
        gate = getattr(om, f"noisy_{kind}")(
            "y", dict(zip(names, strengths, strict=True)), leak=leak
        )
        tables = [np.array([[1.0, 0.0], [1.0 - p, p]]) for p in strengths]
        return gate, dict.fromkeys(names, YES), YES, full_table(kind, tables, [1.0 - leak, leak])
    size = int(rng.integers(2, 4))
    sizes = rng.integers(2, 4, causes)
    tables, leak = [rows(rng, int(n), size) for n in sizes], rows(rng, size)
    gate = getattr(om, f"noisy_{kind}")("y", dict(zip(names, tables, strict=True)), leak=leak)
    domains = {name: [f"v{k}" for k in range(n)] for name, n in zip(names, sizes, strict=True)}
    return gate, domains, [f"y{k}" for k in range(size)], full_table(kind, tables, leak)


def random_pair(seed):
    """A model with a gate, the same with its full table, and evidence."""
    rng = np.random.default_rng(seed)
    kind = ("or", "and", "max", "min", "adder")[seed % 5]
    causes = int(rng.integers(0, 11 if kind in ("or", "and") else 6))
    gate, domains, child, table = random_gate(rng, kind, causes)
    names = list(domains)
    values = {**domains, "y": child, "z": YES}
    factors = [([name], rows(rng, len(values[name]))) for name in names]
    for a, b in itertools.pairwise(names):
        if rng.random() < 0.5:
            factors.append(([a, b], rng.gamma(1.0, size=(len(values[a]), len(values[b])))))
    factors.append((["y", "z"], rng.gamma(1.0, size=(len(child), 2))))
    noisy = om.model(values, [*factors, gate])
    plain = om.model(values, [*factors, ([*names, "y"], table)])
    evidence = {"z": "yes"} if rng.random() < 0.5 else {"y": child[-1]}
    return noisy, plain, evidence


def test_gates_are_their_full_tables():
    for seed in range(MODELS):
        noisy, plain, evidence = random_pair(seed)
        assert noisy.order == plain.order
        expected = om.marginals(plain, evidence, method="exact")
        answer = om.marginals(noisy, evidence, method="exact")
        assert list(answer) == list(expected)
        for name in plain.order:
            np.testing.assert_allclose(
                answer[name].probability, expected[name].probability, atol=1e-12
            )
        log_z = [float(om.log_z(model, evidence, method="exact")) for model in (noisy, plain)]
        assert log_z[0] == pytest.approx(log_z[1], abs=1e-10)


def test_a_gate_of_another_kind_would_be_seen():
    gate, domains, child, _ = random_gate(np.random.default_rng(4), "max", 3)
    wrong = full_table("min", [np.asarray(table) for table in gate.causes.values()], gate.leak)
    right = om.model({**domains, "y": child}, [gate]).without_helpers().graph.full_table(0)
    assert np.abs(np.exp(right) - wrong).max() > 0.01


def test_best_states_draws_and_tables_are_those_of_what_people_see():
    for seed in range(100):
        noisy, plain, evidence = random_pair(seed)
        best = [om.best(model, evidence, k=3) for model in (noisy, plain)]
        for state, expected in zip(*best, strict=True):
            assert dict(state) == dict(expected)
            assert state.log_weight == pytest.approx(expected.log_weight, abs=1e-10)
        drawn = om.draws(noisy, evidence, samples=20, chains=1, seed=seed)
        assert drawn.names == noisy.order
        for values, weight in zip(drawn.values[0], drawn.log_weight[0], strict=True):
            state = plain.given(dict(zip(drawn.names, map(int, values), strict=True)))
            assert weight == pytest.approx(state.graph.constant, abs=1e-10)
        tables = noisy.without_helpers()
        assert (tables.names, tables.helpers) == (plain.names, frozenset())
        assert float(om.log_z(tables.at(0.5))) == pytest.approx(
            float(om.log_z(plain.at(0.5))), abs=1e-9
        )
        assert float(om.log_z(noisy.at(0.5))) == pytest.approx(
            float(om.log_z(plain.at(0.5))), abs=1e-9
        )


def test_best_values_of_some_variables_sum_over_the_rest():
    for seed in range(60):
        noisy, plain, evidence = random_pair(seed)
        names = [name for name in plain.order if name not in evidence][:3]
        first, second = (om.best(model, evidence, over=names, k=2) for model in (noisy, plain))
        for state, expected in zip(first, second, strict=True):
            assert state.log_weight == pytest.approx(expected.log_weight, abs=1e-9)
    model, _ = forty(np.random.default_rng(3))
    few = om.best(model, {"effect0": "yes"}, over=["cause0", "cause1"], k=4)
    joint = om.joint(model, ["cause0", "cause1"], {"effect0": "yes"}).probability
    assert few[0].probability == pytest.approx(joint.max())


def test_to_maximise_over_helpers_would_be_wrong():
    """The heaviest state of everything, helpers included, is another one than people mean."""
    wrong = 0
    for seed in range(100):
        noisy, plain, evidence = random_pair(seed)
        everything = om.Model(noisy.graph, noisy.names, noisy.values)
        heaviest = om.best(everything, evidence)[0]
        meant = om.best(plain, evidence)[0]
        wrong += any(heaviest[name] != meant[name] for name in plain.order)
    assert wrong > 0


def forty(rng, effects=1, links=40):
    """Forty causes, and effects that some of them bring about."""
    causes = [f"cause{k}" for k in range(40)]
    factors = [
        ([name], [1 - p, p]) for name, p in zip(causes, rng.uniform(0.02, 0.2, 40), strict=True)
    ]
    for effect in range(effects):
        chosen = sorted(rng.choice(causes, links, replace=False), key=causes.index)
        strengths = dict(zip(chosen, rng.uniform(0.2, 0.9, links).tolist(), strict=True))
        factors.append(om.noisy_or(f"effect{effect}", strengths, leak=0.01))
    return om.model(
        dict.fromkeys([*causes, *(f"effect{k}" for k in range(effects))], YES), factors
    ), factors


def test_forty_causes_are_exact():
    rng = np.random.default_rng(1)
    model, factors = forty(rng)
    assert model.graph.table.size < 600
    prior = np.array([table[1] for _, table in factors[:40]])
    strength = np.array(list(factors[40].causes.values()))
    absent = 0.99 * np.prod(1 - prior * strength)
    answer = om.marginals(model, {"effect0": "yes"})
    assert answer.about.method == "exact"
    with_cause = 1 - absent / (1 - prior * strength) * (1 - strength)
    expected = prior * with_cause / (1 - absent)
    found = [answer[f"cause{k}"].probability[1] for k in range(40)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert float(om.log_z(model, {"effect0": "yes"})) == pytest.approx(math.log(1 - absent))


def test_forty_causes_are_sampled_and_mix():
    """Within six standard errors of the exact numbers: a false alarm in 1e7."""
    model, _ = forty(np.random.default_rng(2), effects=3, links=12)
    seen = {"effect0": "yes", "effect1": "yes", "effect2": "no"}
    exact = om.marginals(model, seen, method="exact")
    moves = {"families": ["forward draws"], "period": 1}  # a race would depend on the clock
    sampled = om.marginals(model, seen, method="lmh", moves=moves, samples=2000, seed=1)
    assert sampled.converged
    assert set(sampled.verdicts()) <= {"good", "observed", "exact", "few"}
    assert list(sampled) == list(exact) == list(model.order)
    for name in model.order[:40]:
        off = abs(sampled[name].probability[1] - exact[name].probability[1])
        assert off <= 6 * sampled[name].standard_error[1] + 1e-9


def test_best_of_too_many_causes_is_refused_in_words():
    model, _ = forty(np.random.default_rng(3))
    with pytest.raises(LimitError, match=r"too many causes to be one table.*over="):
        om.best(model)
    with pytest.raises(LimitError, match="too many causes"):
        model.at(0.5)
    assert om.best(model, {f"cause{k}": "no" for k in range(30)}).proven


def test_helpers_are_nowhere_to_be_seen(tmp_path):
    model, _ = forty(np.random.default_rng(4))
    hidden = next(iter(model.helpers))
    assert str(model).startswith("Model(41 variables")
    assert om.overview(model).variables == 41
    assert om.overview(model).cardinalities == {2: 41}
    assert hidden not in model.domains()
    with pytest.raises(InputError, match="unknown variable"):
        model.given({hidden: "yes"})
    with pytest.raises(InputError, match="unknown variable"):
        om.marginals(model, query=hidden)
    assert list(om.information(model, "effect0")) != []
    assert hidden not in om.information(model, "effect0")
    rows_of = om.predict(model, [{"effect0": "yes"}, {"effect0": "no"}], query=["cause1"])
    assert "cause1" in str(rows_of)
    assert "after" not in str(rows_of)
    mean = om.expect(model, {"sum": lambda s: s.array().sum(axis=0)}, samples=64, seed=1)
    assert mean["sum"].value < 41
    om.write(model, tmp_path / "forty.json")
    for words in (
        ("infer", "-q", "cause1"),
        ("check",),
        ("infer", "--method", "gibbs", "--samples", "50"),
        ("draw", "-n", "3"),
        ("best", *(word for k in range(30) for word in ("-e", f"cause{k}=no"))),
    ):
        verb, *rest = words
        done = orbitmc(verb, tmp_path / "forty.json", *rest)
        assert done.returncode in (0, 3), done.stderr
        assert " of 40 causes" not in done.stdout + done.stderr


def test_json_holds_gates_and_other_formats_tables(tmp_path):
    rng = np.random.default_rng(5)
    gate = om.noisy_or("y", {"a": 0.5, "b": 0.25, "c": 0.8}, leak=0.1)
    model = om.model(
        {"a": YES, "b": YES, "c": YES, "y": YES},
        [(["a"], rows(rng, 2)), (["b"], rows(rng, 2)), (["c"], rows(rng, 2)), gate],
    )
    expected = str(om.marginals(model, {"y": "yes"}))
    for suffix in ("json", "bif", "xmlbif", "json.gz"):
        om.write(model, tmp_path / f"m.{suffix}")
        again = om.read(tmp_path / f"m.{suffix}")
        assert again.order == model.order
        assert bool(again.helpers) == suffix.startswith("json")
        assert (
            str(om.marginals(again, {"y": "yes"})).splitlines()[:-1] == expected.splitlines()[:-1]
        )
    seen = model.given({"a": "yes"})
    om.write(seen, tmp_path / "seen.json")
    assert om.read(tmp_path / "seen.json").order == seen.order
    many, _ = forty(rng)
    with pytest.raises(LimitError, match=r"too many causes.*write \.json instead"):
        om.write(many, tmp_path / "many.bif")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"helpers": ["nobody"]}, "helpers: 'nobody' is no variable"),
        ({"helpers": "y"}, "helpers: expected a list"),
        ({"order": ["a", "b", "y", "y after 1 of 2 causes"]}, "order: expected the names"),
        ({"helpers": []}, "order: expected the names"),
    ],
)
def test_wrong_helpers_in_json_are_refused(tmp_path, change, message):
    gate = om.noisy_or("y", {"a": 0.5, "b": 0.25})
    om.write(om.model({"a": YES, "b": YES, "y": YES}, [gate]), tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(InputError, match=message):
        om.read(tmp_path / "m.json")


def test_values_may_be_in_any_order_and_have_any_names():
    turned = om.model(
        {"a": ["yes", "no"], "y": ["yes", "no"]}, [om.noisy_or("y", {"a": 0.8}, leak=0.1)]
    )
    assert float(om.probability(turned, "y == 'yes'", {"a": "yes"})) == pytest.approx(0.82)
    assert float(om.probability(turned, "y == 'yes'", {"a": "no"})) == pytest.approx(0.1)
    named = om.noisy_or("y", {"a": {"heavy": 0.5, "light": 0.25}}, present="broken")
    other = om.model({"a": ["light", "none", "heavy"], "y": ["broken", "fine"]}, [named])
    for value, chance in (("light", 0.25), ("none", 0.0), ("heavy", 0.5)):
        assert float(om.probability(other, "y == 'broken'", {"a": value})) == pytest.approx(chance)


VALUES = {"a": YES, "b": ["x", "z"], "y": YES, "w": ["p", "q"], "t": ["0", "1", "2"]}


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (om.noisy_or("why", {"a": 0.5}), r"reads 'why', not a variable"),
        (om.noisy_or("y", {"aa": 0.5}), r"reads 'aa', not a variable; did you mean 'a'"),
        (om.noisy_or("y", {"y": 0.5}), "among its own causes"),
        (om.noisy_or("t", {"a": 0.5}), "has 3 values.*use noisy_max"),
        (om.noisy_or("y", {"b": 0.5}), "which of the values x, z of 'b'"),
        (om.noisy_or("w", {"a": 0.5}), "present=…"),
        (om.noisy_or("w", {"a": 0.5}, present="r"), "unknown value 'r'"),
        (om.noisy_or("y", {"a": 1.5}), "strength of 'a' is a probability, from 0 to 1, not 1.5"),
        (om.noisy_or("y", {"a": "much"}), "is a probability"),
        (om.noisy_or("y", {"a": [0.1, 0.2, 0.3]}), "one for each of its 2 values"),
        (om.noisy_or("y", {"a": 0.5}, leak=-0.1), "the leak is a probability"),
        (om.noisy_max("t", {"a": [[1, 0, 0]]}), "a row of probabilities for each of its 2 values"),
        (
            om.noisy_max("t", {"a": {"yes": [0.5, 0.5]}}),
            "3 probabilities, one for each value of 't'",
        ),
        (om.noisy_max("t", {"a": {"yes": [0.5, 0.5, 0.5]}}), "sums to 1.5, not to 1"),
        (om.noisy_max("t", {"a": {"maybe": [1, 0, 0]}}), "unknown value 'maybe'"),
        (om.noisy_max("t", {"a": {"yes": [1, 0, 0]}}, leak=[1.0]), "the leak is 3 probabilities"),
    ],
)
def test_wrong_gates_are_refused(gate, message):
    with pytest.raises(InputError, match=message):
        om.model(VALUES, [gate])


def test_gates_are_unrolled_with_their_helpers():
    flu = {"flu[0]": 0.8, "cold[0]": 0.3, "age": 0.2}
    later = {"flu[1]": 0.8, "cold[1]": 0.3, "age": 0.2, "fever[0]": 0.5}
    names = ["age", "flu[0]", "cold[0]", "fever[0]", "flu[1]", "cold[1]", "fever[1]"]
    factors = [([name], [0.7, 0.3]) for name in names if not name.startswith("fever")]
    gates = [om.noisy_or("fever[0]", flu), om.noisy_or("fever[1]", later)]
    model = om.unroll(om.model(dict.fromkeys(names, YES), [*factors, *gates]), 4)
    assert len(model.order) == 1 + 3 * 4
    assert "cause" not in " ".join(model.order)
    tables = [gate.resolve(dict.fromkeys(names, YES)) for gate in gates]
    whole = [full_table("or", list(one.tables), one.leak) for one in tables]
    slices = om.model(
        dict.fromkeys(names, YES),
        [*factors, ([*flu, "fever[0]"], whole[0]), ([*later, "fever[1]"], whole[1])],
    )
    expected = om.marginals(om.unroll(slices, 4), {"fever[3]": "yes"})
    answer = om.marginals(model, {"fever[3]": "yes"})
    for name in model.order:
        np.testing.assert_allclose(answer[name].probability, expected[name].probability, atol=1e-12)


def four_causes():
    gate = om.noisy_or("y", dict.fromkeys("abcd", 0.5))
    return om.model(dict.fromkeys("abcdy", YES), [*(([c], [0.9, 0.1]) for c in "abcd"), gate])


def test_equal_causes_are_symmetric_and_pictures_join_them_to_their_child(tmp_path):
    model = four_causes()
    om.write(model, tmp_path / "four.json")
    done = orbitmc("symmetry", tmp_path / "four.json", "--exact-only")
    assert "order        24" in done.stdout
    assert "causes" not in done.stdout
    picture = model._repr_html_()
    assert "5 variables and the 4 arrows between them" in picture
    assert "causes" not in picture
    wide, _ = forty(np.random.default_rng(6))
    om.write(wide, tmp_path / "forty.json")
    done = orbitmc("symmetry", tmp_path / "forty.json", "--exact-only")
    assert (done.returncode, "causes" in done.stdout) == (0, False)


def test_warnings_and_reasons_name_no_helpers():
    model, _ = forty(np.random.default_rng(7), effects=4, links=20)
    seen = {"effect0": "yes", "effect1": "yes"}
    for method in ("gibbs", "mcsat"):
        about = om.marginals(model, seen, method=method, samples=4, seed=1).about
        assert " causes" not in f"{about.reason} {about.warnings}"
        assert not model.helpers.intersection([*about.frozen.names, *about.unmixed.names])


def test_questions_do_not_know_helpers():
    yes = ["no", "yes"]
    gate = om.noisy_or("f", {"a": 0.8, "b": 0.3, "c": 0.5})
    fields = [([name], [0.6, 0.4]) for name in "abc"]
    model = om.model(dict.fromkeys("abcf", yes), [*fields, gate])
    helper = next(iter(model.helpers))
    for ask in (
        lambda: om.joint(model, [helper, "a"]),
        lambda: om.information(model, helper),
        lambda: om.expect(model, {"p": ([helper], [0, 1])}),
    ):
        with pytest.raises(InputError, match="unknown variable"):
            ask()
