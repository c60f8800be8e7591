"""Groups of symmetries as HTML: order, generators, orbits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orbitmc.groups.cycles import cycle_text
from orbitmc.groups.permutation_groups import orbits, order_in_words
from orbitmc.report.display.graph_drawing import draw_graph
from orbitmc.report.display.words import counted, paragraph, safe, table

if TYPE_CHECKING:
    from orbitmc.inference.symmetries import Approximation, SymmetryOverview
    from orbitmc.symmetry._automorphisms import SymmetryReport

MOST_LINES = 12
MAX_GENERATORS_SHOWN = 240  # letters of a generator or an orbit


def symmetries_of_graph(found: SymmetryReport) -> str:
    """A group whose variables have numbers only."""
    names = [str(place) for place in range(found.group.degree)]
    texts = [cycle_text(element, names) for element in found.group.generators()]
    said = [", ".join(names[p] for p in orbit) for orbit in found.orbits]
    return head(found.order, len(texts), found.complete, found.how) + lists(texts, said)


def symmetries_of_model(found: SymmetryOverview) -> str:
    """A group in the names of the variables, orbits in colours, and approximations."""
    every = [[int(point) for point in orbit] for orbit in orbits(found.group)]
    said = [", ".join(found.model.names[point] for point in orbit) for orbit in every]
    colour = {p: 1 + place for place, orbit in enumerate(every) for p in orbit}
    drawing = draw_graph(found.model, colour)
    words = head(found.order, len(found.cycle_texts), found.complete, found.how)
    return words + drawing + lists(found.cycle_texts, said) + _approximations(found.approximations)


def head(order: int | None, generators: int, complete: bool, how: str) -> str:
    """The size of a group in a sentence."""
    size = order_in_words(order)
    rest = "" if complete else "; there may be more"
    told = safe(how, MAX_GENERATORS_SHOWN)
    return paragraph(f"<b>{size} symmetries</b>, {counted(generators, 'generator')} ({told}{rest})")


def lists(generators: Sequence[str], orbits: Sequence[str]) -> str:
    """The first generators and orbits."""
    return _list("generator", generators) + _list("orbit", orbits)


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{safe(line, MAX_GENERATORS_SHOWN)}</li>" for line in lines[:MOST_LINES])
    left_out = len(lines) - MOST_LINES
    more = f"<li>… and {left_out:,} more</li>" if left_out > 0 else ""
    return f"<p>{counted(len(lines), title)}</p><ul>{items}{more}</ul>"


def _approximations(found: Sequence[Approximation]) -> str:
    if not found:
        return ""
    rows = [
        [safe(one.name), f"{one.usual.exchanged.blocks:,}", _share(one.usual.acceptance)]
        for one in found
    ]
    return table(("approximation", "blocks", "jumps accepted"), rows, numbers=(1, 2))


def _share(acceptance: float | None) -> str:
    return "" if acceptance is None else f"{acceptance:.0%}"
