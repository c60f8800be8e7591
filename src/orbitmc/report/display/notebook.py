"""What notebooks show of models and answers."""

from collections.abc import Callable, Mapping
from typing import Any

from orbitmc.estimate.answers import (
    HEADINGS,
    BestStates,
    Draws,
    Estimate,
    Estimates,
    Joint,
    Sweep,
    row_in_words,
)
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.graph.model import Model
from orbitmc.report.display.graph_drawing import MOST_VARIABLES, draw_graph
from orbitmc.report.display.heat_map import joint_table
from orbitmc.report.display.marginal_rows import marginal_table
from orbitmc.report.display.style import NOTEBOOK
from orbitmc.report.display.words import counted, paragraph, safe, short, table, tone
from orbitmc.report.words import doing, verdict

MOST_ROWS = 200
MOST_DRAWS, MOST_COLUMNS = 10, 12
LONG = 400  # letters of a sentence


def html(shown: object) -> str:
    """A piece of HTML for a value, with its own style.

    >>> import orbitmc as om
    >>> html(om.ising_grid(2, 2, 0.5)).count("<circle")
    4
    """
    make = SHOWN[type(shown).__name__]
    return f'<div class="om"><style>{NOTEBOOK}</style>{make(shown)}</div>'


def model_summary(model: Model) -> str:
    """Sizes of a model in a sentence."""
    graph = model.graph
    clauses = graph.factors - graph.first_clause
    sizes = sorted(set(graph.cardinality.tolist()))
    values = (
        "no" if not sizes else f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    )
    said = [f"{len(model.order):,} variables of {values} values", f"{graph.first_clause:,} factors"]
    said += [f"{clauses:,} clauses"] if clauses else []
    said += [f"{len(model.observed):,} observed"] if model.observed else []
    return ", ".join(said)


def _model(model: Model) -> str:
    drawing = draw_graph(model)
    large = f"<p class=quiet>no drawing: more than {MOST_VARIABLES} variables</p>"
    return f"<p><b>Model</b>: {model_summary(model)}</p>" + (drawing or large)


def _marginals(answer: Marginals) -> str:
    rows, left_out = marginal_table(answer, MOST_ROWS)
    more = f"<p>… and {left_out:,} more rows; answer.to_frame() has all</p>" if left_out else ""
    exact = answer.about.method == "exact"
    word, _, said = (f"exact: {doing(answer)}" if exact else verdict(answer)).partition(": ")
    said = in_python(said)
    colour = "good" if answer.converged else "doubt"
    badge = f'<span class="badge {colour}">{safe(word)}</span>'
    warnings = "".join(paragraph(f"warning: {safe(w, LONG)}") for w in answer.about.warnings)
    return f"<p>{badge} {safe(said, LONG)}</p>{warnings}{rows}{more}"


def in_python(said: str) -> str:
    """Advice about options of the command line, for who writes Python.

    >>> in_python("run longer, or try --method auto or mcsat")
    'run longer, or try method="auto" or method="mcsat"'
    """
    before, option, named = said.partition("--method ")
    keywords = [f'method="{name}"' for name in named.split(" or ")]
    return before + " or ".join(keywords) if option else said


def _about(about: About, word: str) -> str:
    badge = f'<span class="badge {tone(word)}">{safe(word)}</span>'
    return paragraph(f"{badge} {safe(about.method)}: {safe(about.reason, LONG)}")


def _joint(found: Joint) -> str:
    return joint_table(found) + _about(found.about, found.verdict)


def _estimate(found: Estimate) -> str:
    return paragraph(f"<b>{safe(found)}</b>") + _about(found.about, found.verdict)


def _estimates(found: Estimates) -> str:
    errors = any(one.standard_error for one in found.values())
    rows = [
        [
            safe(name),
            short(one.value),
            *([short(one.standard_error)] if errors else []),
            safe(one.verdict),
        ]
        for name, one in list(found.items())[:MOST_ROWS]
    ]
    left_out = len(found) - len(rows)
    more = f"<p>… and {left_out:,} more</p>" if left_out else ""
    titles = ("name", "value", *(("±",) if errors else ()), "verdict")
    return table(titles, rows, numbers=range(1, len(titles) - 1)) + more


def _draws(drawn: Draws) -> str:
    first = next(drawn.words(), [])[:MOST_DRAWS]
    shown = slice(2, 2 + MOST_COLUMNS)
    rows = [
        [str(row[0]), str(row[1]), *map(safe, row[shown.start : -1][:MOST_COLUMNS])]
        for row in first
    ]
    titles = ["chain", "draw", *(safe(name) for name in drawn.names[:MOST_COLUMNS])]
    left_out = len(drawn) - len(rows)
    wide = len(drawn.names) - MOST_COLUMNS
    more = f"… and {left_out:,} more states" + (f", {wide:,} more variables" if wide > 0 else "")
    chains, draws, variables = drawn.values.shape
    sizes = paragraph(f"<b>{chains:,} chains of {draws:,} draws of {variables:,} variables</b>")
    return sizes + _about(drawn.about, drawn.verdict) + table(titles, rows) + paragraph(more)


def _sweep(found: Sweep) -> str:
    rows = [[safe(word) for word in row_in_words(rung)] for rung in found[:MOST_ROWS]]
    return table(HEADINGS, rows, numbers=range(5))


def _best(found: BestStates) -> str:
    states, names = found.states[:MOST_COLUMNS], list(found.states[0])[:MOST_ROWS]
    rows = [["log weight", *(f"{state.log_weight:.6g}" for state in states)]]
    rows += [[safe(name), *(safe(state[name]) for state in states)] for name in names]
    left_out = len(found.states[0]) - len(names)
    more = paragraph(f"… and {left_out:,} more variables") if left_out else ""
    badge = (
        f'<span class="badge {"good" if found.proven else "fair"}">{safe(found.verdict())}</span>'
    )
    titles = ["variable", *(str(rank) for rank in range(1, len(states) + 1))]
    return paragraph(badge) + table(titles, rows) + more


def _symmetries(found: Any) -> str:
    from orbitmc.report.display.symmetries import symmetries_of_graph, symmetries_of_model

    return symmetries_of_model(found) if hasattr(found, "model") else symmetries_of_graph(found)


def _program(program: Any) -> str:
    asked = counted(len(program.asked.names), "atom")
    return paragraph(f"<b>Markov logic</b>: {asked} asked about") + _model(program.model)


SHOWN: Mapping[str, Callable[[Any], str]] = {
    "Model": _model,
    "MarkovLogic": _program,
    "Marginals": _marginals,
    "Joint": _joint,
    "Estimate": _estimate,
    "Estimates": _estimates,
    "Draws": _draws,
    "Sweep": _sweep,
    "BestStates": _best,
    "SymmetryReport": _symmetries,
    "SymmetryOverview": _symmetries,
}
"""How each kind of value is shown; by name, so that nothing is loaded for the others."""
