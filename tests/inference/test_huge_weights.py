"""Weights beside which others would be lost in a sum: the answer is right, or refused."""

import json
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model

IMPLIES = "person = {A, B}\nP(person)\nQ(person)\n"
SAMPLING = {"samples": 1_000, "seed": 1, "lanes": 32}
ERRORS = 9.5  # Student's t with 31 degrees passes it about once in 1e10 draws


def binary(*factors, constant=0.0, variables=2):
    builder = Builder([2] * variables)
    builder.constant = constant
    for scope, table in factors:
        builder.add_factor(scope, table)
    names = tuple(f"v{number}" for number in range(variables))
    return Model(builder.build(), names, (("no", "yes"),) * variables)


def program(tmp_path, rules):
    (tmp_path / "p.mln").write_text(IMPLIES + rules)
    return om.read_logic(tmp_path / "p.mln")


def yes(answer, name):
    return float(answer[name].probability[-1])


# With P => Q certain and a field of 1 on P: three states, two of them without P.
P_TRUE = math.e / (2 + math.e)
Q_TRUE = (1 + math.e) / (2 + math.e)


@pytest.mark.parametrize("weight", ["1e7", "1e16", "1e100", "1e308"])
def test_a_huge_weight_does_not_hide_a_small_one(tmp_path, weight):
    answer = program(tmp_path, f"{weight} P(x) => Q(x)\n1 P(x)\n").marginals(method="exact")
    assert yes(answer, "P(A)") == pytest.approx(P_TRUE, abs=1e-12)
    assert yes(answer, "Q(B)") == pytest.approx(Q_TRUE, abs=1e-12)
    said = answer.about.warnings[0]
    assert "count as impossible" in said
    assert "P(A), Q(A)" in said


@pytest.mark.parametrize("method", ["gibbs", "mcsat", "lifted", "lmh"])
def test_every_method_sees_the_small_weight_beside_the_huge_one(tmp_path, method):
    asked = program(tmp_path, "1e16 P(x) => Q(x)\n1 P(x)\n")
    given = {"alpha": 0.8} if method == "lmh" else {}
    answer = asked.marginals(method=method, **SAMPLING, **given)
    for name, truth in (("P(A)", P_TRUE), ("Q(A)", Q_TRUE), ("P(B)", P_TRUE), ("Q(B)", Q_TRUE)):
        error = float(answer[name].standard_error[-1])
        assert 0 < error < 0.005
        assert abs(yes(answer, name) - truth) < ERRORS * error
    assert any("count as impossible" in said for said in answer.about.warnings)


@pytest.mark.parametrize(
    "rules",
    [
        "1e16 P(x)\n1 P(x)\n2 Q(x)\n",  # fields of one atom
        "1e16 P(x) v Q(x)\n1e300 P(x)\n-1 Q(x) v P(x)\n2 Q(x)\n",
        "1e16 P(x) ^ (Q(x) v !Q(x))\n2 Q(x)\n",
    ],
)
def test_weights_of_one_variable_or_scope_are_not_added_before_they_are_told_apart(tmp_path, rules):
    answer = program(tmp_path, rules).marginals(method="exact")
    assert yes(answer, "P(A)") == 1.0
    assert yes(answer, "Q(A)") == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-12)


def test_evidence_that_breaks_a_huge_weight_is_no_contradiction(tmp_path):
    (tmp_path / "p.mln").write_text(IMPLIES + "1e16 P(x) => Q(x)\n1 P(x)\n2 Q(x)\n")
    asked = om.read_logic(tmp_path / "p.mln", evidence=["P(A)", "!Q(A)"], opened=["P", "Q"])
    answer = asked.marginals(method="exact")
    field = math.exp(1)
    total = 1 + math.exp(2) + field * math.exp(2)
    assert yes(answer, "P(B)") == pytest.approx(field * math.exp(2) / total, abs=1e-12)


def test_evidence_after_building_merges_nothing_that_would_be_lost():
    model = binary(
        ([0, 1], [1e16, 1e16, 0.0, 1e16]),
        ([2, 0, 1], np.repeat([0.0, 0.5], 4)),
        ([2, 0, 1], np.tile([0.0, 0.0, 1.0, 1.0], 2)),
        variables=3,
    )
    answer = om.marginals(model, {"v2": "yes"}, method="exact")
    assert yes(answer, "v0") == pytest.approx(P_TRUE, abs=1e-12)
    assert yes(answer, "v1") == pytest.approx(Q_TRUE, abs=1e-12)


def test_log_weights_near_the_largest_double_give_numbers(tmp_path):
    held = {
        "format": "orbitmc-model",
        "version": 1,
        "variables": [{"name": n, "values": ["no", "yes"]} for n in "ab"],
        "tables": [[1e308, 1e308, 1e308, 1e308], [0.0, 1.0]],
        "factors": [[0, 0, 1], [0, 0, 1], [1, 0]],
    }
    (tmp_path / "m.json").write_text(json.dumps(held))
    answer = om.marginals(om.read(tmp_path / "m.json"), method="exact")
    assert yes(answer, "a") == pytest.approx(math.e / (1 + math.e), abs=1e-12)
    assert yes(answer, "b") == pytest.approx(0.5, abs=1e-12)
    assert answer.about.log_z is None
    assert any("log Z" in said for said in answer.about.warnings)


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat"])
def test_very_low_log_weights_are_no_contradiction(method):
    low = [-1e308] * 4
    model = binary(([0, 1], low), ([1, 0], low), ([0], [0.0, 1.0]))
    answer = om.marginals(model, method=method, **(SAMPLING if method != "exact" else {}))
    error = float(answer["v0"].standard_error[-1])
    assert yes(answer, "v0") == pytest.approx(math.e / (1 + math.e), abs=1e-9 + ERRORS * error)


def test_low_log_weights_that_evidence_decides_are_no_contradiction():
    low = [-1e308] * 4
    model = binary(([0, 1], low), ([1, 0], low), ([0], [0.0, 1.0]))
    answer = om.marginals(model, {"v1": "yes"}, method="exact")
    assert yes(answer, "v0") == pytest.approx(math.e / (1 + math.e), abs=1e-12)
    assert answer.about.log_z is None


@pytest.mark.parametrize("suffix", [".json", ".uai"])
def test_a_constant_beyond_doubles_is_not_written(tmp_path, suffix):
    low = [-1e308] * 4
    seen = binary(([0, 1], low), ([1, 0], low)).given({"v0": "yes", "v1": "no"})
    with pytest.raises(InputError, match="beyond the largest double"):
        om.write(seen, tmp_path / f"m{suffix}")


def test_no_verdict_is_given_on_what_is_no_number():
    from orbitmc.estimate.marginals import About, exact_marginals

    with pytest.raises(LimitError, match="'v0' came out as"):
        exact_marginals(binary(variables=1), [np.array([np.nan, 0.5])], About("exact", ""))


@pytest.mark.parametrize("ask", ["prepare", "eliminate", "attraction"])
def test_what_works_on_bare_graphs_refuses_weights_it_cannot_add(ask):
    from experiments.coupling_from_the_past import attraction_of
    from orbitmc.conditionals.prepared import prepare
    from orbitmc.exact.contraction import marginals

    asks = {
        "prepare": prepare,
        "eliminate": marginals,
        "attraction": attraction_of,
    }
    with pytest.raises(LimitError, match="beside such numbers others are lost"):
        asks[ask](binary(([0, 1], [1e16, 0.0, 0.0, 1e16])).graph)


def test_log_z_survives_where_it_is_a_number():
    model = binary(([0], [2e7, 2e7 + 1.0]), constant=3.0, variables=1)
    answer = om.marginals(model, method="exact")
    assert answer.about.log_z == pytest.approx(2e7 + 3 + math.log1p(math.e), rel=1e-15)


def test_entries_near_the_maximum_of_a_huge_table_keep_their_differences():
    model = binary(([0, 1], [1e12, 1e12 + 2.0, -1e12, 0.0]))
    answer = om.marginals(model, method="exact")
    assert yes(answer, "v0") == 0.0
    assert yes(answer, "v1") == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-12)


def test_what_is_impossible_does_not_count_as_the_maximum():
    model = binary(([0, 1], [0.0, 3e16, 0.0, 0.0]), ([1], [0.0, -np.inf]), ([0], [0.0, 1.0]))
    answer = om.marginals(model, method="exact")
    assert yes(answer, "v0") == pytest.approx(math.e / (1 + math.e), abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"])
def test_huge_weights_that_contradict_each_other_are_refused_by_name(method):
    model = binary(([0], [0.0, 1e16]), ([0, 1], [0.0, 0.0, -1e17, -1e17]), ([1], [0.0, 1.0]))
    with pytest.raises(LimitError, match=r"\(v0\) from 0 to 1e\+16; \(v0, v1\) from -1e\+17 to 0"):
        om.marginals(model, method=method, samples=10)


def test_a_program_with_contradicting_huge_weights_names_its_atoms(tmp_path):
    with pytest.raises(
        LimitError, match=r"\(P\(B\)\) from 0 to 1e\+16; \(P\(B\)\) from -1e\+16 to 0"
    ):
        program(tmp_path, "1e16 P(x)\n-1e16 P(x)\n").marginals(method="exact")


def test_weights_too_large_to_add_and_too_small_to_be_hard_are_refused():
    many = [([0, place], [0.0, 0.0, 0.0, 9e5]) for place in range(1, 4)]
    model = binary(([0], [1.5e6, 0.0]), *many, variables=4)
    with pytest.raises(LimitError, match="beside"):
        om.marginals(model, method="exact")


def test_a_true_contradiction_stays_one_beside_huge_weights():
    hard = [-np.inf, 0.0]
    model = binary(([0], hard), ([0], hard[::-1]), ([1], [0.0, 1e16]))
    with pytest.raises(ContradictionError):
        om.marginals(model, method="exact")


def test_nothing_of_the_huge_weights_is_left():
    from orbitmc.graph.hardening import harden

    model = binary(([0, 1], [1e300, 1e300, 0.0, 1e300]), ([0], [0.0, 1.0]))
    graph = harden(model).model.graph
    assert set(graph.table.tolist()) == {0.0, 1.0, -np.inf}
    assert graph.constant == 1e300


def test_models_without_huge_weights_are_left_alone():
    from orbitmc.graph.hardening import harden

    model = binary(([0, 1], [0.0, 1.0, 2.0, 1e6]), ([0], [0.0, -np.inf]))
    found = harden(model)
    assert found.model is model
    assert found.remarks == ()
