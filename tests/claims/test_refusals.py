"""What cannot be answered is refused: by the kind of the error, its place, and an exit code."""

import itertools
import signal
import time

import pytest

import orbitmc as om
from orbitmc import errors
from tests.cli.commands import grid, orbitmc, rain, start

WRONG = {
    "no such file": (lambda folder: ["infer", folder / "none.uai"], 2),
    "a broken file": (lambda folder: ["infer", broken(folder)], 2),
    "an unknown option": (lambda folder: ["infer", rain(folder), "--speed", "3"], 2),
    "an unknown variable": (lambda folder: ["infer", rain(folder), "-e", "snow=yes"], 2),
    "evidence that contradicts itself": (
        lambda folder: ["infer", rain(folder), "-e", "rain=yes", "-e", "rain=no"],
        4,
    ),
    "no possible state": (lambda folder: ["infer", impossible(folder)], 4),
    "too little memory": (
        lambda folder: ["infer", grid(folder, 12), "--method", "exact", "--memory", "32K"],
        5,
    ),
}


def broken(folder):
    path = folder / "broken.uai"
    path.write_text("MARKOV\n2\n2 x\n")
    return path


def impossible(folder):
    path = folder / "impossible.json"
    om.write(om.model({"a": ["0", "1"]}, [(["a"], [0.0, 0.0])]), path)
    return path


@pytest.mark.parametrize("wrong", WRONG)
def test_a_command_says_what_is_wrong_in_its_exit_code(tmp_path, wrong):
    words, code = WRONG[wrong]
    done = orbitmc(*words(tmp_path))
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_errors_are_of_one_family_and_python_has_them_too(tmp_path):
    kinds = [errors.InputError, errors.ContradictionError, errors.LimitError]
    assert all(issubclass(kind, errors.OrbitError) for kind in kinds)
    assert not any(issubclass(a, b) for a, b in itertools.permutations(kinds, 2))
    with pytest.raises(errors.InputError, match=r"broken\.uai:3:3: "):
        om.read(broken(tmp_path))
    with pytest.raises(errors.ContradictionError):
        om.marginals(om.read(impossible(tmp_path)))
    with pytest.raises(errors.LimitError, match="the limit is"):
        om.marginals(om.ising_grid(12, 12, 0.3), method="exact", memory=2**15)


def test_a_wrong_name_gets_a_suggestion():
    model = om.read("examples/sprinkler.bif")
    for evidence in ({"gras": "wet"}, {"grass": "wett"}):
        with pytest.raises(errors.InputError, match="did you mean"):
            om.marginals(model, evidence)


def test_chains_that_have_not_converged_end_with_three(tmp_path):
    """Cold spins never leave the side where they began; the exact answer is one half."""
    path = tmp_path / "cold.uai"
    om.write(om.ising_grid(6, 6, 3.0), path)
    done = orbitmc("infer", path, "--method", "gibbs", "--samples", "200", "--seed", "1")
    assert done.returncode == 3
    assert "not mixed" in done.stdout
    answer = om.marginals(om.read(path), method="gibbs", samples=200, seed=1)
    assert not answer.converged


def test_a_run_never_overwrites_a_run(tmp_path):
    path, run = grid(tmp_path, 3), tmp_path / "kept.run"
    words = ("infer", path, "--method", "gibbs", "--samples", "20", "--checkpoint", run)
    assert orbitmc(*words).returncode in (0, 3)
    before = run.read_bytes()
    done = orbitmc(*words)
    assert done.returncode == 2
    assert str(run) in done.stderr
    assert run.read_bytes() == before


def test_ctrl_c_gives_what_was_learned_until_then(tmp_path):
    path = grid(tmp_path, 6)
    process = start("infer", path, "--method", "gibbs", "--samples", "100000000", "--json")
    try:
        for line in process.stderr:  # progress is printed once samples are recorded
            if "%" in line or "sample" in line:
                break
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=120)
    finally:
        process.kill()  # does nothing to a process that has ended
    assert process.returncode == 130
    assert '"interrupted": true' in stdout
