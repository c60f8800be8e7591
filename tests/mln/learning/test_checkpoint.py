"""Steps of learning are kept in files, and only the right ones are read again."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.checkpoint import learning_record, load, save
from orbitmc.mln.learning.learner import LearningSettings
from orbitmc.mln.learning.objectives import Step
from tests.mln.learning.programs import PEOPLE, SMOKERS

STEP = Step(7, np.array([1.5, np.inf]), -3.25, 0.5, arrays={"chains/0/values": np.eye(2)})


def test_a_step_comes_back_as_it_was(tmp_path):
    save(tmp_path / "kept", STEP, "this")
    found = load(tmp_path / "kept", "this")
    assert (found.iteration, found.objective, found.slope) == (7, -3.25, 0.5)
    assert (found.weights == STEP.weights).all()
    assert (found.arrays["chains/0/values"] == np.eye(2)).all()


def test_a_step_of_another_question_is_refused(tmp_path):
    save(tmp_path / "kept", STEP, "this")
    with pytest.raises(InputError, match="belongs to another program"):
        load(tmp_path / "kept", "that")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04nothing"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "kept"
    path.write_bytes(content)
    with pytest.raises(InputError, match="no checkpoint of learning"):
        load(path, "this")


def test_a_damaged_step_is_refused(tmp_path):
    path = tmp_path / "kept"
    save(path, STEP, "this")
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            load(path, "this")


def test_a_question_is_the_same_only_if_all_that_matters_is():
    program = parse(SMOKERS, learning=True)
    database = parse_database(PEOPLE, program)
    usual = learning_record(program, [database], LearningSettings())
    assert usual == learning_record(program, [database], LearningSettings(seed=5, iterations=3))
    others = [
        learning_record(program, [database, database], LearningSettings()),
        learning_record(program, [database], LearningSettings(deviation=1.0)),
        learning_record(program, [database], LearningSettings(query=frozenset({"Smokes"}))),
        learning_record(
            parse(SMOKERS.replace("0.5", "0.6"), learning=True), [database], LearningSettings()
        ),
        learning_record(
            program, [parse_database(PEOPLE + "Cancer(Bob)\n", program)], LearningSettings()
        ),
    ]
    assert len({usual, *others}) == 6
