"""Put a page together and write it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from orbitmc._util.files import write_pieces, write_text
from orbitmc.errors import InputError
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.verdicts import VERDICTS
from orbitmc.report.comparison import compare
from orbitmc.report.display.charts import scatter
from orbitmc.report.display.graph_drawing import draw_graph
from orbitmc.report.display.marginal_rows import marginal_table
from orbitmc.report.display.notebook import model_summary
from orbitmc.report.display.words import code, counted, paragraph, safe
from orbitmc.report.page.checks import Checks, checks
from orbitmc.report.page.health import course, health
from orbitmc.report.page.method import method, symmetries
from orbitmc.report.page.reproduce import for_a_paper, reproduce
from orbitmc.report.page.style import PAGE, SCRIPT
from orbitmc.report.tables import csv_pieces
from orbitmc.report.words import doing, verdict
from orbitmc.version import __version__

MOST_ROWS = 800  # of the table; more would make the page slow to open
MOST_EVIDENCE = 60
MOST_POINTS = 1500  # of a chart
LONG = 1200


def write_page(answer: Marginals, path: Path, *, overwrite: bool = False) -> Path:
    """Write a page; rows that it cannot show go to a file beside it, over another if one may."""
    rows = rows_file(path)
    if not overwrite:
        require_rows_file(path, len(answer.columns.probability))
    text, left_out = page(answer, rows.name)
    if left_out:
        write_pieces(rows, csv_pieces(answer))
    write_text(path, text)
    return path


def rows_file(path: Path) -> Path:
    """Where all rows of a page go, if it cannot show them."""
    return path.with_suffix(".csv")


def require_rows_file(path: Path, rows: float) -> None:
    """Refuse a page whose rows would go over a file that no earlier page put there."""
    beside = rows_file(path)
    if rows > MOST_ROWS and beside.exists() and not _names_rows(path, beside):
        raise InputError(
            f"this file would be overwritten: a report of more than {MOST_ROWS} rows writes all of "
            "them there; move it, or give the report another name",
            source=str(beside),
        )


def _names_rows(path: Path, beside: Path) -> bool:
    """Whether a page is there already that says that its rows are beside it."""
    if not path.exists():
        return False
    return _in_file(beside.name) in path.read_text(encoding="utf-8", errors="replace")


def _in_file(rows: str) -> str:
    return f"more rows are in <b>{safe(rows)}</b>"


def page(answer: Marginals, rows: str) -> tuple[str, int]:
    """A page as text, and how many rows it leaves to the file that is called `rows`."""
    found = checks(answer)
    table, left_out = _marginals(answer, rows)
    sections = {
        "Question": _question(answer),
        "Marginals": table,
        "Health": health(answer),
        "Error over time": course(answer) if answer.about.method != "exact" else "",
        "Method": method(answer),
        "Symmetries": symmetries(answer, found),
        "Exact values": _beside_exact(answer, found),
        "Reproduce": reproduce(answer),
        "For a paper": code(for_a_paper(answer)),
    }
    shown = {title: body for title, body in sections.items() if body}
    return "".join(_pieces(answer, shown)), left_out


def _pieces(answer: Marginals, sections: dict[str, str]) -> Iterator[str]:
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>orbitmc: {len(answer):,} marginals</title><style>{PAGE}</style></head>"
        '<body class="om"><main>'
        f"<h1>Marginals of {_things(answer)}</h1>{_verdict(answer)}<nav>"
    )
    for title in sections:
        yield f'<a href="#{_anchor(title)}">{title}</a>'
    yield "</nav>"
    for title, body in sections.items():
        yield f'<section id="{_anchor(title)}"><h2>{title}</h2>{body}</section>'
    yield f"<footer>Made by orbitmc {__version__}.</footer></main>"
    yield f"<script>{SCRIPT}</script></body></html>\n"


def _things(answer: Marginals) -> str:
    """How many variables, or atoms of a program, were asked about."""
    is_program = answer.asked is not None and answer.asked.in_atoms is not None
    return counted(len(answer), "atom" if is_program else "variable")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _verdict(answer: Marginals) -> str:
    """One sentence, and what to do next."""
    if answer.about.method == "exact":
        words, after = "The answer is exact.", doing(answer)
    else:
        words, _, after = verdict(answer).partition("; ")
        words, after = f"{words[0].upper()}{words[1:]}.", after or "nothing is left to do"
    kind = "good" if answer.converged else "doubt"
    warnings = "".join(paragraph(f"Warning: {safe(w, LONG)}.") for w in answer.about.warnings)
    next_step = "" if answer.about.method == "exact" else "What next: "
    following = paragraph(f"{next_step}{safe(after, LONG)}.")
    says = paragraph(safe(words, LONG), "says")
    return f'<div class="verdict {kind}">{says}{following}{warnings}</div>'


def _question(answer: Marginals) -> str:
    """The model, what is observed, and what was asked."""
    asked = answer.asked
    assert asked is not None
    model = asked.seen
    seen = [
        f"{safe(name)} = {safe(one.values[one.value])}"
        for name, one in list(model.observed.items())[:MOST_EVIDENCE]
    ]
    left_out = len(model.observed) - len(seen)
    seen += [f"… and {left_out:,} more"] if left_out else []
    soft = [name for name in (asked.evidence or {}) if name in model.index]
    seen += [f"{safe(name)}: soft" for name in soft[:MOST_EVIDENCE]]
    whole = len(answer) == len(model.order)
    about = "all variables" if whole else f"{len(answer):,} of {len(model.order):,} variables"
    if asked.in_atoms is not None:
        seen.append("databases of the program")
        about = _things(answer)
    return (
        f"<dl><dt>model</dt><dd>{model_summary(model)}</dd>"
        f"<dt>evidence</dt><dd>{', '.join(seen) or 'none'}</dd>"
        f"<dt>asked about</dt><dd>{about}</dd></dl>{draw_graph(model)}"
    )


def _marginals(answer: Marginals, rows: str) -> tuple[str, int]:
    """The table with its filters."""
    table, left_out = marginal_table(answer, MOST_ROWS)
    kinds = "".join(
        f"<option>{VERDICTS[code]}</option>" for code in np.unique(answer.columns.verdict).tolist()
    )
    filters = (
        '<div class="filters"><input id="word" type="search" placeholder="variable or value" '
        'aria-label="filter by variable or value"><select id="kind" aria-label="filter by verdict">'
        f'<option value="">every verdict</option>{kinds}</select><span id="shown"></span></div>'
    )
    more = paragraph(f"{left_out:,} {_in_file(rows)}.") if left_out else ""
    return f'{filters}{more}<div class="scroll tall">{table}</div>', left_out


def _beside_exact(answer: Marginals, found: Checks) -> str:
    """Estimates against the exact values, where these are affordable."""
    if found.exact is None:
        return paragraph(safe(found.no_exact, LONG))
    known = compare(answer, found.exact)
    estimated, exact = answer.columns.probability, found.exact.columns.probability
    chosen = np.linspace(0, len(exact) - 1, min(len(exact), MOST_POINTS)).astype(np.int64)
    share = known.covered / max(known.compared, 1)
    said = (
        f"{known.covered:,} of {known.compared:,} intervals hold the exact value ({share:.0%}; "
        f"95 % should). Errors are {known.mean_error:.2g} on average and "
        f"{known.largest_error:.2g} at most. {safe(doing(found.exact), LONG)}."
    )
    titles = ("exact probability", "estimate")
    about = "estimated against exact probabilities"
    drawn = scatter(exact[chosen].tolist(), estimated[chosen].tolist(), titles, about)
    return paragraph(said) + drawn
