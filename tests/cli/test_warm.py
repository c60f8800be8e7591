"""What is compiled beforehand need not be compiled later."""

import importlib
import os
import pkgutil
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import orbitmc as package
from orbitmc import inference
from orbitmc._numba import jit
from orbitmc.cli import getting_started as warm
from orbitmc.tuning.families import FAMILIES
from tests.cli.commands import command, orbitmc, orbitmc_alone
from tests.cli.warmed import asked_for

usual = importlib.import_module("orbitmc.inference.precompile")
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

    monkeypatch.setattr(inference, "compile_question", compile_slowly)
    with ThreadPoolExecutor(1) as pool:
        assert warm._compile_questions(pool, ["gibbs", "exact", "flip"]) == (14, 4.5)
    said = capsys.readouterr().err
    assert "0% compiling for gibbs" in said
    assert "33% compiling for exact" in said


def test_a_question_that_fails_is_not_passed_over(monkeypatch):
    def fail(name):
        raise ValueError(name)

    monkeypatch.setattr(inference, "compile_question", fail)
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="exact"):
        warm._compile_questions(pool, ["exact"])


def test_all_families_that_are_compiled_beforehand_exist():
    named = {family for moves in usual.MOVES.values() for family in moves["families"]}
    assert named <= set(FAMILIES)


def test_every_question_has_settings_that_are_accepted(monkeypatch):
    """Those that ask for marginals; what they compile takes a minute."""
    asked = []

    def check(model, settings):
        settings.require_use()
        asked.append(settings.method)

    monkeypatch.setattr(usual, "marginals", check)
    for name in ("gibbs", "lmh", "mcsat", "lifted", "low-width", *usual.MOVES):
        usual.QUESTIONS[name]()
    assert {"gibbs", "lmh", "mcsat", "lifted"} <= set(asked)


@pytest.mark.slow
def test_a_sampled_answer_after_warm_compiles_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert orbitmc_alone("warm", "gibbs", env=environment).returncode == 0
    before = sorted(tmp_path.rglob("orbitmc.*"))
    assert before
    words = ("infer", SPRINKLER, "--method", "gibbs", "--samples", "10")
    assert orbitmc_alone(*words, env=environment).returncode in (0, 3)
    assert sorted(tmp_path.rglob("orbitmc.*")) == before


def missing(needed, known):
    """What commands ask for and `warm` does not, with the command that asked first."""
    return {name[:200]: who for name, who in needed["asked"].items() if name not in known["asked"]}


@pytest.fixture(scope="module")
def needed_by_some():
    return asked_for("commands", "some")


def test_some_commands_ask_for_nothing_that_warm_does_not(needed_by_some):
    """Every type of every function counts; whether it is in the store already does not matter."""
    assert missing(needed_by_some, asked_for("questions", "gibbs", "exact", "symmetry")) == {}


def test_what_is_missing_would_be_seen(needed_by_some):
    found = missing(needed_by_some, asked_for("questions", "exact"))
    assert any("_take_steps" in name for name in found)


def test_exact_answers_need_machine_code_that_warm_exact_asks_for():
    names = {name.split()[0] for name in asked_for("questions", "exact")["asked"]}
    assert names >= {
        "orbitmc.exact.blocks.gather",
        "orbitmc.exact.contraction.add_table",
        "orbitmc.exact.contraction.multiply_table",
        "orbitmc.exact.small_buckets.send_up",
        "orbitmc.exact.small_buckets.send_down",
        "orbitmc.exact.contraction.collect",
        "orbitmc.exact.order_search.reorder_stretch",
        "orbitmc.exact.order_search.parents_in",
    }


def called_from_python():
    """Compiled functions of the package that are not only for other compiled code."""
    for module in pkgutil.walk_packages(package.__path__, "orbitmc."):
        if module.name != "orbitmc.__main__":
            for found in vars(importlib.import_module(module.name)).values():
                if isinstance(found, jit.Compiled) and found._kind == "outer_dispatcher":
                    yield f"{found.__module__}.{found.__qualname__}"


@pytest.mark.slow
def test_warm_exact_fills_an_empty_store(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = orbitmc_alone("warm", "exact", env=environment)
    assert done.returncode == 0
    assert re.search(r"compiled [1-9]\d* functions", done.stderr)
    again = asked_for("questions", "exact", NUMBA_CACHE_DIR=str(tmp_path))
    assert again["compiled"] == 0


@pytest.fixture(scope="module")
def warm_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(command("warm"), env=environment, timeout=1800, check=False)
    assert done.returncode == 0
    return folder


@pytest.mark.slow
def test_warm_compiles_every_function(warm_store):
    kept = {path.name.rpartition("-")[0] for path in warm_store.rglob("*") if path.is_file()}
    assert set(called_from_python()) <= kept


@pytest.mark.slow
def test_no_documented_command_compiles_anything_after_warm(warm_store):
    store = {"NUMBA_CACHE_DIR": str(warm_store)}
    found = asked_for("commands", "every", **store)
    assert missing(found, asked_for("questions", **store)) == {}
    assert found["compiled"] == 0
