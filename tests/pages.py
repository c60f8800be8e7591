"""Pages whose blocks are run: python blocks, and console blocks with what they print.

An `output` block after a python block is what that prints. A console block holds `$ command` lines,
each followed by what it prints to standard output. A line of `…` stands for any lines. Words must
be equal, and numbers near: a sampled probability moves when the random stream of the package
changes, and the pages should not have to.
"""

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from orbitmc.cli.main import app

ROOT = Path(__file__).parents[1]
NEAR = 0.01  # on probabilities; the pages sample until errors are far below it


PYTHON, CONSOLE, OUTPUT = "python", "console", "output"


def pages() -> list[Path]:
    """The README and all pages of the documentation."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if "_build" not in page.parts]


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page that can be run: language and text, in order."""
    pattern = rf"^```({PYTHON}|{CONSOLE}|{OUTPUT})\n(.*?)^```"
    return re.findall(pattern, page.read_text(), re.DOTALL | re.MULTILINE)


def enter(folder: Path) -> None:
    """Go to a folder from which pages can be run."""
    os.chdir(folder)
    Path("examples").symlink_to(ROOT / "examples")


def run_python(block: str, page: str, names: dict[str, object]) -> str:
    """Run a block of Python among some names; gives what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, page, "exec"), names)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, and what they print."""
    pieces = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def printed_by(command: str) -> str:
    """Run a command of ours; gives standard output."""
    program, *words = shlex.split(command)
    assert program == "orbitmc", command
    wide = {"COLUMNS": "80"}
    return CliRunner().invoke(app, words, prog_name="orbitmc", env=wide).stdout


def require_alike(found: str, expected: str) -> None:
    """Compare what was printed with what a page shows."""
    before, cut, after = expected.partition("…\n")
    lines, first, last = found.splitlines(), before.splitlines(), after.splitlines()
    if not cut:
        assert len(lines) == len(first), found
    shown = lines[: len(first)] + lines[len(lines) - len(last) :]
    for line, wanted in zip(shown, first + last, strict=True):
        words, wanted_words = _words(line), _words(wanted)
        assert len(words) == len(wanted_words), f"{line}\n{wanted}"
        for word, wanted_word in zip(words, wanted_words, strict=True):
            assert _alike(word, wanted_word), f"{line}\n{wanted}"


def _words(line: str) -> list[str]:
    return re.split(r"[\s…]+", line.strip())


def _alike(word: str, wanted: str) -> bool:
    a, b = _number(word), _number(wanted)
    if a is None or b is None:
        return word == wanted
    return abs(a - b) <= NEAR if max(a, b) <= 1 else True


def _number(word: str) -> float | None:
    try:
        return float(word.strip("().;%,").replace(",", ""))
    except ValueError:
        return None
