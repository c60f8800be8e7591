"""Every example runs, is short, and prints something."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, capsys):
    assert len(example.read_text().splitlines()) <= 60
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
