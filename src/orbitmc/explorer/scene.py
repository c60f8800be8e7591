"""What of a model is drawn: all of it, a lattice, the neighbourhood of a variable, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.explorer.layout import (
    WIDTH,
    Arrow,
    box_height,
    find_lattice,
    place_apart,
    place_in_layers,
)
from orbitmc.graph.model import Model
from orbitmc.report.svg import find_arrows, find_edges

MOST_BOXES = 60  # more boxes with bars are no picture any more
MOST_CELLS = 64 * 64  # of a lattice
MOST_PAIRS = 2_000_000  # of variables that share a factor: more take long to list

Message = dict[str, Any]


class Drawing:
    """Who is joined to whom in a model, and what of it is drawn.

    `kind` is a network with arrows, a field without, a lattice, or a table where factors are so
    large that a drawing would say nothing.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        seen = [v for v, name in enumerate(model.names) if name not in model.helpers]
        self.names = [model.names[v] for v in seen]
        self.index = {name: place for place, name in enumerate(self.names)}
        self.sizes = [len(model.values[v]) for v in seen]
        self.cells: Floats | None = None
        sizes = (model.graph.scope_of(factor).size for factor in range(model.graph.factors))
        if not seen or sum(size * size for size in sizes) > MOST_PAIRS:
            self.kind, self.lines = "table", list[Arrow]()
            return
        arrows = find_arrows(model, seen)
        self.lines = find_edges(model, seen) if arrows is None else arrows
        self.kind = "field" if arrows is None else "network"
        alike = len({model.values[v] for v in seen}) == 1
        if arrows is None and alike and len(seen) <= MOST_CELLS:
            self.cells = find_lattice(len(seen), self.lines)
            if self.cells is not None:
                self.kind = "lattice"

    def values(self, place: int) -> tuple[str, ...]:
        """The values of a variable that is drawn."""
        return self.model.values[self.model.index[self.names[place]]]

    @property
    def is_whole(self) -> bool:
        """Whether all variables are drawn at once."""
        return self.kind == "lattice" or len(self.names) <= MOST_BOXES

    @cached_property
    def near(self) -> list[list[int]]:
        """Who is joined to each; parents of the same child are, too."""
        near: list[dict[int, None]] = [{} for _ in self.names]
        parents: dict[int, list[int]] = {}
        for a, b in self.lines:
            near[a][b] = near[b][a] = None
            parents.setdefault(b, []).append(a)
        for several in parents.values() if self.kind == "network" else ():
            for a in several:
                near[a] |= dict.fromkeys(b for b in several if b != a)
        return [list(some) for some in near]

    def first_centre(self, evidence: Sequence[str]) -> str:
        """Where to look first: at evidence, else at the variable with most neighbours."""
        known = [name for name in evidence if name in self.index]
        if known:
            return known[-1]
        return self.names[max(range(len(self.names)), key=lambda v: len(self.near[v]))]

    def shown(self, centre: str) -> list[str]:
        """The names that are drawn: all, or the nearest ones to a variable."""
        if self.is_whole:
            return self.names
        return sorted(self.nearest(centre), key=self.index.__getitem__)

    def nearest(self, name: str) -> list[str]:
        """As many names as are drawn at most, from a variable outwards."""
        reached = {self.index[name]: None}
        queue = list(reached)
        for v in queue:
            for u in self.near[v]:
                if u not in reached and len(reached) < MOST_BOXES:
                    reached[u] = None
                    queue.append(u)
        return [self.names[v] for v in queue]

    def scene(self, centre: str) -> Message:
        """Boxes and lines, or the cells of a lattice, as the page draws them."""
        if self.kind == "lattice":
            return self._lattice()
        shown = [self.index[name] for name in self.shown(centre)]
        number = {v: k for k, v in enumerate(shown)}
        lines = [(number[a], number[b]) for a, b in self.lines if a in number and b in number]
        heights = [box_height(self.sizes[v]) for v in shown]
        place = place_in_layers if self.kind == "network" else place_apart
        placed = place(heights, lines)
        hidden = [sum(u not in number for u in self.near[v]) for v in shown]
        return {
            "say": "scene",
            "kind": self.kind,
            "centre": "" if self.is_whole else centre,
            "width": round(placed.width),
            "height": round(placed.height),
            "boxes": [
                {
                    "name": self.names[v],
                    "values": self.values(v),
                    "x": x,
                    "y": y,
                    "w": WIDTH,
                    "h": height,
                    "more": more,
                }
                for v, (x, y), height, more in zip(
                    shown, placed.corners, heights, hidden, strict=True
                )
            ],
            "lines": [
                {"from": a, "to": b, "path": path}
                for (a, b), path in zip(lines, placed.paths, strict=True)
            ],
        }

    @cached_property
    def cell_names(self) -> list[str]:
        """The names of a lattice, row by row."""
        assert self.cells is not None
        return [self.names[v] for v in np.lexsort((self.cells[:, 1], self.cells[:, 0])).tolist()]

    def _lattice(self) -> Message:
        assert self.cells is not None
        rows, columns = (self.cells.max(axis=0) + 1).astype(int).tolist()
        return {
            "say": "scene",
            "kind": "lattice",
            "centre": "",
            "rows": rows,
            "columns": columns,
            "values": self.values(0),
            "cells": self.cell_names,
        }
