"""What notebooks show of models and answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import format_order
from orbitmc.estimate.answers import (
    BestStates,
    Draws,
    Estimate,
    Estimates,
    Joint,
    Sweep,
)
from orbitmc.estimate.formatting import (
    CERTAIN_HEADINGS,
    count,
    headings,
    probability,
    r_hat_in_words,
)
from orbitmc.estimate.marginals import About, Columns, Marginals
from orbitmc.estimate.verdicts import BELIEVED, FORCED, OBSERVED, VERDICTS
from orbitmc.report.html import NOTEBOOK, format_count, paragraph, safe, short, table, tone
from orbitmc.report.sentences import describe_method, verdict
from orbitmc.report.svg import MOST_VARIABLES_DRAWN, bar, draw_graph, joint_table

if TYPE_CHECKING:
    import orbitmc as om
    from orbitmc import Model


# Marginals as rows of a table, with bars and whiskers.

LAST = (OBSERVED, FORCED)  # what is known anyway comes last
NUMBER_COLUMNS = ("P", "±", "95 % interval", "ESS", "R-hat")


def marginal_table(answer: Marginals, most: int) -> tuple[str, int]:
    """A table of at most so many rows, doubted variables first; and how many are left out."""
    columns, (variable, value, *others) = answer.columns, headings(answer)
    cells = len(others) + 2 - len(CERTAIN_HEADINGS)
    titles = [variable, value, "", *others]
    head = "".join(
        f'<th class="n">{word}</th>' if word in NUMBER_COLUMNS else f"<th>{word}</th>"
        for word in titles
    )
    rows: list[str] = []
    count_shown = 0
    for place in by_concern(columns):
        size = int(columns.start[place + 1] - columns.start[place])
        if count_shown + size > most and count_shown:
            break
        rows.extend(_rows(columns, int(place), cells, most))
        count_shown += min(size, most)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table class="marginals">{body}</table>', len(columns.probability) - count_shown


def by_concern(columns: Columns) -> NDArray[np.int64]:
    """Places of variables: first those not to be believed, last those that were known."""
    rank = np.array([_verdict_rank(word) for word in VERDICTS])
    return np.argsort(rank[columns.verdict], kind="stable")


def _verdict_rank(verdict: str) -> int:
    return 0 if verdict not in BELIEVED else 2 if verdict in LAST else 1


def _rows(columns: Columns, place: int, cells: int, most: int) -> Iterator[str]:
    """The values of one variable, the most probable first, with so many cells about errors."""
    word = VERDICTS[columns.verdict[place]]
    kind, name = tone(word), safe(columns.names[place])
    rows = np.arange(columns.start[place], columns.start[place + 1])
    values = columns.values[place]
    order = np.argsort(-columns.probability[rows], kind="stable")[:most]
    for again, k in enumerate(order.tolist()):
        at = int(rows[k])
        p, low, high = (
            float(column[at]) for column in (columns.probability, columns.low, columns.high)
        )
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in _errors(columns, at)[:cells])
        yield (
            f'<tr class="{kind}"><td class="{"r" if again else "v"}">{name}</td>'
            f"<td>{safe(values[k])}</td><td>{bar(p, low, high, kind)}</td>"
            f'<td class="n">{probability(p)}</td>{numbers}<td class="k">{word}</td></tr>'
        )


def _errors(columns: Columns, at: int) -> tuple[str, str, str, str]:
    """Error, interval, ESS and R-hat; empty where there is no error."""
    if not math.isfinite(columns.ess[at]) and columns.standard_error[at] == 0.0:
        return "", "", "", ""
    low, high = float(columns.low[at]), float(columns.high[at])
    return (
        probability(float(columns.standard_error[at])),
        f"{probability(low)}…{probability(high)}",
        count(float(columns.ess[at])),
        r_hat_in_words(float(columns.r_hat[at])),
    )


MOST_NOTEBOOK_ROWS = 200
MOST_DRAWS, MOST_COLUMNS = 10, 12
LONGEST_SENTENCE = 400  # letters of a sentence


def html(value: object) -> str:
    """A piece of HTML for a value, with its own style.

    >>> import orbitmc as om
    >>> html(om.ising_grid(2, 2, 0.5)).count("<circle")
    4
    """
    make = RENDERERS[type(value).__name__]
    return f'<div class="om"><style>{NOTEBOOK}</style>{make(value)}</div>'


def model_summary(model: Model) -> str:
    """Sizes of a model in a sentence."""
    graph = model.graph
    clauses = graph.factors - graph.first_clause
    sizes = sorted(set(graph.cardinality.tolist()))
    values = (
        "no" if not sizes else f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    )
    parts = [
        f"{len(model.order):,} variables of {values} values",
        f"{graph.first_clause:,} factors",
    ]
    parts += [f"{clauses:,} clauses"] if clauses else []
    parts += [f"{len(model.observed):,} observed"] if model.observed else []
    return ", ".join(parts)


def _model(model: Model) -> str:
    drawing = draw_graph(model)
    large = f"<p class=quiet>no drawing: more than {MOST_VARIABLES_DRAWN} variables</p>"
    return f"<p><b>Model</b>: {model_summary(model)}</p>" + (drawing or large)


def _learned(learned: om.Learned | om.LearnedField) -> str:
    return paragraph(f"<b>{safe(str(learned))}</b>") + _model(learned)


def _marginals(answer: Marginals) -> str:
    rows, left_out = marginal_table(answer, MOST_NOTEBOOK_ROWS)
    more = f"<p>… and {left_out:,} more rows; answer.to_frame() has all</p>" if left_out else ""
    exact = answer.about.is_exact
    word, _, sentence = (
        f"exact: {describe_method(answer)}" if exact else verdict(answer)
    ).partition(": ")
    sentence = in_python(sentence)
    colour = "good" if answer.converged else "doubt"
    badge = f'<span class="badge {colour}">{safe(word)}</span>'
    warnings = "".join(
        paragraph(f"warning: {safe(w, LONGEST_SENTENCE)}") for w in answer.about.warnings
    )
    return f"<p>{badge} {safe(sentence, LONGEST_SENTENCE)}</p>{warnings}{rows}{more}"


def in_python(sentence: str) -> str:
    """Advice about options of the command line, for who writes Python.

    >>> in_python("run longer, or try --method auto or mcsat")
    'run longer, or try method="auto" or method="mcsat"'
    """
    before, option, named = sentence.partition("--method ")
    keywords = [f'method="{name}"' for name in named.split(" or ")]
    return before + " or ".join(keywords) if option else sentence


def _about(about: About, word: str) -> str:
    badge = f'<span class="badge {tone(word)}">{safe(word)}</span>'
    return paragraph(f"{badge} {safe(about.method)}: {safe(about.reason, LONGEST_SENTENCE)}")


def _joint(answer: Joint) -> str:
    return joint_table(answer) + _about(answer.about, answer.verdict)


def _estimate(answer: Estimate) -> str:
    return paragraph(f"<b>{safe(answer)}</b>") + _about(answer.about, answer.verdict)


def _estimates(answer: Estimates) -> str:
    errors = any(estimate.standard_error for estimate in answer.values())
    rows = [
        [
            safe(name),
            short(estimate.value),
            *([short(estimate.standard_error)] if errors else []),
            safe(estimate.verdict),
        ]
        for name, estimate in list(answer.items())[:MOST_NOTEBOOK_ROWS]
    ]
    left_out = len(answer) - len(rows)
    more = f"<p>… and {left_out:,} more</p>" if left_out else ""
    titles = ("name", "value", *(("±",) if errors else ()), "verdict")
    return table(titles, rows, numbers=range(1, len(titles) - 1)) + more


def _draws(answer: Draws) -> str:
    first = next(answer.words(), [])[:MOST_DRAWS]
    columns = slice(2, 2 + MOST_COLUMNS)
    rows = [
        [str(row[0]), str(row[1]), *map(safe, row[columns.start : -1][:MOST_COLUMNS])]
        for row in first
    ]
    titles = ["chain", "draw", *(safe(name) for name in answer.names[:MOST_COLUMNS])]
    left_out = len(answer) - len(rows)
    wide = len(answer.names) - MOST_COLUMNS
    more = f"… and {left_out:,} more states" + (f", {wide:,} more variables" if wide > 0 else "")
    chains, draws, variables = answer.values.shape
    sizes = paragraph(f"<b>{chains:,} chains of {draws:,} draws of {variables:,} variables</b>")
    return sizes + _about(answer.about, answer.verdict) + table(titles, rows) + paragraph(more)


def _sweep(answer: Sweep) -> str:
    rows = [[safe(word) for word in row] for row in answer.rows()[:MOST_NOTEBOOK_ROWS]]
    numbers = range(5) if len(answer.headings) > 5 else (0, 2, 3)
    return table(answer.headings, rows, numbers=numbers)


def _best(answer: BestStates) -> str:
    states, names = answer.states[:MOST_COLUMNS], list(answer.states[0])[:MOST_NOTEBOOK_ROWS]
    rows = [[*row] for row in answer.weight_rows()]
    rows += [[safe(name), *(safe(state[name]) for state in states)] for name in names]
    left_out = len(answer.states[0]) - len(names)
    more = paragraph(f"… and {left_out:,} more variables") if left_out else ""
    badge = (
        f'<span class="badge {"good" if answer.proven else "fair"}">{safe(answer.verdict())}</span>'
    )
    titles = ["variable", *(str(rank) for rank in range(1, len(states) + 1))]
    return paragraph(badge) + table(titles, rows) + more


def _symmetries(report: om.symmetry.SymmetryReport) -> str:
    return show_group(report, report.cycle_texts)


def _overview(overview: om.inference.SymmetryOverview) -> str:
    group = show_group(overview, overview.cycle_texts, overview.model)
    return group + _approximations(overview.approximations)


def _program(program: Any) -> str:
    if not program.is_ground:
        return paragraph(f"<b>Markov logic</b>: {safe(str(program))}")
    atoms = format_count(len(program.asked.names), "atom")
    return paragraph(f"<b>Markov logic</b>: {atoms} asked about") + _model(program.model)


RENDERERS: Mapping[str, Callable[[Any], str]] = {
    "Model": _model,
    "Learned": _learned,
    "LearnedField": _learned,
    "MarkovLogic": _program,
    "Marginals": _marginals,
    "Joint": _joint,
    "Estimate": _estimate,
    "Estimates": _estimates,
    "Draws": _draws,
    "Sweep": _sweep,
    "BestStates": _best,
    "SymmetryReport": _symmetries,
    "SymmetryOverview": _overview,
}
"""How each kind of value is shown; by name, so that nothing is loaded for the others."""


# Groups of symmetries as HTML: order, generators, orbits.

MOST_CODE_LINES = 12
MAX_GENERATORS_SHOWN = 240  # letters of a generator or an orbit


def show_group(group: Any, generators: Sequence[str], model: Model | None = None) -> str:
    """The order of a group, its generators and orbits; with a model, in names and in colours."""
    rest = "" if group.complete else "; there may be more"
    source = safe(group.how, MAX_GENERATORS_SHOWN)
    count = format_count(len(generators), "generator")
    order = f"<b>{format_order(group.order)} symmetries</b>, {count} ({source}{rest})"
    orbits = [[int(place) for place in orbit] for orbit in group.orbits]
    colour = {p: 1 + number for number, orbit in enumerate(orbits) for p in orbit}
    name = str if model is None else model.names.__getitem__
    texts = [", ".join(map(name, orbit)) for orbit in orbits]
    drawing = "" if model is None else draw_graph(model, colour)
    return paragraph(order) + drawing + _list("generator", generators) + _list("orbit", texts)


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(
        f"<li>{safe(line, MAX_GENERATORS_SHOWN)}</li>" for line in lines[:MOST_CODE_LINES]
    )
    left_out = len(lines) - MOST_CODE_LINES
    more = f"<li>… and {left_out:,} more</li>" if left_out > 0 else ""
    return f"<p>{format_count(len(lines), title)}</p><ul>{items}{more}</ul>"


def _approximations(approximations: Sequence[om.inference.Approximation]) -> str:
    if not approximations:
        return ""
    rows = [
        [
            safe(approximation.name),
            f"{approximation.usual.exchanged.blocks:,}",
            _share(approximation.usual.acceptance),
        ]
        for approximation in approximations
    ]
    return table(("approximation", "blocks", "jumps accepted"), rows, numbers=(1, 2))


def _share(acceptance: float | None) -> str:
    return "" if acceptance is None else f"{acceptance:.0%}"
