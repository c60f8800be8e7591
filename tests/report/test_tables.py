"""Tables, sentences and comparisons say what the numbers say."""

import io

import numpy as np
import pytest
from rich.console import Console

import orbitmc as om
from orbitmc.estimate.marginals import About, Marginal, Marginals
from orbitmc.estimate.verdicts import (
    EXACT,
    FAIR,
    FEW,
    FROZEN,
    GOOD,
    OBSERVED,
    SUSPECT,
    TIED,
    UNMIXED,
)
from orbitmc.report.answer_files import json_pieces
from orbitmc.report.page import compare
from orbitmc.report.sentences import remarks, verdict
from orbitmc.report.terminal import csv_pieces, show_answer
from tests.gathered import gathered


def marginal(p, verdict=GOOD, *, values=("no", "yes"), error=0.01):
    chances = np.array([1 - p, p])
    certain = verdict in (OBSERVED, EXACT)
    return Marginal(
        values,
        chances,
        np.full(2, 0.0 if certain else error),
        chances if certain else np.clip(chances - 2 * error, 0, 1),
        chances if certain else np.clip(chances + 2 * error, 0, 1),
        np.full(2, np.inf if certain else 1234.0),
        np.full(2, 1.0 if certain else 1.002),
        verdict,
        np.zeros(2, dtype=bool),
    )


def sampled(**variables):
    about = About("gibbs", "it was asked for", 2.0, 7, 100, 256, 10**9)
    return Marginals(gathered(variables), about)


def plain(answer):
    file = io.StringIO()
    show_answer(answer, Console(file=file, highlight=False))
    return file.getvalue()


def test_columns_are_aligned_and_certain_values_have_no_error():
    answer = sampled(rain=marginal(0.25), wind=marginal(1.0, OBSERVED))
    assert plain(answer).splitlines() == [
        "variable  value        P        ±    95 % interval    ESS  R-hat  verdict",
        "rain      no     0.75000  0.01000  0.73000…0.77000  1,234  1.002  good",
        "rain      yes    0.25000  0.01000  0.23000…0.27000  1,234  1.002  good",
        "wind      no           0                                          observed",
        "wind      yes          1                                          observed",
    ]


def test_exact_answers_have_no_columns_of_errors():
    answer = Marginals(gathered({"rain": marginal(0.25, EXACT)}), About("exact", "it is cheap"))
    assert plain(answer).splitlines()[0].split() == ["variable", "value", "P", "verdict"]


def test_terminals_get_the_same_words():
    file = io.StringIO()
    show_answer(
        sampled(rain=marginal(0.25, UNMIXED)), Console(file=file, force_terminal=True, width=100)
    )
    assert "0.23000…0.27000" in file.getvalue()
    assert "not mixed" in file.getvalue()


def test_names_can_neither_break_lines_nor_colour_them():
    wild = marginal(0.5, values=("\x1b[31mred", "[bold]"))
    assert "\\x1b[31mred" in plain(sampled(**{"two\nlines": wild}))
    assert "two\\nlines" in plain(sampled(**{"two\nlines": wild}))
    file = io.StringIO()
    show_answer(sampled(x=wild), Console(file=file, force_terminal=True, width=100))
    assert "[bold]" in file.getvalue()


def test_printing_an_answer_of_many_variables_says_what_it_leaves_out():
    many = sampled(**{f"v{number}": marginal(0.5) for number in range(100)})
    lines = str(many).splitlines()
    assert len(lines) == 1 + 40 + 1 + 1
    assert lines[-2] == "… and 160 more rows"
    assert lines[-1] == "gibbs: it was asked for"


def test_csv_quotes_what_it_must():
    lines = "".join(csv_pieces(sampled(**{'a,"b"': marginal(1.0, OBSERVED)}))).splitlines()
    assert lines[1] == '"a,""b""",no,0.0,0.0,0.0,0.0,,1.0,observed'


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([GOOD, OBSERVED], "converged: every R-hat is at most 1.01"),
        ([GOOD, FAIR], "converged (fair): 1 variable is"),
        ([GOOD, FEW, FEW], "not converged: 2 variables are estimated from too few samples"),
        ([GOOD, UNMIXED, FEW], "not converged: 1 variable is not mixed"),
        ([UNMIXED, TIED, TIED], "not converged: 1 variable is not mixed (worst R-hat"),
        ([UNMIXED, FROZEN, SUSPECT], "not converged: 1 variable is frozen and 1 more tied"),
        ([OBSERVED], "certain: "),
    ],
)
def test_the_worst_verdict_is_the_one_that_is_said(verdicts, words):
    answer = sampled(**{f"v{k}": marginal(0.5, one) for k, one in enumerate(verdicts)})
    assert verdict(answer).startswith(words)


def test_tied_variables_are_counted_where_there_are_any():
    mixed = {f"v{k}": marginal(0.5, one) for k, one in enumerate([UNMIXED, TIED, TIED])}
    assert ") and 2 more tied to them; run longer" in verdict(sampled(**mixed))
    assert "tied" not in verdict(sampled(v=marginal(0.5, UNMIXED)))
    assert "tied" not in verdict(sampled(v=marginal(0.5, FROZEN)))


def test_remarks_tell_what_was_done_why_and_what_to_fear():
    about = About("gibbs", "why not", 2.0, 7, 100, 256, 10**9, warnings=("mind the gap",))
    said = remarks(Marginals(gathered({"rain": marginal(0.5)}), about))
    assert said[0] == (
        "gibbs (why not): 100 samples in each of 256 chains, 2.0 s, 500 million updates/s, seed 7"
    )
    assert said[1] == "warning: mind the gap"


def test_a_comparison_counts_binary_variables_once():
    estimate = sampled(rain=marginal(0.25), wind=marginal(0.5))
    truth = sampled(rain=marginal(0.26), wind=marginal(0.6))
    found = compare(estimate, truth)
    assert (found.compared, found.covered) == (2, 1)
    assert found.mean_error == pytest.approx(0.055)
    assert found.largest_error == pytest.approx(0.1)


def test_json_of_an_empty_model_is_json():
    import json

    empty = om.marginals(om.model({}, []), method="exact")
    assert json.loads("".join(json_pieces(empty)))["variables"] == {}
