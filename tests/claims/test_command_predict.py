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
    monkeypatch.chdir(Path(__file__).parents[2])


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


def test_a_column_of_what_is_asked_is_named_also_if_quiet(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("grass,rain\nwet,heavy\nwet,none\n")
    done = orbitmc("predict", SPRINKLER, rows, "-q", "rain", "--quiet")
    assert "warning: what is asked for is a column of the table: 'rain' (in 2 rows)" in done.stderr
    done = orbitmc("predict", SPRINKLER, rows, "-q", "rain", "--ignore", "rain", "--quiet")
    assert done.stderr == ""
    single = om.marginals(om.read(SPRINKLER), {"grass": "wet"}, method="exact")["rain"]
    for row in table(done.stdout):
        assert float(row["rain=none"]) == pytest.approx(single.probability[0], abs=1e-8)


def test_other_columns_are_copied_or_ignored(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text('who,"note, of all",grass\nNA,x,wet\n 07 ,y,dry\n')
    words = [SPRINKLER, rows, "-q", "rain", "--id", "who", "--ignore", "note, of all"]
    done = orbitmc("predict", *words)
    assert done.returncode == 0, done.stderr
    found = table(done.stdout)
    assert [row["who"] for row in found] == ["NA", " 07 "]
    numbers = ["rain=none", "rain=light", "rain=heavy", "log_likelihood"]
    assert list(found[0]) == ["row", "who", *numbers]
    held = json.loads(orbitmc("predict", *words, "--json").stdout)
    assert held["ids"] == {"who": ["NA", " 07 "]}
    done = orbitmc("predict", SPRINKLER, rows, "-q", "rain", "--ignore", "note, of all")
    assert done.returncode == 2
    assert "a column 'who' that is no variable" in done.stderr


@pytest.mark.parametrize("values", [("0", "1", "2"), ("none", "light", "heavy")])
def test_codes_that_pandas_writes_with_gaps_mean_the_same_in_both_doors(tmp_path, values):
    pandas = pytest.importorskip("pandas")
    model = om.model({"a": values, "b": values}, [(["a", "b"], [[5, 1, 2], [1, 6, 1], [1, 2, 7]])])
    om.write(model, tmp_path / "model.json")
    frame = pandas.DataFrame({"a": [0, 2, None, 1]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert "0.0" in (tmp_path / "rows.csv").read_text()
    done = orbitmc("predict", tmp_path / "model.json", tmp_path / "rows.csv", "-q", "b")
    assert done.returncode == 0, done.stderr
    wanted = om.predict(model, frame, query="b").to_numpy()
    found = [[float(row[f"b={value}"]) for value in values] for row in table(done.stdout)]
    assert found == pytest.approx(wanted, abs=1e-8)


def test_truths_that_pandas_writes_mean_the_same(tmp_path):
    om.write(
        om.model({"a": ["no", "yes"], "b": ["no", "yes"]}, [(["a", "b"], [[5, 1], [1, 6]])]),
        tmp_path / "model.json",
    )
    (tmp_path / "rows.csv").write_text("a\nTrue\nFalse\n")
    done = orbitmc("predict", tmp_path / "model.json", tmp_path / "rows.csv")
    assert [float(row["b=yes"]) for row in table(done.stdout)] == pytest.approx([6 / 7, 1 / 6])
