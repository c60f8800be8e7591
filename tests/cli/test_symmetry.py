"""`orbitmc symmetry` and the lifted methods, as people call them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import orbitmc as om
from orbitmc.inference import symmetries as symmetry_report
from orbitmc.inference.symmetries import symmetry_overview
from orbitmc.mln.symmetry import approximate_classes as boolean_relations
from orbitmc.symmetry import approximations as low_rank_links
from tests.cli.commands import answer_of
from tests.cli.commands import orbitmc as run

NO_MOVES = '{"families": [], "period": 1}'
RING = Path(__file__).parents[2] / "examples" / "ring.uai"


def test_the_group_of_a_ring_in_json():
    found = json.loads(run("symmetry", RING, "--exact-only", "--json").stdout)
    assert found["order"] == "8"
    assert found["orbits"] == [["0", "1", "2", "3"]]
    assert found["complete"] is True
    assert found["seconds"] >= 0
    assert found["approximations"] == []
    moved = {name for cycles in found["generators"] for cycle in cycles for name in cycle}
    assert moved == {"0", "1", "2", "3"}


def test_the_order_of_a_partial_group_is_counted_too(monkeypatch):
    search = symmetry_report.automorphisms
    monkeypatch.setattr(
        symmetry_report,
        "automorphisms",
        lambda *a, **k: replace(search(*a, **k), order=None, complete=False),
    )
    found = json.loads(run("symmetry", RING, "--exact-only", "--json").stdout)
    assert (found["order"], found["complete"]) == ("8", False)
    assert "maybe not all" in run("symmetry", RING, "--exact-only").stdout


def test_values_double_the_group():
    found = json.loads(run("symmetry", RING, "--exact-only", "--values", "--json").stdout)
    assert found["order"] == "16"
    # an even ring also keeps its weights when all spins are turned over
    words = {word for cycles in found["generators"] for cycle in cycles for word in cycle}
    assert {"0=0", "0=1"} <= words
    assert all(found["generators"])


def test_evidence_breaks_symmetries():
    found = json.loads(run("symmetry", RING, "--exact-only", "-e", "0=1", "--json").stdout)
    assert found["order"] == "2"


@pytest.mark.parametrize(("cycle", "order"), [("(0 1)", "362880"), ("(0 1 2)", None)])
def test_own_generators_are_counted_where_structure_says_how_many_there_are(cycle, order, tmp_path):
    """All permutations of nine variables are known at once; the even ones are too many to list."""
    (tmp_path / "nine.uai").write_text(f"MARKOV\n9\n{'2 ' * 9}\n0\n")
    words = ("symmetry", tmp_path / "nine.uai", "--exact-only", "-g", "(0 1 2 3 4 5 6 7 8)")
    found = json.loads(run(*words, "-g", cycle, "--json").stdout)
    assert found["order"] == order
    assert found["how"] == ("given, not counted" if order is None else "given, counted")
    assert f"order        {order or 'not counted'}\n" in run(*words, "-g", cycle).stdout


def test_own_generators_are_taken_as_they_are():
    done = run("symmetry", RING, "--exact-only", "-g", "(0 1 2)")
    assert "(0 1 2)" in done.stdout
    assert "given" in done.stdout
    typed = ("-g", "(0 1 2 3)", "-g", "(0=0 0=1)")
    found = json.loads(run("symmetry", RING, "--exact-only", "--json", *typed).stdout)
    assert found["order"] == "64"  # four turns, and each of four spins may be flipped
    assert found["generators"] == [[["0", "1", "2", "3"]], [["0=0", "0=1"]]]


@pytest.mark.parametrize("typed", ["(0 1 1)", "(0 9)", "(0 1", "nonsense"])
def test_generators_that_are_no_permutations_are_refused(typed):
    done = run("symmetry", RING, "-g", typed)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "Z orbitmc: " in done.stderr
    assert "Traceback" not in done.stderr


def test_approximations_say_how_often_the_model_accepts():
    found = json.loads(run("symmetry", RING, "--json").stdout)
    names = [one["name"] for one in found["approximations"]]
    assert names == [
        "without fields",
        "one coupling",
        "6 weights",
        "6 weights, rank 5",
        "6 weights, colours",
    ]
    for one in found["approximations"]:
        assert one["acceptance"] is None or 0 < one["acceptance"] <= 1


def test_a_model_too_large_for_one_approximation_still_gets_an_answer(monkeypatch):
    monkeypatch.setitem(low_rank_links.low_rank.__kwdefaults__, "most_variables", 3)
    found = json.loads(run("symmetry", RING, "--json").stdout)
    assert found["order"] == "8"
    remarks = {one["name"]: one["remark"] for one in found["approximations"]}
    assert "limit is 3 variables" in remarks.pop("6 weights, rank 5")
    assert set(remarks.values()) == {""}
    assert "limit is 3 variables" in run("symmetry", RING).stdout


def test_a_model_that_cannot_be_sampled_still_has_symmetries(tmp_path):
    file = tmp_path / "wide.uai"
    table = f"300 {' 1' * 300}\n"
    file.write_text(f"MARKOV\n2\n300 300\n2\n1 0\n1 1\n{table}{table}")
    found = json.loads(run("symmetry", file, "--json").stdout)
    assert found["order"] == "2"
    assert all("300 values" in one["remark"] for one in found["approximations"])


def test_a_table_says_what_more_moved_factors_buy():
    found = json.loads(run("symmetry", RING, "--json").stdout)["approximations"][0]
    # opposite corners have the same neighbours: two pairs whose exchange moves nothing
    assert [cut["max_moved"] for cut in found["cuts"]] == [10, 50, 200, 1000]
    for cut in found["cuts"]:
        assert (cut["blocks"], cut["moved_variables"], cut["moved_factors"]) == (2, 4, 0)
    assert (
        "up to   50 factors    4 variables in 2 blocks, 0 factors" in run("symmetry", RING).stdout
    )


def test_own_generators_are_jumped_by_and_remembered(tmp_path):
    typed, kept = tmp_path / "generators.txt", tmp_path / "x.run"
    typed.write_text("(0 1 2)\n\n(1 3)\n")
    words = ("infer", RING, "--method", "lmh", "--samples", "300", "--seed", "2")
    answer = answer_of(*words, "--generators", typed, "--checkpoint", kept)
    assert "2 given generators" in answer["reason"]
    assert answer["outcomes"]["accepted"] > 0
    for variable in answer["variables"].values():
        # by symmetry, as below
        error = abs(variable["probability"][1] - 0.5)
        assert error <= 9.5 * variable["standard_error"][1] + 1e-7
    again = answer_of(*words, "-g", "(0 1 2)", "-g", "(1 3)")
    typed.unlink()
    assert again["variables"] == answer_of("resume", kept)["variables"] == answer["variables"]


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        (("--method", "lmh", "-g", "(0 9)"), "9"),
        (("--method", "lmh", "-g", "nowhere.txt"), "no such file"),
        (("--method", "lmh", "-g", "()"), "nothing"),
        (("--method", "gibbs", "-g", "(0 1)"), "lmh"),
        (("--method", "lmh", "--set", "min_acceptance=0"), "acceptance"),
        (("--method", "gibbs", "--set", "alpha=0.5"), "alpha is for lifted and lmh, not for gibbs"),
        (("--method", "lmh", "--set", "scan=random"), "scan is for gibbs, not for lmh"),
        (("--method", "exact", "--set", "scan=systematic"), "scan is for gibbs, not for exact"),
        (("--method", "lmh", "--set", "slices=walk"), "slices is for mcsat, not for lmh"),
        (("--method", "lifted", "--set", "clusters=3"), "clusters is for lmh, not for lifted"),
        (("--method", "mcsat", "--set", "rank=3"), "rank is for lmh, not for mcsat"),
        (("--method", "exact", "--set", "max_moved=3"), "max_moved is for lmh, not for exact"),
        (
            ("--method", "lifted", "--set", f"moves={NO_MOVES}"),
            "moves is for lmh, not for lifted",
        ),
        (
            ("--method", "lifted", "--set", "alpha=7", "-e", "0=1", "-e", "1=0"),
            "alpha lies between",
        ),
        (("--method", "lmh", "-g", "(0 1)", "--set", "rank=3"), "no rank"),
        (
            ("--method", "lmh", "--set", f"moves={NO_MOVES}", "--set", "alpha=0.5"),
            "no alpha",
        ),
        (
            ("--method", "lmh", "--set", f"moves={NO_MOVES}", "-g", "(0 1)"),
            "no generators",
        ),
    ],
)
def test_jumps_that_make_no_sense_are_refused(words, remark):
    done = run("infer", RING, *words)
    assert done.returncode == 2
    assert remark in done.stderr


def test_files_of_generators_say_where_they_are_wrong(tmp_path):
    typed = tmp_path / "generators.txt"
    typed.write_text("(0 1)\n0 2\n")
    done = run("infer", RING, "--method", "lmh", "-g", typed)
    assert done.returncode == 2
    assert "generators.txt:2" in done.stderr


@pytest.mark.parametrize("method", ["lifted", "lmh"])
def test_lifted_methods_answer_and_count_their_jumps(method):
    told = ("--method", method, "--set", "alpha=0.8", "--samples", "200", "--seed", "1")
    answer = answer_of("infer", RING, *told)
    assert answer["method"] == method
    counts = answer["outcomes"]
    assert counts["proposals"] >= counts["null proposals"] + counts["accepted"] > 0
    for variable in answer["variables"].values():
        # The ring has no fields, so each value has probability one half; 9.5 errors are passed
        # by Student's t with 31 degrees about once in 1e10 draws.
        error = abs(variable["probability"][1] - 0.5)
        assert error <= 9.5 * variable["standard_error"][1] + 1e-7


HUBS = """
page = {A, B, C, D, E, F}
Links(page, page)
Good(page)
0.3 Good(p)
0.8 Good(p) ^ Links(p, q) => Good(q)
"""


@pytest.fixture
def hubs(tmp_path):
    """A, B and C link to D and E; A links to itself."""
    program, known = tmp_path / "hubs.mln", tmp_path / "hubs.db"
    program.write_text(HUBS)
    links = [f"Links({one}, {other})" for one in "ABC" for other in "DE"]
    known.write_text("\n".join([*links, "Links(A, A)"]))
    return program, known


def test_approximations_of_programs_list_classes_of_constants(hubs):
    program, known = hubs
    found = json.loads(run("symmetry", program, "-e", known, "--json").stdout)
    assert found["approximations"][-1]["name"] == "6 rule weights"
    relational = {one["name"]: one for one in found["relational"]}
    assert list(relational) == ["rank", "evidence", "messages"]
    # rank 5 covers every link, so that these pages are alike: no swap of them is refused
    exact = relational["rank"]
    pages = [own["constants"] for own in exact["classes"]]
    assert pages == [["B", "C"], ["D", "E"]]
    assert {own["type"] for own in exact["classes"]} == {"page"}
    assert (exact["moved_variables"], exact["acceptance"]) == (4, 1.0)
    text = run("symmetry", program, "-e", known).stdout
    assert "constants by rank       4 constants in 2 classes, 4 atoms, about 100% accepted" in text
    assert "  page: B, C\n  page: D, E\n" in text


def test_swaps_of_constants_that_differ_are_predicted_to_be_refused(hubs, tmp_path):
    _, known = hubs
    other = tmp_path / "other.mln"
    names = ", ".join(f"P{number}" for number in range(12))
    other.write_text(HUBS.replace("A, B, C, D, E, F", names).replace("0.8", "3.0"))
    links = [f"Links(P{k}, P{(k * k + 1) % 12})" for k in range(12)]
    known.write_text("\n".join(links))
    found = json.loads(run("symmetry", other, "-e", known, "--json").stdout)
    worth = {one["name"]: one["acceptance"] for one in found["relational"]}
    assert 0 < worth["evidence"] < 1


def test_models_that_are_no_programs_have_no_constants():
    assert json.loads(run("symmetry", RING, "--json").stdout)["relational"] == []


def test_a_relation_too_large_for_a_matrix_is_said(hubs, monkeypatch):
    monkeypatch.setattr(boolean_relations, "MOST_MATRIX_ENTRIES", 30)
    program, known = hubs
    found = json.loads(run("symmetry", program, "-e", known, "--json").stdout)["relational"]
    assert "Links has 36 pairs" in found[0]["remark"]
    assert "Links has 36 pairs" in run("symmetry", program, "-e", known).stdout


def test_what_there_is_no_time_for_is_left_out_and_said():
    model = om.ising_grid(6, 6, 0.3, 0.1)
    found = symmetry_overview(model, seconds=1e-9)
    assert not found.complete
    assert found.how == "nothing: there was no time for it; more seconds may be enough"
    assert not found.group.generators()
    assert {one.remark for one in found.approximations} == {
        "there was no time for it; more seconds may be enough"
    }
    assert symmetry_overview(model, seconds=60.0).order == 8
