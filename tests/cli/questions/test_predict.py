"""`orbitmc predict` answers each row of a table."""

import csv
import io
import json
from pathlib import Path

import pytest

import orbitmc as om
from tests.cli.commands import orbitmc

SPRINKLER = "examples/sprinkler.bif"
DAYS = "examples/days.csv"


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_every_row_has_a_line():
    done = orbitmc("predict", SPRINKLER, DAYS, "-q", "rain")
    assert done.returncode == 0
    model = om.read(SPRINKLER)
    found, asked = table(done.stdout), table(Path(DAYS).read_text())
    assert len(found) == len(asked)
    for number, (row, seen) in enumerate(zip(found, asked, strict=True)):
        assert row["row"] == str(number)
        evidence = {name: value or None for name, value in seen.items()}
        single = om.marginals(model, evidence, method="exact")["rain"]
        for value, p in zip(single.values, single.probability, strict=True):
            assert float(row[f"rain={value}"]) == pytest.approx(p, abs=1e-8)


def test_bad_rows_are_named_and_keep_their_places(tmp_path):
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text("grass,season\nwet,rainy\nwett,dry\nNA,1\n")
    done = orbitmc("predict", SPRINKLER, rows, "-q", "rain", "-o", out)
    assert done.returncode == 2
    assert "row 1: unknown value 'wett'" in done.stderr
    found = table(out.read_text())
    assert [row["rain=none"] == "" for row in found] == [False, True, False]
    by_number = om.marginals(om.read(SPRINKLER), {"season": "rainy"}, method="exact")
    assert float(found[2]["rain=none"]) == pytest.approx(by_number["rain"].probability[0])


def test_json_says_what_is_wrong(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("grass\nwet\nwett\n")
    done = orbitmc("predict", SPRINKLER, rows, "-q", "rain", "--json")
    held = json.loads(done.stdout)
    assert held["rows"][1] is None
    assert sum(held["rows"][0]["rain"].values()) == pytest.approx(1.0)
    assert list(held["problems"]) == ["1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the table is empty"),
        ("grass,grass\nwet,wet\n", "two columns have the same name"),
        ("gras\nwet\n", "did you mean 'grass'"),
        ("grass\nwet,dry\n", "2 cells under 1 titles"),
    ],
)
def test_tables_that_are_no_evidence_are_refused(text, said, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text(text)
    done = orbitmc("predict", SPRINKLER, rows)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_table_is_never_overwritten(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("grass\nwet\n")
    done = orbitmc("predict", SPRINKLER, rows, "-o", rows)
    assert done.returncode == 2
    assert rows.read_text() == "grass\nwet\n"
