"""Observables against sums over all states, Kaufman's formula, and the spread of repeated runs.

Sampled numbers may be six standard errors off: of the few hundred here none is, but for a chance
below 1e-6 (errors have 31 degrees of freedom or more where that is used).
"""

import csv
import io
import itertools
import json
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from tests.cli.commands import orbitmc

MODELS = 300
SIX = 6.0
NAMES = ["energy", "energy per site", "heat capacity", "specific heat", "|m|", "m2", "m4"]
NAMES += ["susceptibility", "Binder ratio"]


def by_hand(model, beta):
    """All observables, and correlations of all pairs, from sums over all states."""
    sizes = model.graph.cardinality.tolist()
    sites, q = len(sizes), sizes[0]
    total, sums, pairs = 0.0, dict.fromkeys(["e", "e2", "m", "a", "m2", "m4"], 0.0), {}
    for state in itertools.product(*map(range, sizes)):
        log_weight = model.graph.constant
        for factor in range(model.graph.factors):
            scope = model.graph.scope_of(factor).tolist()
            log_weight += float(model.graph.full_table(factor)[tuple(state[v] for v in scope)])
        weight = math.exp(beta * log_weight)
        total += weight
        shares = [state.count(value) / sites for value in range(q)]
        m2 = (q * sum(share**2 for share in shares) - 1) / (q - 1)
        numbers = {
            "e": -log_weight,
            "e2": log_weight**2,
            "m": shares[-1] - shares[0],
            "a": (q * max(shares) - 1) / (q - 1),
            "m2": m2,
            "m4": m2**2,
        }
        for key, number in numbers.items():
            sums[key] += weight * number
        for a, b in itertools.combinations(range(sites), 2):
            same = (q * (state[a] == state[b]) - 1) / (q - 1)
            pairs[a, b] = pairs.get((a, b), 0.0) + weight * same
    mean = {key: number / total for key, number in sums.items()}
    heat = beta**2 * (mean["e2"] - mean["e"] ** 2)
    known = {
        "energy": mean["e"],
        "energy per site": mean["e"] / sites,
        "heat capacity": heat,
        "specific heat": heat / sites,
        "magnetisation": mean["m"],
        "|m|": mean["a"],
        "m2": mean["m2"],
        "m4": mean["m4"],
        "susceptibility": beta * sites * (mean["m2"] - mean["a"] ** 2),
        "Binder ratio": 1 - mean["m4"] / (3 * mean["m2"] ** 2),
    }
    return known, {pair: number / total for pair, number in pairs.items()}


def random_spins(seed):
    """A small Ising or Potts model with couplings and fields of any sign."""
    rng = np.random.default_rng(seed)
    spins, q = int(rng.integers(2, 7)), 2 if seed % 3 else 3
    names = [f"s{k}" for k in range(spins)]
    factors = [([name], np.exp(rng.normal(0, 0.5, q))) for name in names]
    for pair in itertools.combinations(names, 2):
        if rng.random() < 0.6:
            factors.append((list(pair), np.exp(rng.normal(0, 0.7) * np.eye(q))))
    return om.model({name: [str(v) for v in range(q)] for name in names}, factors), rng


def test_observables_are_sums_over_all_states():
    for seed in range(MODELS):
        model, rng = random_spins(seed)
        beta = float(rng.choice([0.0, 0.5, 1.0, 2.0]))
        known, pairs = by_hand(model, beta)
        some = [(f"s{a}", f"s{b}") for a, b in list(pairs)[:2]]
        names = NAMES + (["magnetisation"] if model.graph.cardinality[0] == 2 else [])
        found = om.observables(model, [*names, *some], beta=beta)
        assert found.about.method == "exact"
        for name in names:
            assert found[name].value == pytest.approx(known[name], abs=1e-9), (seed, name)
        for (a, b), expected in list(pairs.items())[:2]:
            one = found[f"correlation(s{a},s{b})"]
            assert one.value == pytest.approx(expected, abs=1e-12)
            assert one.verdict == "exact"


def test_evidence_fixes_spins_that_still_count():
    model = om.ising_grid(2, 3, 0.5)
    known, _ = by_hand(model.given({}), 1.0)
    seen = om.observables(model, ["m", "energy"], {"s0_0": "up"})
    joint = om.marginals(model, {"s0_0": "up"})
    spins = [float(joint[name].probability @ [-1, 1]) for name in model.order]
    assert seen["magnetisation"].value == pytest.approx(np.mean(spins))
    assert seen["magnetisation"].value > known["magnetisation"] + 0.1


def test_evidence_is_part_of_the_energy_as_in_a_sweep():
    model = om.ising_grid(2, 3, 0.5, 0.1)
    evidence = {"s0_0": "up", "s1_1": [0.2, 0.8]}
    rung = om.sweep(model, [0.7], evidence, observables=["|m|"])[0]
    found = om.observables(model, ["energy", "|m|", "heat capacity"], evidence, beta=0.7)
    assert found["energy"].value == pytest.approx(rung.energy.value)
    assert found["|m|"].value == pytest.approx(rung.observables["|m|"].value)
    assert found["heat capacity"].value == pytest.approx(rung.heat_capacity.value, abs=1e-6)
    sampled = om.observables(
        model, ["energy"], evidence, beta=0.7, method="gibbs", samples=500, seed=1
    )
    off = abs(sampled["energy"].value - rung.energy.value)
    assert off <= SIX * sampled["energy"].standard_error


def spin_states(rows, columns):
    """All states of a lattice as spins, and the sum over its closed bonds."""
    count = rows * columns
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    spins = (2 * bits - 1).reshape(-1, rows, columns)
    bonds = (spins * np.roll(spins, 1, axis=1)).sum(axis=(1, 2))
    return spins, bonds + (spins * np.roll(spins, 1, axis=2)).sum(axis=(1, 2))


@pytest.mark.parametrize("beta", [0.2, 0.44, 0.7])
def test_a_closed_lattice_of_sixteen_spins_is_exact(beta):
    spins, bonds = spin_states(4, 4)
    weights = np.exp(beta * (bonds - bonds.max()))
    weights /= weights.sum()
    m = np.abs(spins.mean(axis=(1, 2)))
    names = ["energy", "|m|", "susceptibility", "binder", "specific heat"]
    names += ["correlation(1)", "correlation(2)", ("s0_0", "s2_2")]
    found = om.observables(om.ising_grid(4, 4, 1.0, periodic=True), names, beta=beta)
    energy, m2, m4 = -weights @ bonds, weights @ m**2, weights @ m**4
    expected = {
        "energy": energy,
        "|m|": weights @ m,
        "susceptibility": beta * 16 * (m2 - (weights @ m) ** 2),
        "Binder ratio": 1 - m4 / (3 * m2**2),
        "specific heat": beta**2 * (weights @ bonds**2 - energy**2) / 16,
        "correlation(s0_0,s2_2)": weights @ (spins[:, 0, 0] * spins[:, 2, 2]),
    }
    for distance in (1, 2):
        down, along = (np.roll(spins, distance, axis=axis) for axis in (1, 2))
        both = (spins * (down + along)).mean(axis=(1, 2)) / 2
        expected[f"correlation({distance})"] = weights @ both
    assert list(found) == [ALIAS.get(n, n) if isinstance(n, str) else f"correlation({','.join(n)})"
                           for n in names]  # fmt: skip
    for name, number in expected.items():
        assert found[name].value == pytest.approx(number, abs=1e-10), name


ALIAS = {"binder": "Binder ratio"}


def test_distances_on_an_open_lattice_do_not_go_around():
    model = om.ising_grid(2, 4, 0.6)
    pairs = [(f"s{r}_{c}", f"s{r}_{c + 2}") for r in range(2) for c in range(2)]
    found = om.observables(model, ["correlation(2)", *pairs])
    expected = np.mean([found[f"correlation({a},{b})"].value for a, b in pairs])
    assert found["correlation(2)"].value == pytest.approx(expected)
    with pytest.raises(InputError, match="no two sites of a lattice of 2 by 4 are 4 apart"):
        om.observables(model, ["correlation(4)"])


def test_the_order_parameter_of_potts_is_that_of_the_largest_share():
    model = om.potts_grid(3, 3, 3, 1.0, periodic=True)
    known, _ = by_hand(model, 0.8)
    found = om.observables(model, ["order parameter", "chi", "m2"], beta=0.8)
    for name in ("|m|", "susceptibility", "m2"):
        assert found[name].value == pytest.approx(known[name], abs=1e-10)


SAMPLED = ["energy", "specific heat", "magnetisation", "|m|", "m2", "susceptibility", "binder"]


def test_sampled_observables_are_near_the_exact_ones():
    lattice = om.ising_grid(4, 4, 1.0, periodic=True)
    names = [*SAMPLED, "correlation(2)"]
    for beta in (0.0, 0.25, 0.44):
        exact = om.observables(lattice, names, beta=beta)
        found = om.observables(lattice, names, beta=beta, method="gibbs", samples=1000, seed=3)
        for name, one in found.items():
            off = abs(one.value - exact[name].value)
            assert off <= SIX * one.standard_error + 1e-12, (beta, name)
            assert one.converged, (beta, name, one.verdict)
            assert one.low <= one.value <= one.high


def test_the_errors_of_functions_of_means_are_as_large_as_their_spread():
    """The sum of 24 squared z-scores is between 4 and 90 but for a chance of 1e-6."""
    lattice = om.ising_grid(3, 3, 1.0, periodic=True)
    names = ["susceptibility", "Binder ratio", "specific heat"]
    exact = om.observables(lattice, names, beta=0.35)
    scores = dict.fromkeys(names, 0.0)
    for seed in range(24):
        found = om.observables(lattice, names, beta=0.35, method="gibbs", samples=60, seed=seed)
        for name, one in found.items():
            scores[name] += ((one.value - exact[name].value) / one.standard_error) ** 2
    for name, total in scores.items():
        assert 4 < total < 90, (name, total)


def test_the_verdict_of_an_energy_is_not_that_of_the_signs():
    """Cold spins keep their sign; their energies are right all the same, and are believed."""
    lattice = om.ising_grid(6, 6, 1.0, periodic=True)
    spins = om.marginals(lattice.at(0.6), method="gibbs", samples=400, seed=1)
    assert "not mixed" in spins.verdicts()
    found = om.observables(
        lattice, ["energy", "|m|", "m"], beta=0.6, method="gibbs", samples=400, seed=1
    )
    assert found["energy"].converged
    assert found["|m|"].converged
    assert not found["magnetisation"].converged
    exact = -kaufman_slope(6, 0.6)
    assert abs(found["energy"].value - exact) <= SIX * found["energy"].standard_error


def kaufman_log_z(size, coupling):
    """Log Z of the closed square lattice (Kaufman 1949)."""
    turns = np.arange(2 * size)
    cosine = np.cosh(2 * coupling) / np.tanh(2 * coupling) - np.cos(np.pi * turns / size)
    gamma = np.arccosh(cosine)
    gamma[0] = 2 * coupling + np.log(np.tanh(coupling))
    half = size * gamma / 2
    cosh = np.abs(half) + np.log1p(np.exp(-2 * np.abs(half)))
    with np.errstate(divide="ignore"):
        sinh = np.abs(half) + np.log1p(-np.exp(-2 * np.abs(half)))
    sign = np.sign(half[0])
    terms = np.array([cosh[1::2].sum(), sinh[1::2].sum(), cosh[0::2].sum(), sinh[0::2].sum()])
    top = terms.max()
    total = top + np.log(np.exp(terms - top) @ [1, 1, 1, sign])
    return size**2 / 2 * np.log(2 * np.sinh(2 * coupling)) - np.log(2) + total


def kaufman_slope(size, coupling, step=1e-5):
    return (kaufman_log_z(size, coupling + step) - kaufman_log_z(size, coupling - step)) / (
        2 * step
    )


def test_kaufmans_formula_is_the_sum_over_sixteen_spins():
    for coupling in (0.3, 0.5):
        bonds = spin_states(4, 4)[1]
        log_z = np.logaddexp.reduce(coupling * bonds)
        assert kaufman_log_z(4, coupling) == pytest.approx(log_z, abs=1e-9)


def test_a_sweep_of_a_large_lattice_has_the_energies_of_kaufman():
    lattice = om.ising_grid(32, 32, 1.0, periodic=True)
    betas = [0.2, 0.3, 0.36, 0.4]
    sweep = om.sweep(lattice, betas, observables=["energy per site", "|m|"], samples=400, seed=1)
    for rung in sweep:
        exact = -kaufman_slope(32, rung.beta)
        assert abs(rung.energy.value - exact) <= SIX * rung.energy.standard_error
        assert rung.energy.converged, (rung.beta, rung.energy.verdict)
        one = rung.observables["energy per site"]
        assert abs(one.value - exact / 1024) <= SIX * one.standard_error
        assert rung.observables["|m|"].standard_error > 0


def test_a_sweep_measures_what_observables_do():
    lattice = om.ising_grid(3, 4, 1.0)
    names = ["energy", "|m|", "chi", "correlation(s0_0,s2_3)"]
    betas = [0.0, 0.3, 0.9]
    exact = om.sweep(lattice, betas, observables=names)
    sampled = om.sweep(lattice, betas, observables=names, method="gibbs", samples=600, seed=2)
    for beta, rung, other in zip(betas, exact, sampled, strict=True):
        alone = om.observables(lattice, names, beta=beta)
        assert list(rung.observables) == list(alone)
        for name, one in rung.observables.items():
            assert one.value == pytest.approx(alone[name].value, abs=1e-10)
            off = abs(other.observables[name].value - one.value)
            assert off <= SIX * other.observables[name].standard_error + 1e-12, (beta, name)
    assert str(exact).count("susceptibility") == 3


def test_infinite_temperature_makes_all_possible_states_alike():
    hot = om.sweep(om.ising_grid(3, 3, 0.7, 0.2), [0.0, 0.5])
    assert hot[0].energy.value == pytest.approx(0.0, abs=1e-12)
    assert hot[0].heat_capacity.value == 0.0
    np.testing.assert_allclose(hot[0].marginals["s1_1"].probability, [0.5, 0.5])
    model = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[4.0, 2.0], [0.0, 1.0]])])
    mean = -(math.log(4) + math.log(2) + math.log(1)) / 3
    assert om.sweep(model, [0.0])[0].energy.value == pytest.approx(mean)
    assert float(om.log_z(model.at(0.0))) == pytest.approx(math.log(3))
    sampled = om.sweep(model, [0.0, 1.0], method="gibbs", samples=500, seed=1)[0].energy
    assert abs(sampled.value - mean) <= SIX * sampled.standard_error
    with pytest.raises(InputError, match="beta is a number, 0 or above, not -1"):
        om.sweep(model, [-1.0])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["energi"], "there is no observable 'energi'; did you mean 'energy'"),
        ([], "name at least one observable"),
        (["correlation(s0_0,s9_9)"], "unknown variable 's9_9'"),
        ([("s0_0", "s0_0")], "named twice"),
        (["correlation(s0_0)"], "two variables, not of 1"),
        (["correlation(9)"], "no two sites"),
    ],
)
def test_unknown_observables_are_refused(names, message):
    with pytest.raises(InputError, match=message):
        om.observables(om.ising_grid(2, 3, 0.5), names)


def test_models_that_have_no_such_thing_are_told_so():
    with pytest.raises(InputError, match="with 3 values there is no magnetisation"):
        om.observables(om.potts_grid(2, 2, 3, 0.5), ["m"])
    mixed = om.model({"a": ["x", "y"], "b": ["x", "y", "z"]}, [])
    with pytest.raises(InputError, match="the same number of values"):
        om.observables(mixed, ["|m|"])
    assert om.observables(mixed, ["energy"])["energy"].value == 0.0
    with pytest.raises(InputError, match="distances are those of a lattice"):
        om.observables(om.ising([0, 0], [(0, 1)], 0.5), ["correlation(1)"])
    with pytest.raises(LimitError, match="let them be sampled"):
        om.observables(om.ising_grid(6, 6, 0.3), ["|m|"], method="exact")
    large = om.observables(om.ising_grid(6, 6, 1.0), ["energy", "c"], beta=0.3, method="exact")
    assert large["energy"].verdict == "exact"
    near = om.sweep(om.ising_grid(6, 6, 1.0), [0.3])[0]
    assert large["energy"].value == pytest.approx(near.energy.value)
    assert large["specific heat"].value == pytest.approx(near.heat_capacity.value / 36)


def test_the_command_line_measures_the_same(tmp_path):
    om.write(om.ising_grid(3, 3, 1.0), tmp_path / "grid.json")
    words = ("sweep", tmp_path / "grid.json", "--beta", "0,0.4", "--observables")
    asked = "energy,|m|, correlation(s0_0,s2_2) ,correlation(1)"
    expected = om.sweep(
        om.ising_grid(3, 3, 1.0), [0, 0.4],
        observables=["energy", "|m|", ("s0_0", "s2_2"), "correlation(1)"],
    )  # fmt: skip
    done = orbitmc(*words, asked)
    assert (done.returncode, done.stdout) == (0, f"{expected}\n")
    betas = json.loads(orbitmc(*words, asked, "--json").stdout)["betas"]
    assert betas[1]["observables"]["|m|"]["value"] == expected[1].observables["|m|"].value
    orbitmc(*words, asked, "-o", tmp_path / "sweep.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "sweep.csv").read_text())))
    assert {row["quantity"] for row in rows} == {
        "energy", "heat_capacity", "|m|", "correlation(s0_0,s2_2)", "correlation(1)",
    }  # fmt: skip
    wrong = orbitmc(*words, "magnetisatio")
    assert wrong.returncode == 2
    assert "did you mean 'magnetisation'" in wrong.stderr


def test_bars_and_verdicts_are_in_the_picture():
    pytest.importorskip("matplotlib").use("Agg")
    lattice = om.ising_grid(5, 5, 1.0)
    sweep = om.sweep(
        lattice, [0.2, 1.5], observables=["m", "|m|"], method="gibbs", samples=30, seed=1
    )
    places = [place for place in sweep.plot().axes if place.get_visible()]
    assert [place.get_ylabel() for place in places] == [
        "energy",
        "heat capacity",
        "magnetisation",
        "|m|",
    ]
    assert all(len(place.containers) == 1 for place in places)
    doubted = not sweep[1].observables["magnetisation"].converged
    assert doubted
    assert places[2].get_legend() is not None


def test_spins_without_any_magnetisation_have_no_binder_ratio_to_divide_by():
    values = ["down", "up"]
    pair = om.model({"a": values, "b": values}, [(["a", "b"], [[0, 1], [1, 0]])])
    assert float(om.observables(pair)["Binder ratio"]) == 0.0


def test_a_model_whose_spins_are_all_observed():
    grid = om.ising_grid(3, 3, 0.4)
    told = om.observables(grid, None, dict.fromkeys(grid.names, "up"))
    assert float(told["|m|"]) == 1.0
    assert float(told["energy"]) == pytest.approx(-12 * 0.4)
