"""Run the command line the way people do."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import orbitmc as om
from orbitmc.cli.main import app


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed and said."""

    returncode: int
    stdout: str
    stderr: str


def orbitmc(*words: str | Path) -> Done:
    """Run `orbitmc` to its end, in this process: that saves a second of imports."""
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="orbitmc")
    return Done(done.exit_code, done.stdout, done.stderr)


def orbitmc_alone(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `orbitmc` to its end, in a process of its own."""
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=300, check=False, **options
    )


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "orbitmc", *map(str, words)]


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start `orbitmc` and go on."""
    return subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        **options,
    )


def answer_of(*words: str | Path) -> dict[str, Any]:
    """The JSON object that a successful command prints."""
    done = orbitmc(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rain(folder: Path) -> Path:
    """A file with a model small enough to check by hand."""
    model = om.model(
        {"rain": ["no", "yes"], "grass": ["dry", "wet"], "mood": ["bad", "fair", "good"]},
        [
            (["rain"], [0.8, 0.2]),
            (["rain", "grass"], [[0.9, 0.1], [0.2, 0.8]]),
            (["grass", "mood"], [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]),
        ],
    )
    path = folder / "rain.json"
    om.write(model, path)
    return path


def grid(folder: Path, side: int = 6) -> Path:
    """A file with spins on a grid."""
    path = folder / "grid.uai"
    om.write(om.ising_grid(side, side, 0.3, 0.1), path)
    return path
