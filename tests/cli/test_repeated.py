"""An option that is given twice: what it names is joined, or it is refused; nothing is lost."""

import json

import pytest
from typer.main import get_command

from orbitmc.cli.main import app
from orbitmc.cli.options import parse_assignments
from orbitmc.errors import InputError
from tests.cli.commands import answer_of, orbitmc, rain

PROGRAM = """person = {Anna, Bob}
Smokes(person)
Cancer(person)
1.5 Smokes(x) => Cancer(x)
0.5 Smokes(x)
"""
JOINED = {
    "-q": ("infer", "ask", "best", "predict", "compare", "symmetry", "check", "ground", "learn"),
    "-e": ("infer", "ask", "joint", "draw", "best", "predict", "sweep", "compare", "check"),
    "--set": ("infer", "ask", "joint", "draw", "best", "learn", "resume"),
    "-g": ("infer", "symmetry"),
    "--hidden": ("learn",),
    "--held-out": ("learn",),
    "--methods": ("compare",),
    "--beta": ("sweep",),
}


def options_of_all_verbs():
    verbs = get_command(app)
    for verb in verbs.list_commands(None):
        for parameter in verbs.get_command(None, verb).params:
            if parameter.param_type_name == "option":
                yield verb, parameter


ONCE = [
    pytest.param(verb, parameter, id=f"{verb} {parameter.opts[0]}")
    for verb, parameter in options_of_all_verbs()
    if not parameter.multiple and not parameter.is_flag
]


@pytest.mark.parametrize(("verb", "parameter"), ONCE)
def test_an_option_of_one_value_is_refused_when_given_twice(verb, parameter):
    name = parameter.opts[-1]
    done = orbitmc(verb, name, "1", name, "2")
    assert done.returncode == 2
    assert f"{name} is given 2 times; give it once" in done.stderr


@pytest.mark.parametrize("option", JOINED)
def test_options_that_name_things_may_be_repeated(option):
    several = {
        verb
        for verb, parameter in options_of_all_verbs()
        if option in parameter.opts and parameter.multiple
    }
    assert several >= set(JOINED[option])


def test_both_signs_of_a_switch_are_refused(tmp_path):
    done = orbitmc("symmetry", rain(tmp_path), "--approximate", "--exact-only")
    assert done.returncode == 2
    assert "--approximate is given 2 times" in done.stderr


def test_a_plain_switch_may_be_repeated(tmp_path):
    assert orbitmc("infer", rain(tmp_path), "--quiet", "--quiet").returncode == 0


def test_a_repeated_query_asks_about_all(tmp_path):
    path = rain(tmp_path)
    found = answer_of("infer", path, "-q", "grass", "-q", "rain,mood")
    assert list(found["variables"]) == ["grass", "rain", "mood"]
    done = orbitmc("best", path, "-q", "grass", "-q", "rain", "--json")
    assert set(json.loads(done.stdout)["states"][0]["values"]) == {"grass", "rain"}
    done = orbitmc("ask", path, "--about", "mood", "-q", "grass", "-q", "rain")
    assert "grass" in done.stdout
    assert "rain" in done.stdout


def test_a_repeated_query_to_a_program_asks_about_all(tmp_path):
    path = tmp_path / "smokers.mln"
    path.write_text(PROGRAM)
    found = answer_of("infer", path, "-q", "Smokes(Anna)", "-q", "Cancer(Bob)")
    assert list(found["variables"]) == ["Smokes(Anna)", "Cancer(Bob)"]


def test_a_row_of_a_table_is_asked_about_all(tmp_path):
    (tmp_path / "rows.csv").write_text("mood\ngood\n")
    done = orbitmc("predict", rain(tmp_path), tmp_path / "rows.csv", "-q", "rain", "-q", "grass")
    assert done.stdout.splitlines()[0] == "row,rain=no,rain=yes,grass=dry,grass=wet,log_likelihood"


def test_repeated_temperatures_are_all_swept(tmp_path):
    done = orbitmc("sweep", rain(tmp_path), "--beta", "0.5:1:2", "--beta", "2", "--json")
    assert [one["beta"] for one in json.loads(done.stdout)["betas"]] == [0.5, 1, 2]


def test_settings_that_list_words_are_joined_and_others_refused():
    assert parse_assignments("infer", ["opened=P", "opened=Q,R"]) == {"opened": ("P", "Q", "R")}
    with pytest.raises(InputError, match="scan: it is set twice"):
        parse_assignments("infer", ["scan=random", "scan=systematic"])
