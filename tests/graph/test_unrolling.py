"""Models of many steps of time against forward-backward and against models written out by hand."""

import itertools

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.cli.commands import orbitmc

MODELS = 300


def rows(rng, *shape):
    """Probabilities over the last axis."""
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def domain(letter, size):
    return [f"{letter}{place}" for place in range(size)]


def hidden_markov(start, move, see):
    """The two slices of a hidden Markov model."""
    states, signs = domain("x", len(start)), domain("y", see.shape[1])
    return om.model(
        {"X[0]": states, "Y[0]": signs, "X[1]": states, "Y[1]": signs},
        [
            (["X[0]"], start),
            (["X[0]", "Y[0]"], see),
            (["X[0]", "X[1]"], move),
            (["X[1]", "Y[1]"], see),
        ],
    )


def forward_backward(start, move, likelihoods):
    """Posteriors of all steps, those given the past alone, and the logarithm of the evidence."""
    forward, scales = [], []
    belief = start
    for place, likelihood in enumerate(likelihoods):
        belief = (belief @ move if place else start) * likelihood
        scales.append(belief.sum())
        belief = belief / scales[-1]
        forward.append(belief)
    backward = [np.ones(len(start))]
    for likelihood in likelihoods[:0:-1]:
        message = move @ (likelihood * backward[-1])
        backward.append(message / message.sum())
    smooth = np.array(forward) * np.array(backward[::-1])
    return smooth / smooth.sum(axis=1, keepdims=True), np.array(forward), np.log(scales).sum()


def seen_signs(rng, steps, size, share):
    """Some observations, as evidence and as likelihoods of states."""
    signs = rng.integers(0, size, steps)
    there = rng.random(steps) < share
    evidence = {f"Y[{t}]": f"y{signs[t]}" for t in range(steps) if there[t]}
    return signs, there, evidence


def random_case(seed):
    rng = np.random.default_rng(seed)
    size, signs, steps = rng.integers(2, 5), rng.integers(2, 5), int(rng.integers(1, 9))
    start, move, see = rows(rng, size), rows(rng, size, size), rows(rng, size, signs)
    values, there, evidence = seen_signs(rng, steps, int(signs), rng.choice([0.5, 1.0]))
    likelihoods = np.where(there[:, None], see[:, values].T, 1.0)
    return (start, move, see), steps, evidence, likelihoods


def probabilities(answer, steps, name="X"):
    return np.array([answer[f"{name}[{t}]"].probability for t in range(steps)])


def test_hidden_markov_models_are_those_of_forward_backward():
    for seed in range(MODELS):
        tables, steps, evidence, likelihoods = random_case(seed)
        model = om.unroll(hidden_markov(*tables), steps)
        smooth, past, log_z = forward_backward(tables[0], tables[1], likelihoods)
        answer = om.marginals(model, evidence, method="exact")
        np.testing.assert_allclose(probabilities(answer, steps), smooth, atol=1e-12)
        assert float(om.log_z(model, evidence, method="exact")) == pytest.approx(log_z, abs=1e-10)
        now = seed % steps
        until_now = {f"Y[{t}]": evidence.get(f"Y[{t}]") for t in range(now + 1)}
        answer = om.marginals(model, until_now, query=f"X[{now}]", method="exact")
        np.testing.assert_allclose(answer[f"X[{now}]"].probability, past[now], atol=1e-12)


def test_a_long_chain_is_exact_from_end_to_end():
    rng = np.random.default_rng(3)
    start, move, see = rows(rng, 3), rows(rng, 3, 3), rows(rng, 3, 4)
    values, there, evidence = seen_signs(rng, 2000, 4, 0.9)
    likelihoods = np.where(there[:, None], see[:, values].T, 1.0)
    smooth, _, log_z = forward_backward(start, move, likelihoods)
    answer = om.marginals(
        om.unroll(hidden_markov(start, move, see), 2000), evidence, method="exact"
    )
    np.testing.assert_allclose(probabilities(answer, 2000), smooth, atol=1e-11)
    assert answer.about.log_z == pytest.approx(log_z, abs=1e-7)


def test_steps_the_other_way_round_would_be_seen():
    (start, move, see), steps, evidence, likelihoods = random_case(4)
    assert steps > 2
    wrong, _, _ = forward_backward(start, rows(np.random.default_rng(0), *move.shape), likelihoods)
    answer = om.marginals(om.unroll(hidden_markov(start, move, see), steps), evidence)
    assert np.abs(probabilities(answer, steps) - wrong).max() > 1e-3


def factorial(rng, size, chains):
    """Chains that move alone and are seen together; the tables, and the model of two slices."""
    starts = [rows(rng, size) for _ in range(chains)]
    moves = [rows(rng, size, size) for _ in range(chains)]
    see = rows(rng, *([size] * chains), 3)
    values, factors = {}, []
    for time in (0, 1):
        names = [f"X{k}[{time}]" for k in range(chains)]
        values |= {name: domain("x", size) for name in names} | {f"Y[{time}]": domain("y", 3)}
        for k, name in enumerate(names):
            factors.append(([name], starts[k]) if time == 0 else ([f"X{k}[0]", name], moves[k]))
        factors.append(([*names, f"Y[{time}]"], see))
    return starts, moves, see, om.model(values, factors)


def test_factorial_hidden_markov_models_are_those_of_the_product_of_their_chains():
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        size, steps = 2, int(rng.integers(2, 6))
        starts, moves, see, slices = factorial(rng, size, 2)
        signs, there, evidence = seen_signs(rng, steps, 3, 0.8)
        start, move = np.kron(*starts), np.kron(*moves)
        likelihoods = np.where(there[:, None], see.reshape(size * size, 3)[:, signs].T, 1.0)
        smooth, _, log_z = forward_backward(start, move, likelihoods)
        model = om.unroll(slices, steps)
        answer = om.marginals(model, evidence, method="exact")
        pairs = smooth.reshape(steps, size, size)
        np.testing.assert_allclose(
            probabilities(answer, steps, "X0"), pairs.sum(axis=2), atol=1e-12
        )
        np.testing.assert_allclose(
            probabilities(answer, steps, "X1"), pairs.sum(axis=1), atol=1e-12
        )
        assert float(om.log_z(model, evidence, method="exact")) == pytest.approx(log_z, abs=1e-10)


def written_out(values, factors, steps, last):
    """The model of many steps, factor by factor; names and scopes are functions of the shift."""
    names = {}
    for time in range(steps):
        names |= {name.format(time): domain for name, domain in values.items() if "{}" in name}
    names |= {name: domain for name, domain in values.items() if "{}" not in name}
    tables = [(scope(0), table) for scope, table, once in factors if once]
    for shift in range(steps - last):
        tables += [(scope(shift), table) for scope, table, once in factors if not once]
    return om.model(names, tables)


def test_a_step_may_look_back_two_slices_and_read_what_never_changes():
    for seed in range(50):
        rng = np.random.default_rng(2000 + seed)
        start, second = rows(rng, 2, 2), rows(rng, 2, 2, 2)
        move, climate = rows(rng, 2, 2, 2, 2), rows(rng, 2)
        ab = ["a", "b"]
        slices = om.model(
            {"X[0]": ab, "C": ab, "X[1]": ab, "X[2]": ab},
            [
                (["C"], climate),
                (["C", "X[0]"], start),
                (["C", "X[0]", "X[1]"], second),
                (["C", "X[0]", "X[1]", "X[2]"], move),
            ],
        )
        steps = int(rng.integers(1, 7))
        model = om.unroll(slices, steps)
        every = [
            (lambda s: ["C"], climate, True),
            (lambda s: ["C", "X[0]"], start, True),
            (lambda s: ["C", "X[0]", "X[1]"], second, True),
            (lambda s: ["C", f"X[{s}]", f"X[{s + 1}]", f"X[{s + 2}]"], move, False),
        ]
        expected = written_out(
            {"C": ab, "X[{}]": ab}, every[: min(steps, 2) + 1] + every[3:], steps, 2
        )
        assert set(model.order) == set(expected.order)
        assert model.order[0] == "C"
        seen = {f"X[{steps - 1}]": "b"}
        for name, marginal in om.marginals(expected, seen, method="exact").items():
            np.testing.assert_allclose(
                om.marginals(model, seen, method="exact")[name].probability,
                marginal.probability,
                atol=1e-12,
            )


def test_fields_without_direction_and_clauses_are_repeated_too():
    builder = om.graph.Builder([2, 2])
    builder.add_factor([0, 1], [0.3, -0.3, -0.3, 0.3])
    builder.add_clause([0, 1], [1, 0], 0.7)
    chain = om.Model(builder.build(), ("s[0]", "s[1]"), (("down", "up"),) * 2)
    model = om.unroll(chain, 4)
    weights = np.zeros((2,) * 4)
    for state in itertools.product((0, 1), repeat=4):
        for a, b in itertools.pairwise(state):
            weights[state] += (0.3 if a == b else -0.3) + (0.7 if a == 1 or b == 0 else 0.0)
    weights = np.exp(weights)
    assert float(om.log_z(model, method="exact")) == pytest.approx(np.log(weights.sum()), abs=1e-12)
    expected = weights.sum(axis=(0, 2, 3)) / weights.sum()
    np.testing.assert_allclose(
        om.marginals(model, method="exact")["s[1]"].probability, expected, atol=1e-12
    )


def test_tables_are_stored_once_however_many_steps_there_are():
    tables, *_ = random_case(0)
    slices = hidden_markov(*tables)
    sizes = sum(table.size for table in tables)
    assert om.unroll(slices, 500).graph.table.size == sizes
    assert slices.graph.table.size > sizes  # the table of signs stands in both slices


def test_names_as_x0_and_xt_are_two_slices():
    yes = ["yes", "no"]
    slices = om.model(
        {"rain0": yes, "raint": yes, "hot": yes},
        [
            (["rain0"], [0.2, 0.8]),
            (["hot"], [0.5, 0.5]),
            (["hot", "rain0", "raint"], rows(np.random.default_rng(0), 2, 2, 2)),
        ],
    )
    assert om.unroll(slices, 3).order == ("hot", "rain[0]", "rain[1]", "rain[2]")


AB = ["a", "b"]
EVEN = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("values", "factors", "message"),
    [
        ({"X": AB}, [(["X"], [1, 1])], r"called X\[0\], and X\[1\]"),
        ({"X[0]": AB}, [(["X[0]"], [1, 1])], r"called X\[0\], and X\[1\]"),
        (
            {"X[0]": AB, "Z[1]": AB},
            [(["X[0]", "Z[1]"], EVEN)],
            r"there is 'Z\[1\]', but no 'Z\[0\]': say how it begins",
        ),
        (
            {"X[0]": AB, "X[1]": ["a", "b", "c"]},
            [(["X[0]", "X[1]"], np.ones((2, 3)))],
            "the values are the same at all times",
        ),
        (
            {"X[0]": AB, "X[1]": AB, "Z[0]": AB},
            [(["X[0]", "Z[0]", "X[1]"], np.ones((2, 2, 2)))],
            r"looks back at 'Z\[0\]', but there is no 'Z\[1\]'.*called 'Z'",
        ),
        (
            {"X[0]": AB, "X[1]": AB},
            [(["X[1]", "X[0]"], EVEN), (["X[1]"], [0.5, 0.5])],
            r"'X\[1\]' is a parent of 'X\[0\]', which is earlier",
        ),
        (
            {"C": AB, "X[0]": AB, "X[1]": AB},
            [(["X[1]", "C"], EVEN), (["X[0]"], [0.5, 0.5]), (["X[0]", "X[1]"], EVEN)],
            "'C', which is the same at all times",
        ),
        (
            {"X[0]": AB, "Z[0]": AB, "X[1]": AB, "Z[1]": AB},
            [
                (["X[0]"], [0.5, 0.5]),
                (["Z[0]"], [0.5, 0.5]),
                (["Z[1]", "X[1]"], EVEN),
                (["X[1]", "Z[1]"], EVEN),
            ],
            r"the parents form a cycle: 'X\[1\]' <- 'Z\[1\]' <- 'X\[1\]'",
        ),
    ],
)
def test_slices_that_do_not_fit_are_refused(values, factors, message):
    with pytest.raises(InputError, match=message):
        om.unroll(om.model(values, factors), 5)


@pytest.mark.parametrize("steps", [0, -1, True, 2.0, "3", None, 10**12])
def test_steps_are_a_number_above_zero(steps):
    with pytest.raises(InputError, match="steps is"):
        om.unroll(om.read("examples/umbrella.bif"), steps)


def test_evidence_comes_after_and_names_with_times():
    slices = om.read("examples/umbrella.bif")
    with pytest.raises(InputError, match="unroll the model first"):
        om.unroll(slices.given({"rain[0]": "yes"}), 3)
    with pytest.raises(InputError, match=r"unknown variable 'rain\[3\]'.*rain\["):
        om.unroll(slices, 3).given({"rain[3]": "yes"})


def test_the_umbrella_world_is_that_of_the_book():
    """Russell and Norvig, where the first umbrella is seen on day 1: 0.818 and 0.883."""
    model = om.unroll(om.read("examples/umbrella.bif"), 2)
    first = om.marginals(model, {"umbrella[0]": "yes"})["rain[0]"].probability[0]
    both = {"umbrella[0]": "yes", "umbrella[1]": "yes"}
    assert first == pytest.approx(0.45 / 0.55)
    assert om.marginals(model, both)["rain[1]"].probability[0] == pytest.approx(0.883, abs=5e-4)
    assert om.marginals(model, both)["rain[0]"].probability[0] == pytest.approx(0.883, abs=5e-4)


def test_the_command_line_writes_the_model_of_python(tmp_path):
    done = orbitmc("unroll", "examples/umbrella.bif", "--steps", "6", "-o", tmp_path / "six.json")
    assert (done.returncode, done.stdout) == (
        0,
        f"12 variables and 12 factors in {tmp_path / 'six.json'}\n",
    )
    expected, written = (
        om.unroll(om.read("examples/umbrella.bif"), 6),
        om.read(tmp_path / "six.json"),
    )
    assert written.order == expected.order
    assert written.values == expected.values
    seen = {"umbrella[5]": "yes"}
    assert str(om.marginals(written, seen)) == str(om.marginals(expected, seen))
    said = orbitmc("unroll", "examples/umbrella.bif", "--steps", "6")
    assert said.stdout == "12 variables and 12 factors\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["examples/umbrella.bif", "--steps", "0"], "steps is a number above 0"),
        (["examples/sprinkler.bif", "--steps", "3"], "X[0], and X[1]"),
        (["examples/umbrella.bif"], "--steps"),
    ],
)
def test_the_command_line_refuses_in_words(words, message):
    done = orbitmc("unroll", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_helpers_have_the_time_of_their_child_whatever_it_is_called():
    yes = ["no", "yes"]
    gate = om.noisy_or("yt", {"xt": 0.8, "y0": 0.4}, leak=0.1)
    tables = [(["x0"], [0.7, 0.3]), (["x0"], [2, 0.5]), (["y0"], [0.7, 0.3]),
              (["x0", "xt"], [[0.9, 0.1], [0.2, 0.8]]), gate]  # fmt: skip
    model = om.model(dict.fromkeys(("x0", "y0", "xt", "yt"), yes), tables)
    for time in range(4):
        event = f"y[{time}] == 'yes'"
        whole = om.probability(om.unroll(model.without_helpers(), 4), event)
        assert float(om.probability(om.unroll(model, 4), event)) == pytest.approx(float(whole))


@pytest.mark.parametrize("model", [None, "model.bif", 3])
def test_only_models_are_unrolled(model):
    with pytest.raises(InputError, match="a model is unrolled"):
        om.unroll(model, 3)
