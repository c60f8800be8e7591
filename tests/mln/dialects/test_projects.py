"""Projects of pracmln: what they asked last, and archives that are none."""

import json
import zipfile

import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from orbitmc.mln.language.parser import read_program
from orbitmc.mln.language.projects import read_packed

PROGRAM = "#include <types.mln>\nX(p)\nY(p)\n1 X(x) => Y(x)\n"
SETTINGS = {"mln": "a.mln", "db": "a.db", "queries": "Y(A)", "cw": 0, "grammar": "StandardGrammar"}


def project(folder, settings=SETTINGS, **files):
    path = folder / "p.pracmln"
    every = {"mlns/a.mln": PROGRAM, "mlns/types.mln": "p = {A, B}\n", "dbs/a.db": "X(A)\n", **files}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "query.conf", settings if isinstance(settings, str) else json.dumps(settings)
        )
        for name, text in every.items():
            archive.writestr(name, text)
    return path


def test_a_project_asks_what_it_asked_last(tmp_path):
    asked = om.read(project(tmp_path))
    assert list(asked.marginals(method="exact")) == ["Y(A)"]
    assert "program a.mln, database a.db, query Y(A)" in asked.remarks[0]


def test_other_databases_queries_and_programs(tmp_path):
    path = project(tmp_path, **{"mlns/b.mln": "p = {C}\nY(p)\n1 Y(x)\n", "dbs/b.db": "p = {D}\n"})
    asked = om.read_logic(f"{path}:b.mln", f"{path}:b.db", query="Y")
    assert list(asked.marginals(method="exact")) == ["Y(C)", "Y(D)"]


@pytest.mark.parametrize(
    ("told", "expected"), [({"cw": 1}, 0.5), ({"cw_preds": "X"}, 0.5), ({}, 0.59375)]
)
def test_the_world_that_a_project_closes(tmp_path, told, expected):
    path = project(tmp_path, {**SETTINGS, "queries": "Y(B)", **told})
    found = om.read(path).marginals(method="exact")
    assert found["Y(B)"].probability[0] == pytest.approx(expected, abs=1e-3)


def test_the_grammar_of_a_project_marks_variables(tmp_path):
    settings = {**SETTINGS, "grammar": "PRACGrammar", "queries": "Y"}
    path = project(tmp_path, settings, **{"mlns/c.mln": "X(p)\nY(p)\n1 X(a) => Y(a)\n"})
    asked = om.read_logic(f"{path}:c.mln", query="Y", evidence=["X(a)"])
    assert list(asked.marginals(method="exact")) == ['Y("a")']


@pytest.mark.parametrize(
    "settings", ["", "[1]", "{", '{"mln": 3}', '{"cw_preds": [1]}', "[" * 100_000]
)
def test_settings_that_cannot_be_read(tmp_path, settings):
    with pytest.raises(InputError, match=r"query\.conf"):
        om.read(project(tmp_path, settings))


def test_archives_that_cannot_be_read(tmp_path):
    path = tmp_path / "x.pracmln"
    path.write_bytes(b"PK\x03\x04 no archive at all")
    for wrong in (path, tmp_path / "none.pracmln"):
        with pytest.raises(InputError):
            om.read(wrong)
    with pytest.raises(InputError, match="no file"):
        om.read_logic(f"{project(tmp_path)}:none.mln")
    with pytest.raises(InputError, match="name a file of the project"):
        read_program(project(tmp_path), dialect="pracmln", learning=True)
    with pytest.raises(InputError, match="names no program"):
        om.read(project(tmp_path, {}))


def test_a_file_that_unpacks_to_more_than_memory_allows(tmp_path):
    path = tmp_path / "big.pracmln"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mlns/a.mln", " " * 2**24)
    with pytest.raises(LimitError, match="holds more"):
        read_packed(path, "a.mln", memory=2**22)


def test_included_files_of_no_project(tmp_path):
    path = tmp_path / "a.mln"
    path.write_text("#include <b.mln>\n")
    with pytest.raises(InputError, match="in none"):
        om.read(path)
