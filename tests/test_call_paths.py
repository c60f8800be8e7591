"""The architecture page shows the functions between a question and its work, as they are called."""

import re
import sys
from pathlib import Path

import pytest

import orbitmc as om
from tests.cli.commands import orbitmc

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
HOME = str(Path(om.__file__).parent)
EXAMPLES = ROOT / "examples"
WRAPPERS = ("cli.main", "cli.session", "inference.settings")  # around every verb and question


def infer_by_lmh():
    words = ("--method", "lmh", "--samples", "8", "--quiet", "--json")
    orbitmc("infer", EXAMPLES / "monitor.bif", *words)


def joint():
    om.joint(om.read(EXAMPLES / "sprinkler.bif"), ["rain", "sprinkler"], {"grass": "wet"})


def program_by_mcsat():
    program = om.read_logic(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes")
    om.marginals(program, method="mcsat", samples=8)


QUESTIONS = {
    "orbitmc infer monitor.bif --method lmh": (infer_by_lmh, "sampling.sampler.sample"),
    'om.joint(model, ["rain", "sprinkler"])': (joint, "exact.templates.Elimination.joints"),
    'om.marginals(program, method="mcsat")': (program_by_mcsat, "sampling.sampler.sample"),
}


def name_of(frame):
    """A function of ours by its module; None if it is somebody else's or has no name."""
    code = frame.f_code
    if not code.co_filename.startswith(HOME) or "<" in code.co_qualname:
        return None
    module = Path(code.co_filename).relative_to(HOME).with_suffix("")
    return ".".join((*module.parts, code.co_qualname))


def path_of(question, last):
    """The functions that are under way when a function is called first."""
    path = []

    def look(frame, event, argument):
        if event == "call" and not path and name_of(frame) == last:
            while frame is not None:
                name = name_of(frame)
                if name is not None and not name.startswith(WRAPPERS):
                    path.append(name)
                frame = frame.f_back

    sys.setprofile(look)
    try:
        question()
    finally:
        sys.setprofile(None)
    return path[::-1]


@pytest.mark.parametrize("shown", QUESTIONS)
def test_the_page_shows_the_path_of_a_question(shown):
    blocks = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    listed = {block.splitlines()[0]: block.split("\n")[1:-1] for block in blocks}
    path = path_of(*QUESTIONS[shown])
    assert [line.strip() for line in listed[shown]] == path
    assert 3 <= len(path) <= 30
