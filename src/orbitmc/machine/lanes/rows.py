"""Rows of a pack, one byte per lane, handled as whole vectors.

A row is `values[variable]` or `proposed[place]`. Every function is plain Python for the
interpreter and vector code for the compiler, which cannot know that two arrays never overlap and
so would check it for every row. `width` has one entry for each 32 lanes.
"""

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from orbitmc.machine.arrays import Bytes, Index
from orbitmc.machine.compiling import INNER
from orbitmc.machine.lanes.row_vectors import (
    add_counted_rise_vectors,
    add_curved_rise_vectors,
    add_rise_vectors,
    choose_by_coins_vectors,
    copy_row_vectors,
    count_both_vectors,
    exchange_rows_vectors,
    keep_accepted_vectors,
    rows_differ_vectors,
)


def rows_differ(
    values: Bytes, variable: Index, proposed: Bytes, place: Index, width: tuple[int, ...]
) -> bool:
    """Whether any lane would change."""
    return bool((values[variable] != proposed[place]).any())


def exchange_rows(
    values: Bytes, variable: Index, proposed: Bytes, place: Index, width: tuple[int, ...]
) -> None:
    """Exchange present and proposed values."""
    values[variable], proposed[place] = proposed[place].copy(), values[variable].copy()


def keep_accepted(
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    accepted: Bytes,
    changed: Bytes,
    width: tuple[int, ...],
) -> int:
    """Put the old value, kept in `proposed`, back where it is not accepted; count the changes.

    `changed` gathers in which lanes the two differ.
    """
    differs = values[variable] != proposed[place]
    changed |= differs
    values[variable] = np.where(accepted, values[variable], proposed[place])
    return int((differs & (accepted != 0)).sum())


def choose_by_coins(
    proposed: Bytes,
    place: Index,
    values: Bytes,
    tails: Index,
    heads: Index,
    coins: Bytes,
    width: tuple[int, ...],
) -> None:
    """Propose the values of `heads` where the coin is 1, those of `tails` where it is 0."""
    proposed[place] = np.where(coins, values[heads], values[tails])


def copy_row(
    proposed: Bytes, place: Index, values: Bytes, variable: Index, width: tuple[int, ...]
) -> None:
    """Propose the values that a variable has."""
    proposed[place] = values[variable]


def count_both(one: Bytes, other: Bytes, width: tuple[int, ...]) -> int:
    """In how many lanes neither of two rows is 0."""
    return int(((one != 0) & (other != 0)).sum())


def add_rise(
    gain: NDArray[Any],
    field: NDArray[Any],
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: tuple[int, ...],
) -> None:
    """Add the field where a bit rises, subtract it where it falls."""
    rise = proposed[place].astype(np.int8) - values[variable].astype(np.int8)
    gain += rise * field


def add_curved_rise(
    gain: NDArray[Any],
    field: NDArray[Any],
    bend: NDArray[Any],
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: tuple[int, ...],
) -> None:
    """Add how much v * field + v * v * bend grows from the present to the proposed value.

    The v of a value is counted from the middle one: -1, 0, 1.
    """
    new, old = proposed[place].astype(np.int8) - 1, values[variable].astype(np.int8) - 1
    gain += (new - old) * (field + (new + old) * bend)


def add_counted_rise(
    gain: NDArray[Any],
    counted: Any,
    low: Any,
    step: Any,
    values: Bytes,
    variable: Index,
    proposed: Bytes,
    place: Index,
    width: tuple[int, ...],
) -> None:
    """Do what `add_rise` does with a field of `low`, and `step` for each neighbour that agrees.

    `counted` are the neighbours, whether each counts when it is 0, and where their list begins
    and ends.
    """
    neighbour, role, first, last = counted
    pattern = np.zeros(values.shape[1], dtype=np.int64)
    for edge in range(first, last):
        pattern += values[neighbour[edge]] ^ np.uint8(role[edge])
    add_rise(gain, low + step * pattern, values, variable, proposed, place, width)


@overload(rows_differ, strict=False, jit_options=INNER)
def _compiled_rows_differ(values: Any, variable: Any, proposed: Any, place: Any, width: Any) -> Any:
    return lambda values, variable, proposed, place, width: rows_differ_vectors(
        values, variable, proposed, place, width
    )


@overload(exchange_rows, strict=False, jit_options=INNER)
def _compiled_exchange_rows(
    values: Any, variable: Any, proposed: Any, place: Any, width: Any
) -> Any:
    return lambda values, variable, proposed, place, width: exchange_rows_vectors(
        values, variable, proposed, place, width
    )


@overload(keep_accepted, strict=False, jit_options=INNER)
def _compiled_keep_accepted(
    values: Any, variable: Any, proposed: Any, place: Any, accepted: Any, changed: Any, width: Any
) -> Any:
    return lambda values, variable, proposed, place, accepted, changed, width: (
        keep_accepted_vectors(values, variable, proposed, place, accepted, changed, width)
    )


@overload(choose_by_coins, strict=False, jit_options=INNER)
def _compiled_choose_by_coins(
    proposed: Any, place: Any, values: Any, tails: Any, heads: Any, coins: Any, width: Any
) -> Any:
    return lambda proposed, place, values, tails, heads, coins, width: choose_by_coins_vectors(
        proposed, place, values, tails, heads, coins, width
    )


@overload(copy_row, strict=False, jit_options=INNER)
def _compiled_copy_row(proposed: Any, place: Any, values: Any, variable: Any, width: Any) -> Any:
    return lambda proposed, place, values, variable, width: copy_row_vectors(
        proposed, place, values, variable, width
    )


@overload(count_both, strict=False, jit_options=INNER)
def _compiled_count_both(one: Any, other: Any, width: Any) -> Any:
    return lambda one, other, width: count_both_vectors(one, other, width)


@overload(add_rise, strict=False, jit_options=INNER)
def _compiled_add_rise(
    gain: Any, field: Any, values: Any, variable: Any, proposed: Any, place: Any, width: Any
) -> Any:
    return lambda gain, field, values, variable, proposed, place, width: add_rise_vectors(
        gain, field, values, variable, proposed, place, width
    )


@overload(add_curved_rise, strict=False, jit_options=INNER)
def _compiled_add_curved_rise(
    gain: Any,
    field: Any,
    bend: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    return lambda gain, field, bend, values, variable, proposed, place, width: (
        add_curved_rise_vectors(gain, field, bend, values, variable, proposed, place, width)
    )


@overload(add_counted_rise, strict=False, jit_options=INNER)
def _compiled_add_counted_rise(
    gain: Any,
    counted: Any,
    low: Any,
    step: Any,
    values: Any,
    variable: Any,
    proposed: Any,
    place: Any,
    width: Any,
) -> Any:
    def vectors(gain, counted, low, step, values, variable, proposed, place, width):
        neighbour, role, first, last = counted
        add_counted_rise_vectors(
            gain,
            neighbour,
            role,
            first,
            last,
            low,
            step,
            values,
            variable,
            proposed,
            place,
            width,
        )

    return vectors
