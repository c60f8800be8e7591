"""What was ruled out is known to the answer, and is not advised."""

import itertools

import pytest

import orbitmc as om
from orbitmc.errors import LimitError
from orbitmc.report.sentences import remarks
from tests.cli.commands import orbitmc

SHORT = {"samples": 30, "seed": 1, "scan": "random"}


def clique(spins=90, coupling=1.0):
    """Spins that want to be equal: too wide for elimination, too stiff for single changes."""
    return om.ising([0.0] * spins, list(itertools.combinations(range(spins), 2)), coupling)


def test_exact_is_not_advised_after_it_was_ruled_out():
    found = om.marginals(clique(), **SHORT)
    assert found.about.ruled_out == ("exact",)
    said = remarks(found)
    assert "tables of more than 1e+18 entries" in said[0]
    assert said[-1].startswith("not converged")
    assert "--method auto" not in said[-1]


def test_exact_is_advised_where_nobody_asked_what_it_costs():
    found = om.marginals(clique(12), method="gibbs", **SHORT)
    assert found.about.ruled_out == ()
    assert remarks(found)[-1].endswith("run longer, or try --method auto")


def test_a_resumed_run_remembers_what_was_ruled_out(tmp_path):
    om.write(clique(), tmp_path / "clique.uai")
    few = ("--samples", "30", "--set", "scan=random", "--checkpoint", tmp_path / "x.run")
    assert orbitmc("infer", tmp_path / "clique.uai", *few).returncode == 3
    done = orbitmc("resume", tmp_path / "x.run")
    assert done.returncode == 3
    assert "not converged" in done.stderr
    assert "--method auto" not in done.stderr


def test_many_values_are_no_reason_to_advise_exact_after_it_was_ruled_out():
    names = [f"v{number}" for number in range(30)]
    tables = [
        (pair, [[1.0 + (a == b) for a in range(9)] for b in range(9)])
        for pair in itertools.combinations(names, 2)
    ]
    tables.append((["v0", "wide"], [[1.0 + (a == b) for a in range(300)] for b in range(9)]))
    model = om.model({**dict.fromkeys(names, "abcdefghi"), "wide": [*map(str, range(300))]}, tables)
    with pytest.raises(LimitError, match=r"300 values, .* up to 256") as caught:
        om.marginals(model, samples=9)
    assert "1e+18 entries" in str(caught.value)
    assert "the exact method has no such limit" not in str(caught.value)
    with pytest.raises(LimitError, match="the exact method has no such limit"):
        om.marginals(model, samples=9, method="gibbs")


def test_warnings_count_the_variables_that_were_asked_about():
    found = om.marginals(clique(12), method="gibbs", query=["s3", "s4"], **SHORT)
    assert found.about.warnings[0].startswith("2 variables have not mixed (s3, s4)")
