"""Weights of programs by the public door: it gives what the command line writes."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.inference import _learn_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.learner import LearningSettings, learn
from orbitmc.mln.learning.quality import score, standard_errors
from tests.cli.commands import orbitmc
from tests.mln.learning.programs import FIRST_PAGES, PAGES, PEOPLE, SECOND_PAGES, SMOKERS


@pytest.fixture
def files(tmp_path):
    program, database = tmp_path / "smokers.mln", tmp_path / "people.db"
    program.write_text(SMOKERS)
    database.write_text(PEOPLE)
    return program, database


def test_the_door_gives_what_the_learner_finds(files):
    learned = om.learn(*files, errors=True)
    program = parse(SMOKERS, learning=True)
    right = learn(program, [parse_database(PEOPLE, program)])
    np.testing.assert_array_equal(learned.weights, right.weights)
    np.testing.assert_array_equal(
        learned.standard_errors, standard_errors(right.task, right.weights)
    )
    assert learned.converged
    assert not learned.interrupted
    assert learned.objective == right.step.objective
    assert learned.prior == 2.0
    assert str(learned).startswith(f"LearnedProgram({len(right.weights)} weights, iteration")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("-q", "Smokes", "--prior", "0.5"), {"query": "Smokes", "prior": 0.5}),
        (("--errors", "--iterations", "3"), {"errors": True, "iterations": 3}),
        (("--hidden", "Cancer", "-q", "Smokes", "--seed", "3"),
         {"hidden": ["Cancer"], "query": ["Smokes"], "seed": 3}),
        (("--set", "meaning=alchemy"), {"meaning": "alchemy"}),
    ],
)  # fmt: skip
def test_both_doors_write_the_same_program(files, tmp_path, words, options):
    output = tmp_path / "learned.mln"
    orbitmc("learn", *files, "-o", output, *words)
    learned = om.learn(*files, **options)
    assert output.read_text() == learned.text
    learned.write(tmp_path / "again.mln")
    assert om.read(tmp_path / "again.mln", files[1], query="Smokes") is not None


def test_databases_that_are_held_out_are_scored(tmp_path):
    paths = [tmp_path / name for name in ("pages.mln", "first.db", "second.db")]
    for path, text in zip(paths, (PAGES, FIRST_PAGES, SECOND_PAGES), strict=True):
        path.write_text(text)
    learned = om.learn(paths[0], [paths[1]], query="Topic", held_out=paths[2])
    program = parse(PAGES, learning=True)
    seen, unseen = (parse_database(text, program) for text in (FIRST_PAGES, SECOND_PAGES))
    settings = LearningSettings(query=frozenset({"Topic"}))
    right = learn(program, [seen], settings, held_out=[unseen])
    assert learned.held_out == score(right.task.held_out, right.task.prior, right.weights)
    assert "held out: mean log-probability" in learned.text


def test_a_program_that_was_read_is_learned_from_its_written_weights(tmp_path):
    program = om.read_logic("examples/smokers.mln", "examples/smokers.db")
    by_value = om.learn(program, "examples/smokers.db")
    by_file = om.learn("examples/smokers.mln", "examples/smokers.db")
    np.testing.assert_array_equal(by_value.weights, by_file.weights)


def test_ctrl_c_gives_the_weights_so_far_and_a_checkpoint_goes_on(files, tmp_path):
    seen = []

    def interrupt(step):
        seen.append(step.iteration)
        raise KeyboardInterrupt

    path, told = tmp_path / "kept", []
    first = om.learn(*files, checkpoint=path, iterations=2, watch=interrupt)
    assert first.interrupted
    assert first.iterations == seen[-1]
    second = om.learn(*files, checkpoint=path, tell=told.append)
    assert told == [f"continuing after iteration {first.iterations}, from {path}"]
    assert second.remarks == tuple(told)
    np.testing.assert_allclose(second.weights, om.learn(*files).weights, atol=1e-5)
    with pytest.raises(InputError, match="belongs to another program"):
        om.learn(*files, query="Smokes", checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_costs_no_weights(files, tmp_path, monkeypatch):
    def full(path, step, asked):
        raise InputError("no space left", source=str(path))

    monkeypatch.setattr("orbitmc.mln.learning.save", full)
    monkeypatch.setattr(_learn_program, "SECONDS_BETWEEN_SAVES", 0.0)
    learned = om.learn(*files, checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(learned.weights, om.learn(*files).weights)
    assert isinstance(learned.unsaved, InputError)
    assert "the step was not saved" in learned.remarks[0]


@pytest.mark.parametrize(
    ("model", "data", "options", "words"),
    [
        ("a.mln", "a.db", {"starts": 2}, "starts is for networks"),
        ("a.mln", "a.db", {"querry": 2}, "no option of learning programs; did you mean 'query'"),
        ("a.bif", "a.csv", {}, "read a model first"),
        ("examples/smokers.mln", (), {}, "one database at least"),
        ("examples/smokers.mln", "examples/smokers.db", {"prior": "wide"}, "as in 2, or is 'auto'"),
        ({"a": []}, [{"a": 1}], {"checkpoint": "x"}, "checkpoint is for programs"),
    ],
)
def test_what_makes_no_sense_is_refused(model, data, options, words):
    with pytest.raises(InputError, match=words):
        om.learn(model, data, **options)
