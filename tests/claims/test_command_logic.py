"""Markov logic on the command line: asked in atoms, answered in atoms, mistakes named."""

import json

import pytest

from tests.cli.commands import orbitmc

PROGRAM = """
Friends(person, person)
Smokes(person)
Cancer(person)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
-1 Smokes(x)
"""
FACTS = "Friends(Anna, Bob)\nFriends(Bob, Cloe)\nSmokes(Anna)\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "smoke.mln").write_text(PROGRAM)
    (tmp_path / "smoke.db").write_text(FACTS)
    return tmp_path / "smoke.mln", tmp_path / "smoke.db"


def asked(*words):
    return json.loads(orbitmc("infer", *words, "--json").stdout)["variables"]


def test_answers_come_in_atoms(files):
    program, facts = files
    found = asked(program, "-e", facts, "-q", "Smokes,Cancer(Bob)")
    assert list(found) == ["Smokes(Anna)", "Smokes(Bob)", "Smokes(Cloe)", "Cancer(Bob)"]
    assert found["Smokes(Anna)"]["verdict"] == "observed"
    # Bob's odds: his own weight, Anna's influence, what Cloe makes of it, and cancer
    assert 0 < found["Smokes(Bob)"]["probability"][0] < 1


def test_alchemy_s_letters_write_its_lines(files, tmp_path):
    program, facts = files
    done = orbitmc("infer", "-i", program, "-e", facts, "-q", "Smokes", "-r", tmp_path / "out")
    assert done.returncode == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "Smokes(Anna) 1"
    assert [line.split()[0] for line in lines[1:]] == ["Smokes(Bob)", "Smokes(Cloe)"]


def test_evidence_may_be_atoms_and_several_files(files, tmp_path):
    program, facts = files
    more = tmp_path / "more.db"
    more.write_text("Cancer(Cloe)\n")
    joined = asked(program, "-e", f"{facts},{more}", "-q", "Smokes")
    apart = asked(program, "-e", facts, "-e", more, "-q", "Smokes")
    inline = asked(program, "-e", facts, "-e", "Cancer(Cloe)", "-q", "Smokes")
    assert joined == apart == inline


def test_mistakes_are_named_all_at_once(tmp_path):
    broken = tmp_path / "broken.mln"
    broken.write_text("X(p)\n1 X(x) ^\n2 Y(x)\n3 X(x,y)\n")
    done = orbitmc("infer", broken)
    assert done.returncode == 2
    for place in ("broken.mln:3", "broken.mln:4"):
        assert place in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-q", "Smoks"), "did you mean 'Smokes'"),
        (("-q", "Smokes(Anna,Bob)"), "takes 1 argument"),
        (("-q", "Friends(Anna)"), "takes 2 arguments"),
        (("-q", "Smokes(Zoe)"), "'Zoe', which is no constant of type person"),
        (("-e", "Smokes=true"), "write an atom as in Smokes(Anna)"),
        (("-e", "nobody.db"), "no such file"),
        (("--set", "opened=Smoke"), "did you mean 'Smokes'"),
    ],
)
def test_wrong_questions_are_refused_kindly(files, words, said):
    program, facts = files
    done = orbitmc("infer", program, "-e", facts, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_empty_program_is_told_from_one_that_evidence_decides(tmp_path):
    (tmp_path / "empty.mln").write_text("// nothing yet\n")
    done = orbitmc("infer", tmp_path / "empty.mln")
    assert done.returncode == 2
    assert "declares no predicate" in done.stderr


def test_a_wrong_file_does_not_flood_the_screen(files, tmp_path):
    program, _ = files
    (tmp_path / "wrong.db").write_text("".join(f"what{k}(is, this)\n" for k in range(1000)))
    done = orbitmc("infer", program, "-e", tmp_path / "wrong.db")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 21
    assert "980 more" in done.stderr


@pytest.mark.parametrize("verb", ["symmetry", "compare"])
def test_a_query_for_a_plain_model_is_refused_where_it_has_no_use(tmp_path, verb):
    (tmp_path / "coin.uai").write_text("MARKOV\n1\n2\n1\n1 0\n2\n3 1\n")
    done = orbitmc(verb, tmp_path / "coin.uai", "-q", "Smokes")
    assert done.returncode == 2
    assert ".mln" in done.stderr


def test_contradictions_name_their_formulas(tmp_path):
    program = tmp_path / "hard.mln"
    program.write_text("p = {A}\nX(p)\nX(x).\n!X(x).\n")
    done = orbitmc("infer", program)
    assert done.returncode == 4
    assert "hard.mln:3:1" in done.stderr
    assert "hard.mln:4:1" in done.stderr


def test_too_many_groundings_are_a_limit(tmp_path):
    program = tmp_path / "big.mln"
    program.write_text("n = {1, ..., 200}\nX(n)\n1 X(x) ^ X(y) => X(z)\n")
    done = orbitmc("infer", program, "--set", "max_groundings=1000")
    assert done.returncode == 5
    assert "8,000,000 groundings" in done.stderr


def test_evidence_may_be_longer_than_a_file_name(files):
    program, _ = files
    atoms = ", ".join(f"Friends(A{k}, A{k + 1})" for k in range(99))
    assert "Smokes(A99)" in asked(program, "-e", atoms, "-q", "Smokes", "--method", "exact")


def test_ground_writes_a_model_that_gives_the_same_answer(files, tmp_path):
    program, facts = files
    done = orbitmc("ground", program, facts, "-q", "Smokes,Cancer", "-o", tmp_path / "ground.json")
    assert "variables and" in done.stdout
    whole = asked(tmp_path / "ground.json")
    atoms = asked(program, "-e", facts, "-q", "Smokes,Cancer")
    for name, variable in whole.items():
        assert variable["probability"][1] == pytest.approx(atoms[name]["probability"][0])


def test_a_stopped_run_goes_on_in_atoms(files, tmp_path):
    program, facts = files
    kept = tmp_path / "run.orbit"
    sampling = ("--method", "gibbs", "--samples", "50", "--seed", "3")
    first = asked(program, "-e", facts, "-q", "Smokes", *sampling, "--checkpoint", kept)
    done = orbitmc("resume", kept, "--json")
    assert json.loads(done.stdout)["variables"] == first


def test_check_and_symmetry_read_programs(files):
    program, facts = files
    assert orbitmc("check", program, "-e", facts).returncode == 0


@pytest.mark.parametrize("verb", [("check",), ("symmetry", "--exact-only")])
def test_check_and_symmetry_look_at_what_a_query_asks_about(files, verb):
    program, facts = files
    words = (*verb, program, "-e", facts, "--json")
    assert orbitmc(*words).stdout != orbitmc(*words, "-q", "Smokes").stdout
    ground = orbitmc("ground", program, facts, "-q", "Smokes").stdout
    if verb[0] == "check":
        found = json.loads(orbitmc(*words, "-q", "Smokes").stdout)
        assert ground.startswith(f"{found['variables']} variables and {found['factors']} factors")
