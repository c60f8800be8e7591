"""`orbitmc demo` shows estimates beside the truth, and they agree."""

import re

from tests.cli.commands import orbitmc


def test_the_demo_covers_the_truth():
    done = orbitmc("demo", "--samples", "300")
    assert done.returncode == 0, done.stderr
    covered, compared = map(int, re.search(r"(\d+) of (\d+) intervals", done.stdout).groups())
    assert compared == 144
    assert covered >= 0.9 * compared
    assert "converged: " in done.stderr
    assert "log Z = 117.4341761" in done.stderr
