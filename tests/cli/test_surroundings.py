"""Wherever it is started, the command line behaves: pipes, closed streams, bare machines."""

import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

import orbitmc as om
from tests.cli.commands import command, grid, rain, start

SPRINKLER = Path(__file__).parents[2] / "examples" / "sprinkler.bif"
FIRST = "variable   value        P  verdict\n"
needs_full = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="there is no full device to write to"
)


def shell(words, *ending, **environment):
    """Run a command with redirections; `None` takes a name out of the environment."""
    wanted = {**os.environ, "PYTHONUNBUFFERED": "", **environment}
    kept = {name: value for name, value in wanted.items() if value is not None}
    line = " ".join([*map(str, command(*words)), *ending])
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=kept, check=False
    )
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    return done


def test_a_reader_that_leaves_in_the_middle_is_no_mishap(tmp_path):
    om.write(om.ising_grid(2, 2000, 0.3), tmp_path / "long.uai")  # more than a pipe holds
    words = ("infer", tmp_path / "long.uai", "--quiet", "--json")
    done = shell(words, "| head -c 100; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) == 100


@pytest.mark.parametrize("words", [("infer", SPRINKLER), ("infer", "--help"), ("--version",)])
def test_output_that_is_closed_is_no_mishap(words):
    assert shell(words, ">&-").returncode == 0
    assert shell(words, ">&- 2>&-").returncode == 0


@needs_full
@pytest.mark.parametrize("words", [("infer", SPRINKLER), ("infer", "--help"), ("--version",)])
def test_output_that_is_full_is_said_in_one_line(words):
    done = shell(words, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "Z orbitmc: cannot write the answer: No space left on device"
    )


@needs_full
def test_remarks_that_nobody_can_hear_cost_no_answer():
    done = shell(("infer", SPRINKLER), "2>/dev/full")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(FIRST)


BARE = {"HOME": None, "XDG_CACHE_HOME": None}
UNWRITABLE = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "NUMBA_CACHE_DIR": None}
PLAIN = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("surroundings", [BARE, UNWRITABLE, PLAIN])
def test_bare_machines_get_the_same_answer(surroundings):
    usual = shell(("infer", SPRINKLER, "--quiet", "--json"))
    bare = shell(("infer", SPRINKLER, "--quiet", "--json"), **surroundings)
    assert (bare.returncode, bare.stderr) == (0, "")
    assert json.loads(bare.stdout)["variables"] == json.loads(usual.stdout)["variables"]


def test_letters_that_a_language_lacks_are_written_as_numbers(tmp_path):
    om.write(om.model({"größe": ["klein", "groß"]}, [(["größe"], [1, 3])]), tmp_path / "x.json")
    done = shell(("infer", tmp_path / "x.json", "--quiet"), **PLAIN)
    assert done.returncode == 0
    assert "gr\\xf6\\xdfe" in done.stdout
    out = tmp_path / "out.csv"
    assert shell(("infer", tmp_path / "x.json", "-o", out, "--quiet"), **PLAIN).returncode == 0
    assert "größe" in out.read_text(encoding="utf-8")


def on_a_terminal(columns, *words):
    """What a command shows on a terminal of so many columns, without colours."""
    parent, child = pty.openpty()
    ioctl(child, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(command(*words), stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        shown = b""
        while chunk := _read(parent):
            shown += chunk
    os.close(parent)
    return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


def test_forty_columns_show_whole_numbers_and_say_what_is_missing():
    words = ("infer", SPRINKLER, "--method", "gibbs", "--samples", "200", "--quiet")
    code, shown = on_a_terminal(40, *words)
    assert code == 0
    assert re.search(r"sprinkler +off +0\.65\d{3} +good", shown)
    assert "a wider terminal also shows" in shown
    code, shown = on_a_terminal(100, *words)
    assert re.search(r"sprinkler +off +0\.65\d{3} +0\.00\d{3} +\S+ +\S+ +1\.\d{3} +good", shown)
    assert "a wider terminal" not in shown


IMPATIENT = """
import signal, sys

module, number = sys.argv[1:3]
del sys.argv[1:3]

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            signal.raise_signal(getattr(signal, number))

sys.meta_path.insert(0, Impatient())
from orbitmc.__main__ import main
main()
"""
EARLY = ["orbitmc.cli.main", "typer"]
LATER = ["orbitmc.formats.registry", "numba", "orbitmc.inference.answer"]


def stopped_while_loading(module, number, *words):
    """Send a signal to a command when it loads a module; gives its exit code and what it said."""
    script = [sys.executable, "-c", IMPATIENT, module, number, "infer", *map(str, words)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("module", EARLY)
def test_signals_while_the_program_is_loaded_end_it_at_once(module):
    assert stopped_while_loading(module, "SIGINT", SPRINKLER) == (130, "orbitmc: interrupted\n")
    assert stopped_while_loading(module, "SIGTERM", SPRINKLER) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("module", LATER)
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_signals_before_there_is_an_answer_are_said_in_one_line(module, number):
    said = r"\S+Z orbitmc: interrupted before the answer was complete\n"
    words = (SPRINKLER, "--method", "gibbs")  # an exact answer loads no Numba
    code, words_said = stopped_while_loading(module, number, *words)
    assert code == 130
    assert re.fullmatch(said, words_said)


def test_an_early_end_leaves_nothing_behind(tmp_path):
    words = (rain(tmp_path), "--method", "gibbs", "--checkpoint", tmp_path / "x.run")
    code, _ = stopped_while_loading("orbitmc.sampling.sampler", "SIGTERM", *words)
    assert code == 130
    assert os.listdir(tmp_path) == ["rain.json"]


def test_a_program_in_the_background_ignores_ctrl_c(tmp_path):
    words = ("infer", grid(tmp_path), "--method", "gibbs", "--samples", "200000")
    process = start(*words, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    while " samples, " not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert "interrupted" not in said
