"""Help is instant, because nothing heavy is imported for it."""

import resource
import subprocess
import sys

import pytest

from tests.cli.commands import orbitmc, orbitmc_alone

HEAVY = ("numba", "scipy", "numpy", "llvmlite", "pandas")


def loaded(code):
    """The heavy modules that a piece of code imports."""
    program = f"{code}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "code",
    [
        "import orbitmc",
        "import orbitmc as om; om.InputError",
        "import orbitmc.cli.main",
        "from typer.testing import CliRunner; from orbitmc.cli.main import app\n"
        "assert CliRunner().invoke(app, ['infer', '--help']).exit_code == 0",
    ],
)
def test_importing_and_asking_for_help_load_nothing_heavy(code):
    assert loaded(code) == []


def test_help_takes_less_than_a_third_of_a_second():
    orbitmc_alone("--help")
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert orbitmc_alone("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.3


VERBS = [
    "infer",
    "ask",
    "joint",
    "draw",
    "best",
    "predict",
    "sweep",
    "compare",
    "symmetry",
    "check",
    "convert",
    "ground",
    "learn",
    "resume",
    "demo",
]
VERBS += ["warm"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_fits_a_terminal(verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = orbitmc(verb, "--help")
    assert done.returncode == 0
    assert verb in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout  # nothing is cut
    assert "<auto|exact|gibbs|mcsat|lifted|lmh>" in done.stdout or verb != "infer"


def test_the_list_of_verbs_says_whole_sentences(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = orbitmc("--help").stdout.splitlines()
    begun = lines.index("Commands:") + 1
    said = lines[begun : begun + len(VERBS)]
    assert [line.split()[0] for line in said] == VERBS
    assert all(line.endswith(".") and not line.endswith("...") for line in said)


def test_the_version_is_said():
    from orbitmc.version import __version__

    assert orbitmc("--version").stdout == f"orbitmc {__version__}\n"
