"""What the page shows of evidence: bars first, then what takes longer, each within its time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from orbitmc import inference
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import interrupt_when
from orbitmc.errors import ContradictionError, OrbitError
from orbitmc.estimate.verdicts import OBSERVED, VERDICTS
from orbitmc.explorer.history import Findings
from orbitmc.explorer.subject import Subject
from orbitmc.graph.model import Model
from orbitmc.report.html import tone
from orbitmc.report.sentences import describe_method, verdict

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.inference.settings import Settings

Message = dict[str, Any]

FIRST_SECONDS = 0.5  # of sampling before the first bars; each later run takes twice as long
LOOK_SECONDS = 60.0  # of sampling in all, unless settings say otherwise
SIDE_SECONDS = 6.0  # for each of the other questions
SAMPLED_SECONDS = 3.0  # for those that are sampled, within that
RUNS_BEFORE = 3  # the other questions, where bars are sampled
LISTED = 8  # rows of what changed and of what to observe
NOISE = 3.0  # standard errors: a sampled change that is smaller is none
LEAST_BITS = 5e-4
SMALL = 1e-300


@dataclass
class Known:
    """The last answer about some evidence, and the seconds of the run that gave it."""

    marginals: Marginals | None = None
    seconds: float = 0.0

    def tells(self, names: Sequence[str] | None) -> bool:
        """Whether the answer is about these names, or about all."""
        if self.marginals is None or names is None:
            return self.marginals is not None
        index = self.marginals.columns.index
        return all(name in index for name in names)


@dataclass(frozen=True)
class Asked:
    """Evidence, the names on the page, and the variable that one wants to know.

    `earlier` is what was known before the last click; `known` is filled as answers come.
    """

    version: int
    evidence: Findings
    shown: Sequence[str] | None
    target: str
    settings: Settings
    earlier: Known = field(default_factory=Known)
    known: Known = field(default_factory=Known)
    render: Callable[[Marginals], Message] | None = None
    nearest: Callable[[str], list[str]] | None = None


Later = Callable[[Callable[[], Iterator[Message]]], None]
"""Does what may take long beside the bars of the next click, which do not wait for its end."""


def answers(subject: Subject, asked: Asked, later: Later) -> Iterator[Message]:
    """The bars of evidence, again and again where they are sampled; the rest is for `later`."""
    try:
        yield from _answers(subject, asked, later)
    except ContradictionError as error:
        yield {"say": "conflict", "version": asked.version, "words": str(error), "blamed": []}
        later(partial(_blame, subject, asked, str(error)))
    except OrbitError as error:
        yield {"say": "trouble", "version": asked.version, "words": str(error)}


def _answers(subject: Subject, asked: Asked, later: Later) -> Iterator[Message]:
    runs, number, exact = _sharpen(subject, asked), 0, False
    for number, marginals in enumerate(runs, 1):
        yield _bars(asked, marginals)
        yield _changes(asked, marginals)
        exact = marginals.about.is_exact
        if number == RUNS_BEFORE:
            later(partial(_others, subject, asked, exact))
    if number < RUNS_BEFORE:
        later(partial(_others, subject, asked, exact))


def _sharpen(subject: Subject, asked: Asked) -> Iterator[Marginals]:
    """Marginals that are exact, or of longer and longer runs."""
    settings = asked.settings
    most = LOOK_SECONDS if settings.seconds is None else settings.seconds
    seconds = min(FIRST_SECONDS, most)
    target = settings.standard_error or 0.0
    whom, evidence = subject.ask(asked.evidence, asked.shown)
    names = asked.shown if isinstance(whom, Model) else None
    known = asked.known
    if known.tells(names) and known.marginals is not None:
        yield known.marginals
        if known.marginals.about.is_exact:
            return
        seconds, most = 2.0 * known.seconds, most - known.seconds
    while seconds <= most:
        limits = replace(settings, seconds=seconds, standard_error=None)
        marginals = inference.marginals(
            whom, evidence, query=names, settings=limits, progress=False
        )
        if marginals.about.interrupted:
            raise KeyboardInterrupt
        if not asked.evidence:
            subject.know(marginals)
        known.marginals, known.seconds = marginals, seconds
        yield marginals
        error = float(marginals.columns.standard_error.max(initial=0.0))
        if marginals.about.is_exact or (marginals.converged and error <= target):
            return
        most -= seconds
        if seconds >= most:  # the next run would be no longer
            return
        seconds = min(2.0 * seconds, most)


def _bars(asked: Asked, marginals: Marginals) -> Message:
    about = marginals.about
    words = describe_method(marginals) if about.is_exact else verdict(marginals)
    return {
        "say": "answer",
        "version": asked.version,
        "exact": about.is_exact,
        "converged": marginals.converged,
        "method": about.method,
        "seconds": about.seconds,
        "words": words,
        "warnings": list(about.warnings),
        **(rows_of(marginals) if asked.render is None else asked.render(marginals)),
    }


def rows_of(marginals: Marginals) -> Message:
    """Numbers of each name: probabilities with their errors and intervals, and the verdict."""
    columns = marginals.columns
    numbers = [
        [list(map(_finite, each.tolist())) for each in np.split(column, columns.start[1:-1])]
        for column in (columns.probability, columns.standard_error, columns.low, columns.high)
    ]
    words = [VERDICTS[code] for code in columns.verdict.tolist()]
    return {
        "rows": {
            name: {
                "p": p,
                "error": e,
                "low": low,
                "high": high,
                "verdict": word,
                "tone": tone(word),
            }
            for name, p, e, low, high, word in zip(columns.names, *numbers, words, strict=True)
        }
    }


def cells_of(marginals: Marginals, order: Sequence[str]) -> Message:
    """The same for cells of a lattice, in their order, in as few letters as possible."""
    columns = marginals.columns
    places = [columns.index[name] for name in order]
    taken = columns.take(np.array(places, dtype=np.int64))
    size = len(taken.values[0])
    return {
        "cells": np.round(taken.probability.reshape(-1, size), 5).tolist(),
        "errors": np.round(taken.standard_error.reshape(-1, size).max(axis=1), 6).tolist(),
        "tones": [tone(VERDICTS[code]) for code in taken.verdict.tolist()],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _changes(asked: Asked, marginals: Marginals) -> Message:
    """The names whose probabilities changed most since the last click, in bits."""
    before = asked.earlier.marginals
    rows = [] if before is None else largest_changes(before, marginals)
    return {
        "say": "changed",
        "version": asked.version,
        "rows": rows,
        "first": before is None,
        "drawn": asked.shown is not None,
    }


def largest_changes(before: Marginals, after: Marginals) -> list[Message]:
    """Names by the Jensen-Shannon divergence of before and after, in bits, the largest first."""
    then, now = before.columns, after.columns
    both = [name for name in now.index if name in then.index]
    if not both:
        return []
    old = then.take(np.array([then.index[name] for name in both], dtype=np.int64))
    new = now.take(np.array([now.index[name] for name in both], dtype=np.int64))
    if not np.array_equal(old.start, new.start):
        return []
    bits = divergence_bits(old.probability, new.probability, new.start)
    noise = NOISE * np.hypot(old.standard_error, new.standard_error)
    moved = np.abs(new.probability - old.probability) > noise
    real = np.logical_or.reduceat(moved, new.start[:-1]) & (bits >= LEAST_BITS)
    seen = new.verdict == VERDICTS.index(OBSERVED)
    order = np.argsort(-np.where(real & ~seen, bits, -1.0), kind="stable")[:LISTED].tolist()
    return [
        {"name": both[k], "bits": float(bits[k]), **_largest_move(old, new, k)}
        for k in order
        if real[k] and not seen[k]
    ]


def divergence_bits(old: Floats, new: Floats, start: Any) -> Floats:
    """The Jensen-Shannon divergence of each variable's values; a lone value has a rest.

    >>> divergence_bits(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])).tolist()
    [1.0]
    """
    middle = (old + new) / 2
    terms = (_x_log2(old, middle) + _x_log2(new, middle)) / 2
    bits: Floats = np.add.reduceat(terms, start[:-1])
    alone = np.diff(start) == 1
    rest = 1 - middle
    others = (_x_log2(1 - old, rest) + _x_log2(1 - new, rest)) / 2
    bits[alone] += others[start[:-1][alone]]
    return np.maximum(bits, 0.0)


def _x_log2(x: Floats, y: Floats) -> Floats:
    terms: Floats = x * np.log2(np.maximum(x, SMALL) / np.maximum(y, SMALL))
    return terms


def _largest_move(old: Any, new: Any, place: int) -> Message:
    """The value whose probability moved most, from where to where."""
    rows = slice(new.start[place], new.start[place + 1])
    k = int(np.argmax(np.abs(new.probability[rows] - old.probability[rows])))
    return {
        "value": new.values[place][k],
        "from": float(old.probability[rows][k]),
        "to": float(new.probability[rows][k]),
    }


# What takes longer: each question has its own time, and ends when there is newer evidence.


def _others(subject: Subject, asked: Asked, exact: bool) -> Iterator[Message]:
    yield _within(_weight, subject, asked, exact)
    yield _within(_next, subject, asked, exact)
    if exact and asked.shown is not None:
        yield from _everywhere(subject, asked)
    yield _within(_best, subject, asked, exact)


def _within(
    question: Callable[[Subject, Asked, bool], Message],
    subject: Subject,
    asked: Asked,
    exact: bool,
) -> Message:
    """What a question says, or that there was no time for it."""
    end = time.monotonic() + SIDE_SECONDS
    head = {"say": question.__name__.strip("_"), "version": asked.version}
    try:
        with interrupt_when(lambda: time.monotonic() > end):
            return head | question(subject, asked, exact)
    except KeyboardInterrupt:
        return head | {"words": f"not found within {SIDE_SECONDS:.0f} s"}
    except OrbitError as error:
        return head | {"words": str(error)}


def _side_settings(asked: Asked, exact: bool) -> Settings:
    settings = asked.settings
    seconds = SIDE_SECONDS if exact else SAMPLED_SECONDS
    method = settings.method if settings.method in ("auto", "exact") else "auto"
    return inference.Settings(
        method=method, seconds=seconds, seed=settings.seed, memory=settings.memory
    )


def _weight(subject: Subject, asked: Asked, exact: bool) -> Message:
    """The log-probability of the evidence."""
    if not asked.evidence:
        return {"none": True}
    settings = _side_settings(asked, exact)
    names = list(asked.evidence)
    with_evidence, nothing = subject.ask(asked.evidence, names), subject.ask({}, names)
    after = inference.log_z(*with_evidence, settings=settings, progress=False)
    before = inference.log_z(*nothing, settings=settings, progress=False)
    error = math.hypot(after.standard_error, before.standard_error)
    soft = sum(not isinstance(finding, str) for finding in asked.evidence.values())
    return {
        "nats": after.value - before.value,
        "error": error,
        "soft": soft,
        "tone": tone(after.verdict),
    }


def _best(subject: Subject, asked: Asked, exact: bool) -> Message:
    """The most probable state, told of the names on the page, and how probable it is."""
    settings = _side_settings(asked, exact)
    whom, evidence = subject.ask(asked.evidence)
    if isinstance(whom, Model):
        states = inference.best(whom, evidence, settings=settings, progress=False)
    else:
        states = inference.best(whom, settings=settings, progress=False)
    state = states[0]
    known = {*asked.evidence, *subject.fixed}
    open_names = [name for name in state if name not in known]
    names = [name for name in asked.shown or open_names if name in state and name not in known]
    told = {name: state[name] for name in names[:MOST_TOLD]}
    left = len(open_names) - len(told)
    message: Message = {"values": told, "left": left, "verdict": states.verdict()}
    if exact and states.proven:
        log_z = inference.log_z(whom, evidence, settings=settings, progress=False).value
        message["p"] = math.exp(min(0.0, state.log_weight - log_z))
    return message


MOST_TOLD = 400  # names of a best state that the page lists


def _next(subject: Subject, asked: Asked, exact: bool) -> Message:
    """What to observe next to learn most about a variable."""
    target = asked.target or _most_uncertain(asked)
    if not target or target in asked.evidence or target in subject.fixed:
        return {"none": True, "target": target}
    assert asked.known.marginals is not None
    known = {target, *asked.evidence, *subject.fixed}
    near = asked.known.marginals if asked.nearest is None else asked.nearest(target)
    candidates = list(islice((name for name in near if name not in known), MOST_CANDIDATES))
    if not candidates:
        return {"none": True, "target": target}
    whom, evidence = subject.ask(asked.evidence, [target, *candidates])
    found = inference.information(
        whom, target, candidates, evidence, settings=_side_settings(asked, exact), progress=False
    )
    rows = [
        {"name": name, "bits": float(each.value), "tone": tone(each.verdict)}
        for name, each in list(found.items())[:LISTED]
        if each.value >= LEAST_BITS
    ]
    left = len(subject.names) - len(known | set(candidates))
    which = "first" if asked.nearest is None else "nearest"
    few = f"of the {which} {len(candidates)}" if left else ""
    return {"target": target, "rows": rows, "of": few}


MOST_CANDIDATES = 60  # that may be observed next: each needs a joint table with the target


def _most_uncertain(asked: Asked) -> str:
    """The name with the largest entropy."""
    marginals = asked.known.marginals
    assert marginals is not None
    columns = marginals.columns
    p = columns.probability
    terms = -_x_log2(p, np.ones_like(p))
    entropy = np.add.reduceat(terms, columns.start[:-1])
    alone = np.diff(columns.start) == 1
    rest = 1 - p[columns.start[:-1]]
    entropy[alone] -= _x_log2(rest, np.ones_like(rest))[alone]
    return columns.names[int(np.argmax(entropy))] if len(entropy) else ""


def _everywhere(subject: Subject, asked: Asked) -> Iterator[Message]:
    """What changed most in all of a model of which the page shows a part."""
    whole = replace(asked, shown=None, render=None, known=Known())
    end = time.monotonic() + SIDE_SECONDS
    try:
        with interrupt_when(lambda: time.monotonic() > end):
            marginals = next(_sharpen(subject, whole))
    except KeyboardInterrupt:
        return
    if marginals.about.is_exact:  # else what is known of the names on the page is better
        asked.known.marginals = marginals
        yield _changes(whole, marginals)


def _blame(subject: Subject, asked: Asked, words: str) -> Iterator[Message]:
    """Name evidence that is impossible together, and possible if any piece of it is left out."""
    left = dict(asked.evidence)
    end = time.monotonic() + SIDE_SECONDS
    for name in list(asked.evidence):
        if time.monotonic() > end:
            return
        others = {other: finding for other, finding in left.items() if other != name}
        if _is_impossible(subject, others, asked):
            left = others
    yield {"say": "conflict", "version": asked.version, "words": words, "blamed": list(left)}


def _is_impossible(subject: Subject, evidence: Findings, asked: Asked) -> bool:
    names = list(evidence)
    if not names:
        return False
    try:
        whom, seen = subject.ask(evidence, names)
        settings = _side_settings(asked, exact=True)
        return inference.log_z(whom, seen, settings=settings, progress=False).value == -math.inf
    except ContradictionError:
        return True
    except OrbitError:
        return False
