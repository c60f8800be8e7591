"""Help is instant, because nothing heavy is imported for it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from orbitmc import _numba
from orbitmc.cli import session
from tests.cli.commands import orbitmc, orbitmc_alone

EXAMPLES = Path(__file__).parents[2] / "examples"
RING, SPRINKLER = EXAMPLES / "ring.uai", EXAMPLES / "sprinkler.bif"
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


MODULES = """
import sys
print(*(name for name in sys.modules if name.startswith("orbitmc")))
"""
INFER = """
from typer.testing import CliRunner
from orbitmc.cli.main import app
assert CliRunner().invoke(app, {}).exit_code in (0, 3)
"""


def modules(code):
    """The modules of ours that a piece of code loads."""
    program = [sys.executable, "-c", f"{code}\n{MODULES}"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(("method", "most"), [("exact", 75), ("gibbs", 107)])
def test_a_question_loads_what_it_needs(method, most):
    words = ["infer", str(RING), "--method", method]
    words += ["--samples", "2"] if method == "gibbs" else []
    loaded = modules(INFER.format(words))
    assert len(loaded) <= most
    unused = {"orbitmc.cli.compare", "orbitmc.cli.questions", "orbitmc.tuning.race"}
    assert not unused & set(loaded)


@pytest.mark.parametrize("more", [[], ["-e", "grass=wet"], ["-q", "rain"], ["--json"]])
def test_a_small_network_is_answered_without_numba_and_scipy(more):
    assert loaded(INFER.format(["infer", str(SPRINKLER), *more])) == ["numpy"]


def test_chains_load_numba():
    words = ["infer", str(SPRINKLER), "--method", "gibbs", "--samples", "2"]
    assert "numba" in loaded(INFER.format(words))


def test_a_race_loads_no_approximations_before_a_jump_needs_them():
    loaded = set(modules("import orbitmc.tuning.race"))
    assert {"orbitmc.tuning.families", "orbitmc.symmetry.terms"} <= loaded
    assert not {"orbitmc.symmetry.approximations", "orbitmc.symmetry.blocks"} & loaded


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
    "explore",
    "compare",
    "symmetry",
    "check",
    "convert",
    "unroll",
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
    assert "<auto|exact|counting|gibbs|mcsat|lifted|lmh>" in done.stdout or verb != "infer"


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


def test_time_runs_from_the_beginning_of_a_command_but_for_reading(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    clock = session.CommandClock()
    now[0] += 2.0
    with clock.apart():
        now[0] += 50.0
    now[0] += 1.0
    assert clock() == 3.0
    clock.begin()
    assert clock() == 0.0


@pytest.mark.parametrize(
    "words",
    [
        ("infer", RING, "--samples", "2", "--method", "gibbs"),
        ("ask", RING, "'0' == '0'", "--samples", "2", "--method", "gibbs"),
        ("best", RING),
        ("sweep", RING, "--beta", "0.5,1", "--samples", "2", "--method", "gibbs"),
        ("symmetry", RING, "--seconds", "1000", "--exact-only"),
    ],
)
def test_a_question_knows_how_long_ago_its_command_began(words, monkeypatch):
    begin, asked_before, told = session.CommandClock.begin, _numba.asked_before, []

    def long_ago(clock):
        begin(clock)
        clock.begun -= 39.0

    def listen(seconds):
        told.append(seconds)
        return asked_before(seconds)

    monkeypatch.setattr(session.CommandClock, "begin", long_ago)
    monkeypatch.setattr(_numba, "asked_before", listen, raising=False)
    done = orbitmc(*words)
    assert done.returncode in (0, 3), done.stderr
    assert len(told) == 1
    assert told[0] >= 39.0
