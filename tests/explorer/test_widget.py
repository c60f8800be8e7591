"""The widget of notebooks sends and hears the same messages as the page."""

import time

import pytest

import orbitmc as om
from orbitmc.explorer.server import read_asset
from tests.explorer.served import SPRINKLER

pytest.importorskip("anywidget", reason="the extra `explore` is not installed")


@pytest.fixture
def widget(monkeypatch):
    made = om.explore(om.read(SPRINKLER), {"grass": "wet"})
    heard = []
    monkeypatch.setattr(made.exploration, "send", heard.append)
    for worker in (made.exploration._bars, made.exploration._rest):
        monkeypatch.setattr(worker, "_send", heard.append)
    yield made, heard
    made.close()
    assert made.exploration.join(30)


def wait_for(heard, kind, **fields):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for message in list(heard):
            if message["say"] == kind and all(message[key] == fields[key] for key in fields):
                return message
        time.sleep(0.01)
    raise TimeoutError(kind)


def test_the_page_and_the_widget_have_the_same_module(widget):
    made, _ = widget
    assert made._esm == read_asset("explore.js")
    assert made._css == read_asset("explore.css")


def test_what_is_clicked_in_a_notebook_is_answered(widget):
    made, heard = widget
    made._handle_custom_msg({"do": "begin"}, [])
    wait_for(heard, "answer", version=1)
    made._handle_custom_msg({"do": "observe", "name": "rain", "value": "light"}, [])
    rows = wait_for(heard, "answer", version=2)["rows"]
    answer = om.marginals(om.read(SPRINKLER), {"grass": "wet", "rain": "light"})
    for name, marginal in answer.items():
        assert rows[name]["p"] == pytest.approx(marginal.probability.tolist())


def test_without_a_file_there_is_no_command_to_copy(widget):
    made, heard = widget
    made._handle_custom_msg({"do": "begin"}, [])
    state = wait_for(heard, "state")
    assert state["command"] == ""
    assert state["python"].endswith("answer = om.marginals(model, {'grass': 'wet'})")


def test_evidence_of_a_program_belongs_into_its_database():
    program = om.read_logic("examples/smokers.mln", "examples/smokers.db")
    with pytest.raises(om.InputError, match="evidence of a program is a database"):
        om.explore(program, {"Cancer(Bob)": "true"})
    with pytest.raises(om.InputError, match="not about a str"):
        om.explore("examples/sprinkler.bif")
