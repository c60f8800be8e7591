"""Tables of probabilities as coloured squares."""

from orbitmc.estimate.answers import Joint
from orbitmc.estimate.formatting import probability
from orbitmc.report.display.words import safe, table

MOST_SIDE = 24  # rows or columns of a heat map
MOST_ROWS = 200
LEGIBLE = 0.6  # of the darkest: beyond it, words are light


def joint_table(found: Joint) -> str:
    """A heat map for two names that have few values, and a table for others."""
    sides = found.probability.shape
    if len(sides) == 2 and max(sides) <= MOST_SIDE:
        return _heat_map(found)
    return _plain(found)


def _heat_map(found: Joint) -> str:
    down, across = found.names
    largest = float(found.probability.max(initial=0.0)) or 1.0
    head = "".join(f"<th>{safe(value)}</th>" for value in found.values[1])
    rows = "".join(
        f"<tr><th>{safe(value)}</th>{_cells(found, row, largest)}</tr>"
        for row, value in enumerate(found.values[0])
    )
    return (
        f'<table class="heat"><thead><tr><td>{safe(down)} \\ {safe(across)}</td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _cells(found: Joint, row: int, largest: float) -> str:
    return "".join(_cell(found, row, column, largest) for column in range(len(found.values[1])))


def _cell(found: Joint, i: int, j: int, largest: float) -> str:
    p, error = float(found.probability[i, j]), float(found.standard_error[i, j])
    share = p / largest
    light = " x" if share > LEGIBLE else ""
    said = f"{probability(p)}" + (f" ± {error:.1g}" if error else "")
    return (
        f'<td class="h{light}" style="--s:{share:.2f}" title="{said}">'
        f"{probability(p)}{f'<small>±{error:.1g}</small>' if error else ''}</td>"
    )


def _plain(found: Joint) -> str:
    rows = sorted(found.rows(), key=lambda row: -row[len(found.names)])[:MOST_ROWS]
    wide = len(found.names)
    columns = 2 if found.standard_error.any() else 1
    cells = [
        [*(safe(word) for word in row[:wide]), *map(probability, row[wide : wide + columns])]
        for row in rows
    ]
    left_out = found.probability.size - len(rows)
    more = f"<p>… and {left_out:,} less probable joint values</p>" if left_out else ""
    titles = [*(safe(name) for name in found.names), *("P", "±")[:columns]]
    return table(titles, cells, numbers=(wide, wide + 1)) + more
