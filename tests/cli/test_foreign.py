"""Settings as options, options of Alchemy, and programs of other dialects in every question."""

import json
import math
import zipfile

import pytest
from click import Command, Context, UsageError

from orbitmc.cli.options import ALIASES, HINTS, translate_alchemy_options
from tests.cli.commands import orbitmc

PROGRAM = "thing = {cup, mug}\nseen(thing)\nused(thing)\nlog(3) seen(?x) => used(?x)\n"
SMOKERS = "p = {A, B}\nX(p)\nY(p)\n1 X(x) => Y(x)\n-0.5 Y(x)\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.mln").write_text(PROGRAM)
    (tmp_path / "a.db").write_text("seen(cup)\n")
    return tmp_path / "a.mln", tmp_path / "a.db"


@pytest.fixture
def smokers(tmp_path):
    (tmp_path / "s.mln").write_text(SMOKERS)
    (tmp_path / "s.db").write_text("X(A)\n")
    return tmp_path / "s.mln", tmp_path / "s.db"


def probability(*words):
    done = orbitmc("infer", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["variables"]
    return {name: one["probability"][0] for name, one in found.items()}


def test_a_setting_may_be_written_as_an_option(smokers):
    program, facts = smokers
    question = (program, "-e", facts, "-q", "Y")
    assert probability(*question, "--opened", "X") == probability(*question, "--set", "opened=X")
    assert probability(*question, "--opened=X") == probability(*question, "-ow", "X/1")
    both = probability(program, "--closed", "X,Y", "-e", facts, "-q", "Y(A)")
    assert both["Y(A)"] == pytest.approx(1 / (1 + math.exp(-0.5)), abs=1e-9)


def test_a_list_of_closed_predicates(smokers):
    program, facts = smokers
    done = orbitmc("infer", program, "-e", facts, "--closed", "X,Z")
    assert done.returncode == 2
    assert "no predicate 'Z'" in done.stderr
    closed = probability(program, "--closed", "X/1", "-q", "Y")
    assert closed["Y(A)"] == pytest.approx(1 / (1 + math.exp(0.5)), abs=1e-9)


@pytest.mark.parametrize("option", sorted(HINTS))
def test_options_of_other_programs_are_named_with_ours(option):
    own = {"-i", "-e", "-q", "-r", "-m", "-a", "-o", "--method"}
    with pytest.raises(UsageError) as refused:
        translate_alchemy_options(
            Context(Command("infer")), ["s.mln", option, "1"], own, {"closed", "query_file"}
        )
    assert refused.value.message == (
        f"{option} belongs to another program; here write {HINTS[option]}"
    )


@pytest.mark.parametrize("option", ["-explicitRep", "-minProb", "-gz"])
def test_no_option_of_others_is_taken_for_short_ones_of_ours(smokers, option):
    """`-explicitRep 5` was read as evidence `xplicitRep`, and a second model."""
    done = orbitmc("infer", "-i", smokers[0], option, "5")
    assert done.returncode == 2
    assert f"{option} belongs to another program" in done.stderr


def test_an_unknown_option_of_several_letters_is_named_whole(smokers):
    assert "No such option: -foo" in orbitmc("infer", smokers[0], "-foo", "5").stderr


def test_a_predicate_that_is_closed_and_opened_or_asked_about(smokers):
    program, facts = smokers
    done = orbitmc("infer", program, "-e", facts, "--closed", "X,Y", "--opened", "X")
    assert done.returncode == 2
    assert "X is to be opened and closed: leave one of them out" in done.stderr
    done = orbitmc("infer", program, "-e", facts, "--closed", "X,Y", "-q", "Y(A)")
    assert "Y is asked about, so its atoms stay unknown though it is to be closed" in done.stderr


def test_what_we_name_is_an_option_or_a_verb_of_ours():
    everything = orbitmc("infer", "--help-all").stdout + orbitmc("--help").stdout
    for words in HINTS.values():
        own = [word for word in words.split() if word.startswith("--")]
        names = [word.strip("-,():").split("=")[0] for word in own]
        assert all(name in everything for name in names), words
    assert {*ALIASES.values()} == {"closed", "opened", "query_file"}


def test_an_option_that_nobody_knows_and_one_without_a_value(smokers):
    assert orbitmc("infer", smokers[0], "--nonsense", "1").returncode == 2
    done = orbitmc("infer", smokers[0], "--dialect")
    assert done.returncode == 2
    assert "expected a value" in done.stderr


def test_query_files_and_arities(smokers, tmp_path):
    program, facts = smokers
    (tmp_path / "q.db").write_text("Y(A) // a comment\n\nX\n")
    listed = probability("-i", program, "-e", facts, "-f", tmp_path / "q.db")
    assert list(listed) == ["Y(A)", "X(A)", "X(B)"]
    assert listed == probability(program, "-e", facts, "-q", "Y(A),X/1")
    assert "takes 1 argument" in orbitmc("infer", program, "-q", "X/2").stderr
    (tmp_path / "q.db").write_text("// nothing\n")
    assert "asks about nothing" in orbitmc("infer", program, "-f", tmp_path / "q.db").stderr


def test_the_most_probable_world_as_alchemy_prints_it(smokers, tmp_path):
    program, facts = smokers
    assert orbitmc("infer", program, "-e", facts, "-m", "-q", "Y").stdout == "Y(A)\n"
    assert orbitmc("infer", program, "-e", facts, "-a", "-q", "Y").stdout == "Y(A) 1\nY(B) 0\n"
    orbitmc("infer", program, "-e", facts, "-m", "-q", "Y", "-r", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "Y(A)\n"
    done = orbitmc("infer", "examples/ring.uai", "-m")
    assert done.returncode == 2
    assert "for programs" in done.stderr


def test_formulas_without_weights_are_refused_unless_their_weight_is_set(tmp_path):
    path = tmp_path / "u.mln"
    path.write_text("p = {A}\nX(p)\nY(p)\nX(x) => Y(x)\n")
    done = orbitmc("infer", path)
    assert done.returncode == 2
    assert "no weight" in done.stderr
    found = probability(path, "--unweighted", "2", "-q", "Y")
    assert found["Y(A)"] == pytest.approx(2 * math.exp(2) / (3 * math.exp(2) + 1), abs=1e-9)


QUESTIONS = {
    "infer": (("-q", "used(mug)"), 'used("mug")'),
    "ask": (("used(mug) ^ seen(mug)",), "0.3"),
    "joint": (("used(cup)", "used(mug)"), "0.45"),
    "draw": (("-n", "1"), 'used(""mug"")'),
    "best": ((), 'used("cup")'),
    "check": ((), "variables"),
    "ground": ((), "3 variables"),
    "symmetry": (("--exact-only",), ""),
}


@pytest.mark.parametrize("verb", QUESTIONS)
def test_names_formulas_and_evidence_files_work_in_every_question(files, verb):
    program, facts = files
    words, expected = QUESTIONS[verb]
    done = orbitmc(verb, program, *words, "-e", facts, "--dialect", "pracmln")
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    inline = orbitmc(verb, program, *words, "-e", "seen(cup)", "--dialect", "pracmln")
    if verb not in ("draw", "check", "symmetry"):
        assert inline.stdout == done.stdout


def test_a_conjunctive_query_on_the_command_line(files):
    program, facts = files
    found = probability(program, "-e", facts, "-q", "seen(?x) ^ used(?x)", "--dialect", "pracmln")
    assert found['seen("mug") ^ used("mug")'] == pytest.approx(0.3, abs=1e-12)


def test_a_run_of_a_project_and_a_query_file_goes_on(tmp_path):
    project, query, kept = (tmp_path / name for name in ("p.pracmln", "q.db", "p.run"))
    with zipfile.ZipFile(project, "w") as archive:
        archive.writestr("query.conf", json.dumps({"mln": "none.mln", "db": "a.db"}))
        archive.writestr("mlns/a.mln", PROGRAM)
        archive.writestr("dbs/a.db", "seen(cup)")
    query.write_text("used(mug)\n")
    asked = (f"{project}:a.mln", "-f", query, "--method", "gibbs", "--samples", "20", "--json")
    first = json.loads(orbitmc("infer", *asked, "--checkpoint", kept).stdout)["variables"]
    done = orbitmc("resume", kept, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["variables"] == first


def test_a_database_without_its_option_is_told_which_option_it_needs(smokers):
    done = orbitmc("infer", smokers[0], smokers[1])
    assert done.returncode == 2
    assert f"{smokers[1]} is one too many; a database or other evidence needs -e" in done.stderr
