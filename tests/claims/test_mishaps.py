"""Whatever goes wrong gets one line and its exit code, never a traceback."""

import os
import subprocess

import pytest

import orbitmc as om
from tests.cli.commands import command, grid, orbitmc, orbitmc_alone, rain


def refused(code, *words):
    """Run a command that must fail, and give its one line of complaint."""
    done = orbitmc(*words)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr.strip()


def test_a_missing_file_is_named_with_the_nearest_name(tmp_path):
    rain(tmp_path)
    said = refused(2, "infer", tmp_path / "rian.json")
    assert f"Z orbitmc: {tmp_path / 'rian.json'}: there is no such file" in said
    assert "rain.json" in said
    assert "\n" not in said


def test_hidden_files_are_not_suggested(tmp_path):
    (tmp_path / ".grid.uai").touch()
    assert refused(2, "infer", tmp_path / "grid.uai").endswith("there is no such file")
    assert refused(2, "resume", tmp_path / "x.run").endswith("there is no such file")


def test_an_empty_name_is_said_to_be_one(tmp_path):
    assert refused(2, "infer", rain(tmp_path), "-e", "").endswith("the name of a file is empty")


def test_a_broken_file_is_named_with_line_and_column(tmp_path):
    (tmp_path / "grid.uai").write_text("MARKOV\n2\n2 x\n")
    said = refused(2, "infer", tmp_path / "grid.uai")
    assert f"Z orbitmc: {tmp_path / 'grid.uai'}:3:3: " in said


@pytest.mark.parametrize("verb", ["infer", "check"])
def test_unknown_names_in_evidence_get_a_suggestion(tmp_path, verb):
    assert "'grass'" in refused(2, verb, rain(tmp_path), "-e", "gras=wet")


def test_two_ends_are_one_too_many(tmp_path):
    said = refused(2, "infer", rain(tmp_path), "--seconds", "1", "--samples", "3")
    assert "only one of --seconds, --samples and --error" in said


@pytest.mark.parametrize(
    "words",
    [
        ("--samples", "0"),
        ("--seconds", "-1"),
        ("--error", "nan"),
        ("--memory", "much"),
        ("--method", "magic"),
        ("--nonsense",),
        ("--set", "lanes=7", "--method", "gibbs"),
    ],
)
def test_options_that_make_no_sense_are_not_understood(tmp_path, words):
    refused(2, "infer", rain(tmp_path), *words)


def test_an_unknown_verb_is_not_understood():
    refused(2, "inferr", "x")


@pytest.mark.parametrize("name", ["x.txt", "nowhere/x.MAR", "."])
def test_an_answer_that_cannot_be_written_is_refused_before_it_is_sought(tmp_path, name):
    refused(2, "infer", rain(tmp_path), "-o", tmp_path / name)


def test_what_is_read_is_never_overwritten(tmp_path):
    model, seen = rain(tmp_path), tmp_path / "seen.json"
    seen.write_text('{"rain": "yes"}')
    kept = model.read_bytes()
    assert "overwrite" in refused(2, "infer", model, "-o", model)
    assert "overwrite" in refused(2, "infer", model, "-e", seen, "-o", seen)
    assert "overwrite" in refused(2, "infer", model, "-e", seen, "-r", seen)
    assert "overwrite" in refused(2, "convert", model, model)
    assert "there already" in refused(2, "infer", model, "--checkpoint", model)
    assert model.read_bytes() == kept
    assert seen.read_text() == '{"rain": "yes"}'


def test_contradictory_evidence_has_its_own_code(tmp_path):
    said = refused(4, "infer", rain(tmp_path), "-e", "rain=no", "-e", "rain=yes")
    assert "rain" in said


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_impossible_constraints_have_their_own_code(tmp_path, method):
    both = [(["a", "b"], [[0, 1], [1, 0]]), (["a"], [1, 0]), (["b"], [1, 0])]
    om.write(om.model({"a": ["0", "1"], "b": ["0", "1"]}, both), tmp_path / "x.json")
    refused(4, "infer", tmp_path / "x.json", "--method", method, "--samples", "10")


def test_a_limit_has_its_own_code_and_says_the_figure(tmp_path):
    path = grid(tmp_path, side=20)
    assert "GiB" in refused(5, "infer", path, "--method", "exact", "--memory", "2M")
    many = ("--set", "packs=100", "--samples", "9")
    said = refused(5, "infer", path, "--method", "gibbs", "--memory", "2M", *many)
    assert "100 packs of 64 chains need" in said


def test_a_tiny_file_that_announces_a_lot_is_refused_at_once(tmp_path):
    (tmp_path / "big.uai").write_text("MARKOV 1000000000000 2 2 2")
    refused(2, "infer", tmp_path / "big.uai")


def test_frozen_chains_are_never_called_converged(tmp_path):
    same = [(["a", "b"], [[1, 0], [0, 1]])]
    om.write(om.model({"a": ["0", "1"], "b": ["0", "1"]}, same), tmp_path / "x.json")
    alone = ("--method", "gibbs", "--set", "scan=systematic")
    done = orbitmc("infer", tmp_path / "x.json", *alone, "--samples", "100", "--quiet")
    assert done.returncode == 3
    assert "not converged: 2 variables are frozen" in done.stderr
    assert "warning: " in done.stderr


def test_a_reader_that_leaves_early_is_no_mishap(tmp_path):
    path = grid(tmp_path, side=8)
    words = " ".join(command("infer", path, "--quiet"))
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("variable")


def in_bash(words, path):
    line = f"{' '.join(command('infer', path))} {words}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device to write to")
def test_a_full_device_is_no_bug(tmp_path):
    done = in_bash(">/dev/full", rain(tmp_path))
    assert done.returncode == 2
    assert "cannot write the answer: No space left on device" in done.stderr
    assert "bug" not in done.stderr


def test_streams_may_be_closed(tmp_path):
    done = in_bash(">&-", rain(tmp_path))
    assert done.returncode == 0
    assert "exact" in done.stderr
    done = in_bash("2>&-", rain(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("variable")


def test_letters_that_a_terminal_lacks_do_no_harm(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = ("infer", rain(tmp_path), "--method", "gibbs", "--samples", "9")
    done = orbitmc_alone(*words, env=environment)
    assert "\\xb1" in done.stdout
