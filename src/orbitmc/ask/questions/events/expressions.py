"""Events: conditions on names, joined by and, or, and if and only if."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orbitmc.ask.questions.subject import Named

MOST_DEPTH = 100  # brackets and negations within each other
Kind = Literal["and", "or", "iff"]
OPPOSITE: Mapping[Kind, Kind] = {"and": "or", "or": "and"}


@dataclass(frozen=True)
class Settled:
    """An event that is certain, or impossible."""

    holds: bool


@dataclass(frozen=True)
class Condition:
    """Which joint values of one or two names, none of them known, make an event true."""

    named: tuple[Named, ...]
    holds: NDArray[np.bool_]


@dataclass(frozen=True)
class Joined:
    """Several events; `iff` joins two."""

    kind: Kind
    parts: tuple[Event, ...]


Event = Settled | Condition | Joined


def condition(named: Sequence[Named], holds: NDArray[np.bool_]) -> Event:
    """A condition on names; what is known of them is settled."""
    known = tuple(slice(None) if one.known is None else one.known for one in named)
    left, open_ones = holds[known], tuple(one for one in named if one.known is None)
    if len(open_ones) == 2 and open_ones[0].name == open_ones[1].name:
        left, open_ones = left.diagonal(), open_ones[:1]
    if left.all() or not left.any():
        return Settled(bool(left.all()))
    return Condition(open_ones, left)


def combine_events(kind: Literal["and", "or"], events: Sequence[Event]) -> Event:
    """All of some events, or at least one; what is settled is left out."""
    decisive = kind == "or"
    parts: list[Event] = []
    for event in events:
        if isinstance(event, Settled):
            if event.holds == decisive:
                return event
        elif isinstance(event, Joined) and event.kind == kind:
            parts += event.parts
        else:
            parts.append(event)
    if not parts:
        return Settled(not decisive)
    return parts[0] if len(parts) == 1 else Joined(kind, tuple(parts))


def equivalent(left: Event, right: Event) -> Event:
    """Both of two events or none."""
    if isinstance(left, Settled):
        return right if left.holds else negated(right)
    if isinstance(right, Settled):
        return left if right.holds else negated(left)
    return Joined("iff", (left, right))


def negated(event: Event) -> Event:
    """The opposite event."""
    match event:
        case Settled(holds):
            return Settled(not holds)
        case Condition(named, holds):
            return Condition(named, ~holds)
        case Joined("iff", (left, right)):
            return Joined("iff", (negated(left), right))
        case Joined(kind, parts):
            return Joined(OPPOSITE[kind], tuple(map(negated, parts)))
    raise TypeError(event)


def names_in(event: Event) -> Iterator[Named]:
    """Every name in an event, repetitions included."""
    if isinstance(event, Condition):
        yield from event.named
    elif isinstance(event, Joined):
        for part in event.parts:
            yield from names_in(part)


def truth(event: Event, values: Callable[[Named], Any]) -> Any:
    """Whether an event holds, in one state or in many; `values` are those of a name in them."""
    match event:
        case Settled(holds):
            return np.bool_(holds)
        case Condition(named, holds):
            return holds[tuple(values(one) for one in named)]
        case Joined("iff", (left, right)):
            return truth(left, values) == truth(right, values)
        case Joined(kind, parts):
            found = truth(parts[0], values)
            for part in parts[1:]:
                other = truth(part, values)
                found = found & other if kind == "and" else found | other
            return found
    raise TypeError(event)


def changed(event: Event, renew: Callable[[Named], Named]) -> Event:
    """The same event about other names."""
    match event:
        case Condition(named, holds):
            return condition([renew(one) for one in named], holds)
        case Joined("iff", (left, right)):
            return equivalent(changed(left, renew), changed(right, renew))
        case Joined("and" | "or" as kind, parts):
            return combine_events(kind, [changed(part, renew) for part in parts])
    return event


def masks_of(event: Event) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each variable may have, if that is all an event says."""
    if isinstance(event, Condition) and len(event.named) == 1:
        one = event.named[0]
        return {one.variable: event.holds[one.meaning]}
    if not isinstance(event, Joined) or event.kind != "and":
        return None
    found: dict[int, NDArray[np.bool_]] = {}
    for part in event.parts:
        own = masks_of(part)
        if own is None:
            return None
        for variable, mask in own.items():
            found[variable] = found.get(variable, True) & mask
    return found
