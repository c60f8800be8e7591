"""What is compiled beforehand need not be compiled later."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orbitmc.ask import usual
from orbitmc.cli import warm
from orbitmc.tuning.families.families import FAMILIES
from tests.cli.commands import orbitmc, orbitmc_alone

SPRINKLER = Path(__file__).parents[2] / "examples" / "sprinkler.bif"


def test_an_unknown_name_is_refused_and_the_nearest_one_named():
    done = orbitmc("warm", "gibs")
    assert done.returncode == 2
    assert "'gibs'" in done.stderr
    assert "did you mean 'gibbs'?" in done.stderr


def test_what_is_compiled_is_said_and_counted(monkeypatch, capsys):
    def compile_slowly(name):
        time.sleep(0.3)  # so that somebody sees it
        return len(name), 1.5

    monkeypatch.setattr(usual, "compile_for", compile_slowly)
    with ThreadPoolExecutor(1) as pool:
        assert warm._compiled(pool, ["gibbs", "exact", "flip"]) == (14, 4.5)
    said = capsys.readouterr().err
    assert "0% compiling for gibbs" in said
    assert "33% compiling for exact" in said


def test_a_question_that_fails_is_not_passed_over(monkeypatch):
    def fail(name):
        raise ValueError(name)

    monkeypatch.setattr(usual, "compile_for", fail)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="exact"):
        warm._compiled(pool, ["exact"])


def test_all_families_that_are_compiled_beforehand_exist():
    named = {family for moves in usual.MOVES.values() for family in moves["families"]}
    assert named <= set(FAMILIES)


@pytest.mark.slow
def test_a_sampled_answer_after_warm_compiles_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert orbitmc_alone("warm", "gibbs", env=environment).returncode == 0
    before = sorted(tmp_path.rglob("orbitmc.*"))
    assert before
    words = ("infer", SPRINKLER, "--method", "gibbs", "--samples", "10")
    assert orbitmc_alone(*words, env=environment).returncode in (0, 3)
    assert sorted(tmp_path.rglob("orbitmc.*")) == before
