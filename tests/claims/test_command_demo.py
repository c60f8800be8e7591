"""`orbitmc demo` shows where Gibbs fails and jumps help, beside the exact answer."""

import re

from tests.cli.commands import orbitmc


def test_the_demo_shows_gibbs_fail_and_jumps_succeed():
    done = orbitmc("demo", "--samples", "1000")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 24
    rows = re.findall(r"= up\)\s+(\S+)\s+(\S+)\s+(\S+)", done.stdout)
    assert len(rows) == 3
    for exact, gibbs, lmh in (tuple(map(float, row)) for row in rows):
        # 256 chains of 4,000 sweeps, half of the jumps accepted: the standard error is 0.0009
        assert abs(lmh - exact) < 0.01
        # chains that stay where they began say one half, give or take sqrt(1 / 256) / 2
        assert abs(gibbs - exact) > 0.08
    gibbs, lmh = map(float, re.search(r"worst R-hat\s+(\S+)\s+(\S+)", done.stdout).groups())
    assert lmh < 1.01 < gibbs
