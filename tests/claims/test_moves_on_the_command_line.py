"""Recorded moves on the command line: replayed as they are, or refused with words that help."""

import json

import pytest

from tests.cli.commands import answer_of, grid, orbitmc

FLIPS = {"base": "gibbs", "families": ["flip"], "period": 144}
SHORT = ("--method", "lmh", "--samples", "60", "--seed", "2", "--set", "threads=1")


def test_moves_of_an_answer_are_replayed(tmp_path):
    path, first = grid(tmp_path), tmp_path / "first.json"
    told = answer_of("infer", path, *SHORT, "--set", f"moves={json.dumps(FLIPS)}")
    assert told["moves"] == FLIPS
    first.write_text(json.dumps(told))
    again = answer_of("infer", path, *SHORT, "--set", f"moves={first}")
    assert again["moves"] == FLIPS
    assert again["race"] == []
    assert again["variables"] == told["variables"]


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ('{"families": ["flop"], "period": 3}', "no family of moves 'flop'"),
        ('{"families": ["flip"], "period": 0}', 'whole number "period" above 0'),
        ('{"families": ["labels"], "period": 9}', "make no sense for this model"),
        ('{"families":[[]],"period":1}', "--set moves: there is no family of moves []"),
        ('{"families":["flip"],"period":%s}' % ("9" * 400), "--set moves: the moves need a whole"),
        ('{"families":[],"period":%s}' % ("9" * 5000), "--set moves: "),
        ('{"moves": null}', "holds no moves"),
        ('{"families": ', "--set moves"),
        ("nowhere.json", "nowhere.json"),
    ],
)
def test_wrong_moves_are_refused_with_words_that_help(tmp_path, moves, words):
    done = orbitmc("infer", grid(tmp_path), *SHORT, "--set", f"moves={moves}")
    assert done.returncode == 2
    assert words in done.stderr
