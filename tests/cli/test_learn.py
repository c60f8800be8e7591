"""`orbitmc learn` writes programs with learned weights, and goes on where it stopped."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse, read_program
from orbitmc.mln.learning.learner import LearningSettings, learn
from tests.cli.commands import orbitmc
from tests.mln.learning.programs import FIRST_PAGES, PAGES, PEOPLE, SECOND_PAGES, SMOKERS


@pytest.fixture
def files(tmp_path):
    """A program, a database, and where to write."""
    program, database = tmp_path / "smokers.mln", tmp_path / "people.db"
    program.write_text(SMOKERS)
    database.write_text(PEOPLE)
    return program, database, tmp_path / "learned.mln"


def test_the_learned_program_has_the_weights_that_python_finds(files):
    program, database, output = files
    done = orbitmc("learn", program, database, "-o", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "objective" in done.stderr
    read = parse(SMOKERS, learning=True)
    expected = learn(read, [parse_database(PEOPLE, read)]).weights
    assert [rule.weight for rule in read_program(output).rules] == expected.tolist()


def test_several_databases_and_a_query(tmp_path):
    program, output = tmp_path / "pages.mln", tmp_path / "learned.mln"
    program.write_text(PAGES)
    paths = [tmp_path / "one.db", tmp_path / "two.db"]
    for path, text in zip(paths, (FIRST_PAGES, SECOND_PAGES), strict=True):
        path.write_text(text)
    done = orbitmc(
        "learn", program, *paths, "-o", output, "-q", "Topic", "--prior", "0.5", "--quiet"
    )
    assert (done.returncode, done.stderr) == (0, "")
    read = parse(PAGES, learning=True)
    databases = [parse_database(text, read) for text in (FIRST_PAGES, SECOND_PAGES)]
    settings = LearningSettings(query=frozenset({"Topic"}), deviation=0.5)
    expected = learn(read, databases, settings).weights
    assert [rule.weight for rule in read_program(output).rules] == expected.tolist()


def test_the_same_command_goes_on_where_it_stopped(files, tmp_path):
    program, database, output = files
    words = ("learn", program, database, "--query", "Smokes,Cancer", "--seed", "4")
    words += ("--method", "discriminative", "--optimiser", "newton", "--checkpoint")
    whole, kept = tmp_path / "whole", tmp_path / "kept"
    assert orbitmc(*words, whole, "-o", output, "--iterations", "6").returncode == 0
    expected = output.read_text()
    assert orbitmc(*words, kept, "-o", output, "--iterations", "2").returncode == 0
    assert output.read_text() != expected
    done = orbitmc(*words, kept, "-o", output, "--iterations", "6")
    assert "continuing after iteration 2" in done.stderr
    assert output.read_text() == expected
    refused = orbitmc(*words, kept, "-o", output, "--prior", "3")
    assert refused.returncode == 2
    assert "belongs to another program" in refused.stderr


def test_errors_scores_and_a_chosen_prior_are_said(tmp_path):
    program, output = tmp_path / "pages.mln", tmp_path / "learned.mln"
    program.write_text(PAGES)
    paths = [tmp_path / f"{number}.db" for number in range(3)]
    for path, text in zip(paths, (FIRST_PAGES, SECOND_PAGES, FIRST_PAGES), strict=True):
        path.write_text(text)
    words = ("learn", program, *paths[:2], "-o", output, "-q", "Topic", "--held-out", paths[2])
    done = orbitmc(*words, "--prior", "auto", "--errors")
    assert done.returncode == 0, done.stderr
    assert "cross-validation chose a prior of width" in done.stderr
    assert "held out: mean log-probability of 3 atoms" in done.stderr
    assert "chosen by cross-validation" in output.read_text()
    assert output.read_text().count("// ± ") == len(read_program(output).rules)


def test_hidden_atoms_are_learned_from(files):
    program, database, output = files
    done = orbitmc("learn", program, database, "-o", output, "--hidden", "Cancer", "-q", "Smokes")
    assert done.returncode == 0, done.stderr
    read = parse(SMOKERS, learning=True)
    settings = LearningSettings(query=frozenset({"Smokes"}), hidden=frozenset({"Cancer"}))
    expected = learn(read, [parse_database(PEOPLE, read)], settings).weights
    assert [rule.weight for rule in read_program(output).rules] == expected.tolist()


def test_weights_may_count_for_clauses(files):
    program, database, output = files
    program.write_text(
        "Smokes(person)\nCancer(person)\nFriends(person,person)\nSmokes(x) <=> Cancer(x)\n"
    )
    done = orbitmc("learn", program, database, "-o", output, "--set", "meaning=alchemy")
    assert done.returncode == 0, done.stderr
    assert len(read_program(output).rules) == 2


def test_an_early_end_is_not_called_convergence(files):
    program, database, output = files
    done = orbitmc("learn", program, database, "-o", output, "--iterations", "1")
    assert done.returncode == 3
    assert "not converged" in done.stderr
    assert len(read_program(output).rules) == 5


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("--query", "Smoke"), 2, "did you mean 'Smokes'?"),
        (("--method", "conditional"), 2, "needs a query"),
        (("--method", "pseudo", "--query", "Smokes"), 2, "say conditional"),
        (("--prior", "0"), 2, "must be above 0"),
        (("--prior", "wide"), 2, "expected a number or auto, not 'wide'"),
        (("--prior", "auto"), 2, "two databases at least"),
        (("--hidden", "Cancer", "--method", "pseudo"), 2, "cannot learn from hidden atoms"),
        (("--seconds", "-1"), 2, "must be above 0"),
        (("--method", "pseudo", "--set", "max_groundings=3"), 5, "over the limit of 3"),
    ],
)
def test_mishaps_have_their_code_and_leave_no_file(files, words, code, complaint):
    program, database, output = files
    done = orbitmc("learn", program, database, "-o", output, *words)
    assert done.returncode == code
    assert complaint in done.stderr
    assert not output.exists()


def test_contradictory_data_have_their_code(tmp_path):
    program, database = tmp_path / "pages.mln", tmp_path / "pages.db"
    program.write_text(PAGES)
    database.write_text(FIRST_PAGES + "Topic(P1,B)\n")
    done = orbitmc("learn", program, database, "-o", tmp_path / "out.mln", "--query", "Topic")
    assert done.returncode == 4
    assert "Topic(P1,_)" in done.stderr


def test_an_interruption_keeps_what_was_found(files, tmp_path, monkeypatch):
    program, database, output = files

    def interrupt(*_):
        raise KeyboardInterrupt

    kept = tmp_path / "kept"
    monkeypatch.setattr("orbitmc.cli.learn._Watching.__call__", interrupt)
    words = ("learn", program, database, "--iterations", "2", "-o", output, "--checkpoint", kept)
    done = orbitmc(*words)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert len(read_program(output).rules) == 5
    monkeypatch.undo()
    assert orbitmc(*words[:3], *words[5:]).returncode == 0
    whole = tmp_path / "whole.mln.gz"
    assert orbitmc("learn", program, database, "-o", whole).returncode == 0
    found, expected = read_program(output), read_program(whole)
    for one, other in zip(found.rules, expected.rules, strict=True):
        assert one.weight == pytest.approx(other.weight, abs=1e-5)


def test_a_full_disk_costs_no_weights(files, tmp_path, monkeypatch):
    program, database, output = files
    assert orbitmc("learn", program, database, "-o", output).returncode == 0
    expected = output.read_text()
    output.unlink()

    def full(path, step, asked):
        raise InputError("cannot write it: No space left on device", source=str(path))

    monkeypatch.setattr("orbitmc.mln.learning.save", full)
    monkeypatch.setattr("orbitmc.inference._learn_program.SECONDS_BETWEEN_SAVES", 0.0)
    done = orbitmc("learn", program, database, "-o", output, "--checkpoint", tmp_path / "kept")
    assert done.returncode == 2
    assert "cannot write it: No space left on device; it continues" in done.stderr
    assert output.read_text() == expected


def test_a_database_is_never_overwritten(files):
    program, database, _ = files
    done = orbitmc("learn", program, database, "-o", database)
    assert done.returncode == 2
    assert "overwrite" in done.stderr
    assert database.read_text() == PEOPLE


NETWORK = "examples/sprinkler.bif"


def learn_network(tmp_path, rows, *options):
    table = tmp_path / "rows.csv"
    table.write_text(rows)
    output = tmp_path / "learned.json"
    return orbitmc("learn", NETWORK, str(table), "-o", str(output), *options), output


def test_a_network_is_learned_from_a_table(tmp_path):
    rows = "day,season,rain,count\n1,dry,none,3\n2,rainy,heavy,1\n3,dry,,0\n4,dry,light,1\n"
    ended, output = learn_network(
        tmp_path, rows, "--ignore", "day", "--weights", "count", "--prior", "0",
        "--fixed", "grass,sprinkler",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    learned = om.read(output)
    np.testing.assert_allclose(om.marginals(learned)["season"].probability, [0.8, 0.2])
    given = om.marginals(learned, {"season": "dry"})["rain"].probability
    np.testing.assert_allclose(given, [0.75, 0.25, 0.0], atol=1e-5)
    assert "4 tables from 4 rows" in ended.stderr


def test_a_network_is_scored_on_another_table(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("season\nrainy\n")
    ended, _output = learn_network(
        tmp_path, "season\ndry\nrainy\n", "--held-out", str(other), "--prior", "0"
    )
    assert ended.returncode == 0
    assert "mean log-probability of 1 rows -0.693147" in ended.stderr


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ("season\ndry\n", ("--query", "rain"), "--query is for programs"),
        ("season\ndry\n", ("--errors",), "--errors is for programs"),
        ("season\ndry\n", ("--prior", "auto"), "--prior: for a network"),
        ("season\nmonsoon\n", (), "row 0 of the table makes no sense"),
        ("season,day\ndry,1\n", (), "column 'day' that is no variable"),
        ("season\ndry\n", ("--weights", "count"), "no column 'count'"),
        ("season,count\ndry,many\n", ("--weights", "count"), "no number"),
        ("season\ndry\n", ("--fixed", "snow"), "'snow' cannot be fixed"),
        ("season\n", (), "no rows"),
        ("", (), "the table is empty"),
    ],
)
def test_bad_tables_are_refused_kindly(tmp_path, rows, options, words):
    ended, output = learn_network(tmp_path, rows, *options)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not output.exists()


def test_options_of_networks_are_refused_for_programs(tmp_path):
    ended = orbitmc("learn", "a.mln", "b.db", "-o", str(tmp_path / "c.mln"), "--starts", "3")
    assert ended.returncode == 2
    assert "--starts is for models" in ended.stderr


def test_a_file_that_cannot_be_written_is_refused_before_work(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("season\ndry\n")
    ended = orbitmc("learn", NETWORK, str(table), "-o", str(tmp_path / "learned.net"))
    assert ended.returncode == 2
    assert "are read, not written" in ended.stderr
