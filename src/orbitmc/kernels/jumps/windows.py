"""Reflect or turn a small window of a lattice; accept by the true model.

Exact because each of these turns is its own inverse, and where the window lies and how it is
turned are drawn without looking at the state, so the proposal is symmetric. A symmetry of the whole
lattice moves too much to be accepted when fields differ; a window moves little.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import steps
from orbitmc.kernels.metropolis.proposal import OUTCOMES, ProposalMemory, proposal_memory, settle
from orbitmc.machine.arrays import Bytes, Index, Numbers, sealed
from orbitmc.machine.compiling import implementation, shared
from orbitmc.machine.lanes.random import integer, lanes_of

TURNS = ("left-right", "up-down", "half turn", "diagonal", "antidiagonal")
LEFT_RIGHT, UP_DOWN, HALF_TURN, DIAGONAL, ANTIDIAGONAL = range(5)


class Windows(NamedTuple):
    """Turn a uniformly placed window of `height` rows and `width` columns.

    `site[row, column]` lists the variables of each site; they move together.
    """

    site: NDArray[np.uint32]
    height: int
    width: int
    turns: Bytes

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES

    def memory(self, prepared: PreparedGraph, lanes: int) -> ProposalMemory:
        most = self.height * self.width * self.site.shape[2]
        return proposal_memory(prepared, lanes, most)


@implementation(steps, Windows)
def window_steps(
    prepared: PreparedGraph,
    kernel: Windows,
    memory: ProposalMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    rows, columns, _ = kernel.site.shape
    for _ in range(count):
        turn = kernel.turns[integer(rng, len(kernel.turns))]
        top = integer(rng, rows - kernel.height + 1)
        left = integer(rng, columns - kernel.width + 1)
        size = _propose(kernel, memory, values, turn, top, left)
        settle(prepared, memory, values, outcomes, rng, size)


@shared
def _propose(
    kernel: Windows, memory: ProposalMemory, values: Bytes, turn: Index, top: Index, left: Index
) -> Index:
    """Offer each site the values of its image; gives how many variables may move."""
    for lane in range(lanes_of(memory.scratch)):
        memory.change[lane] = 0.0
    size = 0
    for row in range(kernel.height):
        for column in range(kernel.width):
            there, across = _image(kernel, turn, row, column)
            if there == row and across == column:
                continue
            for layer in range(kernel.site.shape[2]):
                memory.target[size] = kernel.site[top + row, left + column, layer]
                source = kernel.site[top + there, left + across, layer]
                for lane in range(lanes_of(memory.scratch)):
                    memory.proposed[size, lane] = values[source, lane]
                size += 1
    return size


@shared
def _image(kernel: Windows, turn: Index, row: Index, column: Index) -> tuple[Index, Index]:
    """Where a turn takes a site of the window."""
    down, right = kernel.height - 1 - row, kernel.width - 1 - column
    if turn == LEFT_RIGHT:
        return row, right
    if turn == UP_DOWN:
        return down, column
    if turn == HALF_TURN:
        return down, right
    if turn == DIAGONAL:
        return column, row
    return right, down


def windows(
    graph: FactorGraph,
    sites: ArrayLike,
    *,
    size: int | tuple[int, int],
    turns: Sequence[str] | None = None,
) -> Windows:
    """Turn windows of a lattice given as an array [row, column] of variables.

    Sites of several variables are an array [row, column, layer]. `size` is one number for square
    windows, or rows and columns. Unless `turns` are named, all that suit the shape are used.
    """
    height, width = (size, size) if isinstance(size, int) else size
    site = _checked_sites(graph, sites)
    if not (1 <= height <= site.shape[0] and 1 <= width <= site.shape[1] and height * width > 1):
        raise InputError(f"a window of {height} x {width} does not suit a lattice {site.shape[:2]}")
    moving = _turns_of(height, width)
    chosen = moving if turns is None else tuple(turns)
    for turn in chosen:
        if turn not in moving:
            raise InputError(f"a window of {height} x {width} has no turn {turn!r}: {moving}")
    if not chosen:
        raise InputError("there are no turns to choose from")
    numbers = np.array([TURNS.index(turn) for turn in chosen], dtype=np.uint8)
    return Windows(sealed(site.astype(np.uint32)), height, width, sealed(numbers))


def _turns_of(height: int, width: int) -> tuple[str, ...]:
    """The turns that move something in a window of this shape, each once."""
    if height == 1:
        return ("left-right",)
    if width == 1:
        return ("up-down",)
    return TURNS if height == width else TURNS[: HALF_TURN + 1]


def _checked_sites(graph: FactorGraph, sites: ArrayLike) -> NDArray[np.int64]:
    site = np.asarray(sites)
    if site.ndim == 2:
        site = site[:, :, None]
    if site.ndim != 3 or not site.size or not np.issubdtype(site.dtype, np.integer):
        raise InputError("a lattice is an array of variables, by row and column")
    if len(np.unique(site)) != site.size or site.min() < 0 or site.max() >= graph.variables:
        raise InputError(f"a lattice needs distinct variables from 0 to {graph.variables - 1}")
    cardinality = graph.cardinality[site]
    if (cardinality != cardinality[0, 0]).any():
        raise InputError("the sites of a lattice need variables with equal numbers of values")
    return site.astype(np.int64)
