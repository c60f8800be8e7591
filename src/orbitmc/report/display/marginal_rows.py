"""Marginals as rows of a table, with bars and whiskers."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orbitmc.estimate.formatting import (
    CERTAIN,
    SAMPLED,
    count,
    headings,
    probability,
    r_hat_in_words,
)
from orbitmc.estimate.marginals import Columns, Marginals
from orbitmc.estimate.verdicts import BELIEVED, FORCED, OBSERVED, VERDICTS
from orbitmc.report.display.charts import bar
from orbitmc.report.display.words import safe, tone

LAST = (OBSERVED, FORCED)  # what is known anyway comes last
NUMBERS = ("P", "±", "95 % interval", "ESS", "R-hat")


def marginal_table(answer: Marginals, most: int) -> tuple[str, int]:
    """A table of at most so many rows, doubted variables first; and how many are left out."""
    columns, short = answer.columns, headings(answer) == CERTAIN
    variable, value, *others = CERTAIN if short else SAMPLED
    titles = [variable, value, "", *others]
    head = "".join(
        f'<th class="n">{word}</th>' if word in NUMBERS else f"<th>{word}</th>" for word in titles
    )
    rows: list[str] = []
    shown = 0
    for place in by_concern(columns):
        size = int(columns.start[place + 1] - columns.start[place])
        if shown + size > most and shown:
            break
        rows.extend(_rows(columns, int(place), short, most))
        shown += min(size, most)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table class="marginals">{body}</table>', len(columns.probability) - shown


def by_concern(columns: Columns) -> NDArray[np.int64]:
    """Places of variables: first those not to be believed, last those that were known."""
    rank = np.array([_concern(word) for word in VERDICTS])
    return np.argsort(rank[columns.verdict], kind="stable")


def _concern(verdict: str) -> int:
    return 0 if verdict not in BELIEVED else 2 if verdict in LAST else 1


def _rows(columns: Columns, place: int, short: bool, most: int) -> Iterator[str]:
    """The values of one variable, the most probable first."""
    word = VERDICTS[columns.verdict[place]]
    kind, name = tone(word), safe(columns.names[place])
    own = np.arange(columns.start[place], columns.start[place + 1])
    values = columns.values[place]
    order = np.argsort(-columns.probability[own], kind="stable")[:most]
    for again, k in enumerate(order.tolist()):
        at = int(own[k])
        p, low, high = (
            float(column[at]) for column in (columns.probability, columns.low, columns.high)
        )
        numbers = "" if short else _errors(columns, at)
        yield (
            f'<tr class="{kind}"><td class="{"r" if again else "v"}">{name}</td>'
            f"<td>{safe(values[k])}</td><td>{bar(p, low, high, kind)}</td>"
            f'<td class="n">{probability(p)}</td>{numbers}<td class="k">{word}</td></tr>'
        )


def _errors(columns: Columns, at: int) -> str:
    """Cells of error, interval, ESS and R-hat; empty where there is no error."""
    if not math.isfinite(columns.ess[at]):
        return "<td></td>" * 4
    low, high = float(columns.low[at]), float(columns.high[at])
    cells = (
        probability(float(columns.standard_error[at])),
        f"{probability(low)}…{probability(high)}",
        count(float(columns.ess[at])),
        r_hat_in_words(float(columns.r_hat[at])),
    )
    return "".join(f'<td class="n">{cell}</td>' for cell in cells)
