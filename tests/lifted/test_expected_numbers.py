"""Expected numbers of true groundings: counted as they are summed over joint laws of atoms."""

import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.inference import expectation
from tests.lifted.random_fragments import random_fragment
from tests.lifted.test_counting import SMOKERS, people, read


def bodies(program: str) -> dict[str, str]:
    """The formulas of the soft rules of a program, by their weights."""
    rules = [line.partition(" ") for line in program.splitlines()]
    return {
        weight: body
        for weight, _, body in rules
        if weight.lstrip("-")[0].isdigit() and "=" not in weight
    }


def deviation(seed: int) -> float | None:
    """How far counting is from the joint law of all atoms; None if there is nothing to compare."""
    written = random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        formulas = bodies(written.program)
        exact = om.expect(logic, formulas, method="exact")
    except (ContradictionError, InputError, LimitError):
        return None
    counted = om.expect(logic, formulas, method="counting")
    assert counted.converged
    gaps = [abs(counted[name].value - exact[name].value) for name in formulas]
    return max(gaps)


def test_numbers_of_true_groundings_are_counted_as_joint_laws_say():
    deviations = [deviation(seed) for seed in range(11_000, 11_120)]
    compared = [gap for gap in deviations if gap is not None]
    assert len(compared) > 40
    assert max(compared) < 1e-9


def test_many_people_are_not_ground():
    """Smokers are a sum of marginals, friends that smoke one of joint laws."""
    logic = read(people(3000) + SMOKERS)
    formulas = {
        "smokers": "Smokes(x)",
        "both": "Smokes(x) ^ Smokes(y) ^ x != y",
        "friends of P1": "Friends(P1,x)",
    }
    numbers = om.expect(logic, formulas)
    assert numbers.about.method == "counting"
    assert not logic.is_ground
    marginals = om.marginals(logic, query="Smokes(P1);Friends(P1,P1);Friends(P1,P2)")
    p = [marginals[name].probability[0] for name in marginals]
    both = om.joint(logic, ["Smokes(P1)", "Smokes(P2)"]).probability[1, 1]
    assert numbers["smokers"].value == pytest.approx(3000 * p[0], rel=1e-10)
    assert numbers["both"].value == pytest.approx(3000 * 2999 * both, rel=1e-9)
    assert numbers["friends of P1"].value == pytest.approx(p[1] + 2999 * p[2], rel=1e-10)


def test_what_cannot_be_counted_is_looked_at_in_samples():
    logic = read(people(3) + SMOKERS, "Smokes(P0)\n", opened=["Smokes"])
    formulas = {"triangles": "Friends(x,y) ^ Friends(y,z) ^ Friends(x,z) ^ x != y ^ y != z"}
    words = r"rule 3 \(triangles:1:1\) has three variables \(x, y, z\)"
    with pytest.raises(InputError, match=words):
        om.expect(read(people(9) + SMOKERS), formulas, method="counting")
    sampled = om.expect(logic, formulas, method="gibbs", samples=2000)["triangles"]
    exact = om.expect(logic, formulas, method="exact")["triangles"]
    assert exact.standard_error == 0.0
    assert abs(sampled.value - exact.value) <= 9 * sampled.standard_error
    some = {"have friends": "EXIST y (Friends(x,y) ^ x != y)", "who": lambda s: s["Smokes(P1)"]}
    mixed = om.expect(logic, some, method="exact")
    alone = [om.probability(logic, f"Friends(P{n},P{(n + 1) % 3}) v Friends(P{n},P{(n + 2) % 3})")
             for n in range(3)]  # fmt: skip
    assert mixed["have friends"].value == pytest.approx(math.fsum(a.value for a in alone))


def test_formulas_that_mean_nothing_are_refused(monkeypatch):
    logic = read(people(3) + SMOKERS)
    for method in ("counting", "exact"):
        for formula, words in (
            ("Smokes(P7)", "a:1:1: 'P7' is no constant of type person"),
            ("Smoks(x)", "did you mean 'Smokes'"),
            ("Smokes(x", "expected a comma"),
            ("*Smokes(x)", "atoms with \\* stand for several formulas"),
        ):
            with pytest.raises(InputError, match=words):
                om.expect(logic, {"a": formula}, method=method)
    with pytest.raises(InputError, match="expected a mapping"):
        om.expect(logic, {}, method="counting")
    with pytest.raises(InputError, match="these are for programs"):
        om.expect(om.ising_grid(2, 2, 0.1), {"a": "Smokes(x)"})
    monkeypatch.setattr(expectation, "MOST_GROUNDINGS", 8)
    with pytest.raises(LimitError, match="the formula 'a' has 9 groundings, the limit is 8"):
        om.expect(logic, {"a": "Friends(x,y)"}, method="exact")


def test_numbers_have_the_slope_of_log_z():
    """The mean number of true groundings of a rule is the derivative of log Z by its weight."""
    rule = "Friends(x,y) => (Smokes(x) <=> Smokes(y))"
    step, log_z = 1e-4, []
    for change in (-step, step):
        program = SMOKERS.replace("0.3 ", f"{0.3 + change!r} ")
        log_z.append(float(om.log_z(read(people(50) + program), method="counting")))
    slope = np.diff(log_z)[0] / (2 * step)
    number = om.expect(read(people(50) + SMOKERS), {"rule": rule}, method="counting")["rule"]
    assert number.value == pytest.approx(slope, rel=1e-7)
