"""What one page shows and does: messages come in, evidence changes, messages go out.

It does not matter how messages travel: a web socket and a notebook send the same ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from orbitmc._util.text import quote
from orbitmc.errors import InputError, OrbitError
from orbitmc.explorer.answers import Asked, Known, answers, cells_of, rows_of
from orbitmc.explorer.history import Finding, Findings, History
from orbitmc.explorer.scene import Drawing
from orbitmc.explorer.subject import ModelSubject, Origin, ProgramSubject, Subject, scale
from orbitmc.explorer.worker import Message, Worker
from orbitmc.graph.model import Model
from orbitmc.report.html import tone
from orbitmc.report.page import page

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.settings import Settings

PAGE_ROWS, MOST_FOUND, STEPS_SENT = 100, 50, 100
NEARLY = 0.005  # a bar that is dragged so near to an end is drawn to it
LONGEST_NAME = 10_000  # letters that are searched for


@dataclass(frozen=True)
class Explored:
    """What is explored, and how: all pages that show it share this."""

    subject: Subject
    drawing: Drawing | None
    evidence: Findings
    settings: Settings
    title: str


def explored(
    model: Model | MarkovLogic, evidence: Findings, settings: Settings, origin: Origin
) -> Explored:
    """Make a model or a program ready to be explored."""
    subject: Subject
    if not isinstance(model, Model):
        subject = ProgramSubject(model, origin)
        return Explored(subject, None, evidence, settings, origin.title)
    subject = ModelSubject(model, origin)
    drawing = Drawing(model)
    return Explored(
        subject, None if drawing.kind == "table" else drawing, evidence, settings, origin.title
    )


class Exploration:
    """One page: its evidence, its history, and the questions that are under way for it."""

    def __init__(self, explored: Explored, send: Callable[[Message], None]) -> None:
        self.explored, self.subject, self.drawing = explored, explored.subject, explored.drawing
        self.send = send
        self.history = History(explored.evidence)
        self.version = 0
        self.target = self.centre = ""
        self.known, self.earlier = Known(), Known()
        self._drag: tuple[str, Findings, Marginals] | None = None
        self._table: tuple[str, int] = ("", 0)
        self._reporting: threading.Thread | None = None
        self._lock = threading.RLock()
        self._bars, self._rest = Worker(send), Worker(send)

    def handle(self, message: object) -> None:
        """Do what a message says; one that makes no sense is answered in words."""
        with self._lock:
            try:
                _act(self, message)
            except OrbitError as error:
                self.send({"say": "trouble", "version": self.version, "words": str(error)})

    def close(self) -> None:
        """End all work for this page."""
        for worker in (self._bars, self._rest):
            worker.close()

    def join(self, seconds: float) -> bool:
        """Wait until all work has ended; gives whether it has."""
        return self._bars.join(seconds) and self._rest.join(seconds)

    # What a page may ask for.

    def begin(self, message: Mapping[str, Any]) -> None:
        """Say what there is; a page that was cut off brings its evidence along."""
        brought = message.get("evidence")
        if isinstance(brought, dict):
            self.history, self.known = History(self._checked(brought)), Known()
        self.send(
            {
                "say": "model",
                "title": self.explored.title,
                "kind": "table" if self.drawing is None else self.drawing.kind,
                "total": len(self.subject.names),
                "whole": self.drawing is None or self.drawing.is_whole,
                "fixed": dict(islice(self.subject.fixed.items(), MOST_FOUND)),
                "fixed_total": len(self.subject.fixed),
            }
        )
        if self.drawing is not None:
            self.centre = self.drawing.first_centre(list(self.history.evidence))
            self.send(self.drawing.scene(self.centre))
        self._ask()

    def observe(self, message: Mapping[str, Any]) -> None:
        """Say that a name has a value; what it has already is taken back."""
        name, value = self._name(message), message.get("value")
        if value not in self.subject.values(name):
            raise InputError(f"{quote(name)} has no value {quote(value)}")
        if self.history.evidence.get(name) == value:
            self.forget(message)
            return
        self._add(f"{name} = {value}", {**self.history.evidence, name: str(value)})

    def forget(self, message: Mapping[str, Any]) -> None:
        """Take evidence back."""
        name = self._name(message)
        left = {other: known for other, known in self.history.evidence.items() if other != name}
        if len(left) < len(self.history.evidence):
            self._add(f"{name} unknown", left)

    def pull(self, message: Mapping[str, Any]) -> None:
        """Bring the probability of a value to where its bar was dragged, by weights."""
        name, value, goal = self._name(message), message.get("value"), message.get("to")
        if value not in self.subject.values(name) or not _is_share(goal):
            raise InputError(f"a bar of {quote(name)} is dragged: expected a value and a number")
        going_on = bool(message.get("more")) and self._drag is not None and self._drag[0] == name
        if not going_on:
            if self.known.marginals is None or name not in self.known.marginals.columns.index:
                return
            self._drag = (name, self.history.evidence, self.known.marginals)
        assert self._drag is not None
        _, evidence, marginals = self._drag
        finding = pulled(
            self._probabilities(marginals, name),
            evidence.get(name),
            self.subject.values(name),
            self.subject.values(name).index(str(value)),
            float(goal),
        )
        after = {**evidence, name: finding}
        words = f"{name}: {_in_words(self.subject.values(name), finding)}"
        if going_on:
            self.history.replace(words, after)
            self.known = Known()
            self._ask()
        else:
            drag = self._drag
            self._add(words, after)
            self._drag = drag

    def clear(self, message: Mapping[str, Any]) -> None:
        """Take all evidence back."""
        if self.history.evidence:
            self._add("nothing known", {})

    def undo(self, message: Mapping[str, Any]) -> None:
        """Go back by a step."""
        self._go(self.history.place - 1)

    def redo(self, message: Mapping[str, Any]) -> None:
        """Go on by a step that was taken back."""
        self._go(self.history.place + 1)

    def go(self, message: Mapping[str, Any]) -> None:
        """Go to a step of the history."""
        place = message.get("to")
        if isinstance(place, int):
            self._go(place)

    def select(self, message: Mapping[str, Any]) -> None:
        """Say which variable one wants to know."""
        self.target = self._name(message)
        self._ask()

    def look(self, message: Mapping[str, Any]) -> None:
        """Draw the neighbourhood of a variable."""
        name = self._name(message)
        if self.drawing is None or name not in self.drawing.index:
            return
        self.target = name
        if not self.drawing.is_whole:
            self.centre = name
            self.send(self.drawing.scene(name))
        self._ask()

    def find(self, message: Mapping[str, Any]) -> None:
        """List names that have some letters; those that begin with them come first."""
        text = str(message.get("text", ""))[:LONGEST_NAME].casefold()
        found = [name for name in self.subject.names if text in name.casefold()]
        found.sort(key=lambda name: not name.casefold().startswith(text))
        self.send({"say": "found", "names": found[:MOST_FOUND], "total": len(found)})

    def rows(self, message: Mapping[str, Any]) -> None:
        """Show another part of a table."""
        begin = message.get("first", 0)
        text = str(message.get("text", ""))[:LONGEST_NAME].casefold()
        self._table = (text, max(0, begin) if isinstance(begin, int) else 0)
        if self.known.marginals is not None:
            self.send({"say": "table", "version": self.version, **self._page(self.known.marginals)})

    def pause(self, message: Mapping[str, Any]) -> None:
        """Nobody looks: end what is under way."""
        for worker in (self._bars, self._rest):
            worker.stop()

    def resume(self, message: Mapping[str, Any]) -> None:
        """Somebody looks again."""
        self._ask()

    def report(self, message: Mapping[str, Any]) -> None:
        """Send the page of a report about the present answer; bars do not wait for it."""
        marginals = self.known.marginals
        if marginals is None or marginals.asked is None:
            raise InputError("there is no answer yet to report")
        if self._reporting is not None and self._reporting.is_alive():
            return
        asked = replace(marginals.asked, command=self.subject.command(self.history.evidence))
        work = partial(self._report, replace(marginals, asked=asked), self.version)
        self._reporting = threading.Thread(target=work, daemon=True)
        self._reporting.start()

    def _report(self, marginals: Marginals, version: int) -> None:
        try:
            self.send({"say": "report", "page": page(marginals)})
        except OrbitError as error:
            self.send({"say": "trouble", "version": version, "words": str(error)})

    # How.

    def _name(self, message: Mapping[str, Any]) -> str:
        name = message.get("name")
        if not isinstance(name, str) or name not in self.subject.names:
            raise InputError(f"there is nothing called {quote(name)}")
        if name in self.subject.fixed:
            raise InputError(f"{quote(name)} is known beforehand: {self.subject.fixed[name]}")
        return name

    def _checked(self, brought: Mapping[Any, Any]) -> Findings:
        """Evidence that a page brought along, as far as it makes sense."""
        evidence: dict[str, Finding] = {}
        for name, finding in brought.items():
            known = isinstance(name, str) and name in self.subject.names
            if not known or name in self.subject.fixed:
                continue
            values = self.subject.values(name)
            if isinstance(finding, str) and finding in values:
                evidence[name] = finding
            elif isinstance(finding, list) and _are_weights(finding, len(values)):
                evidence[name] = scale([float(weight) for weight in finding])
        return evidence

    def _add(self, words: str, evidence: Findings) -> None:
        self.history.add(words, evidence)
        self._moved()

    def _go(self, place: int) -> None:
        if self.history.go(place):
            self._moved()

    def _moved(self) -> None:
        """Other evidence: what was known becomes what was known before."""
        if self.known.marginals is not None:
            self.earlier = self.known
        self._drag, self.known = None, Known()
        self._ask()

    def _ask(self) -> None:
        """Say what is known, and let the answers come."""
        self.version += 1
        self.send(self._state())
        shown: list[str] | None = None
        target = self.target
        if self.drawing is not None and not self.drawing.is_whole:
            target = self.target or self.centre
            if self.drawing.kind == "network":  # a part of a field needs all of it
                shown = self.drawing.shown(self.centre)
        asked = Asked(
            self.version,
            self.history.evidence,
            shown,
            target,
            self.explored.settings,
            self.earlier,
            self.known,
            self._render,
            None if self.drawing is None else self.drawing.nearest,
        )
        self._rest.stop()
        self._bars.start(partial(answers, self.subject, asked, self._rest.start))

    def _state(self) -> Message:
        steps, place = self.history.steps, self.history.place
        first = max(0, min(len(steps) - STEPS_SENT, place - STEPS_SENT // 2))
        evidence = self.history.evidence
        return {
            "say": "state",
            "version": self.version,
            "evidence": {
                name: known if isinstance(known, str) else list(known)
                for name, known in evidence.items()
            },
            "words": {
                name: _in_words(self.subject.values(name), known)
                for name, known in evidence.items()
            },
            "steps": [step.words for step in steps[first : first + STEPS_SENT]],
            "first": first,
            "place": place,
            "total": len(steps),
            "target": self.target,
            "command": self.subject.command(evidence),
            "python": self.subject.python(evidence),
        }

    def _render(self, marginals: Marginals) -> Message:
        """What the page shows of an answer: all rows, cells of a lattice, or a part of a table."""
        if self.drawing is None:
            return {"table": self._page(marginals)}
        if self.drawing.kind == "lattice":
            return {
                **cells_of(marginals, self.drawing.cell_names),
                **self._selected(marginals),
            }
        if not self.drawing.is_whole:
            there = marginals.columns.index
            shown = self.drawing.shown(self.centre)
            return rows_of(marginals.only([name for name in shown if name in there]))
        return rows_of(marginals)

    def _selected(self, marginals: Marginals) -> Message:
        named = [name for name in (self.target,) if name in marginals.columns.index]
        return rows_of(marginals.only(named)) if named else {"rows": {}}

    def _page(self, marginals: Marginals) -> Message:
        text, first = self._table
        columns = marginals.columns
        every = range(len(columns.names))
        places = [k for k in every if text in columns.names[k].casefold()] if text else every
        first = min(first, max(0, (len(places) - 1) // PAGE_ROWS * PAGE_ROWS))
        taken = columns.take(np.array(places[first : first + PAGE_ROWS], dtype=np.int64))
        shown = replace(marginals, columns=taken) if len(taken.names) else None
        return {
            "rows": {} if shown is None else rows_of(shown)["rows"],
            "values": {name: self._values_of(name, taken.values[k])
                       for k, name in enumerate(taken.names)},
            "first": first,
            "size": PAGE_ROWS,
            "found": len(places),
            "total": len(columns.names),
            "verdicts": {word: [count, tone(word)] for word, count in marginals.verdicts().items()},
        }  # fmt: skip

    def _values_of(self, name: str, told: tuple[str, ...]) -> list[str]:
        """The values whose probabilities are told, then those that follow from them."""
        every = self.subject.values(name)
        return [*told, *(value for value in every if value not in told)]

    def _probabilities(self, marginals: Marginals, name: str) -> list[float]:
        """The probability of each value of a name; of an atom only one is told."""
        told = marginals[name]
        p = dict(zip(told.values, told.probability.tolist(), strict=True))
        rest = max(0.0, 1.0 - sum(p.values()))
        return [p.get(value, rest) for value in self.subject.values(name)]


ACTIONS: Mapping[str, Callable[[Exploration, Mapping[str, Any]], None]] = {
    action.__name__: action
    for action in (
        Exploration.begin,
        Exploration.observe,
        Exploration.forget,
        Exploration.pull,
        Exploration.clear,
        Exploration.undo,
        Exploration.redo,
        Exploration.go,
        Exploration.select,
        Exploration.look,
        Exploration.find,
        Exploration.rows,
        Exploration.pause,
        Exploration.resume,
        Exploration.report,
    )
}
"""What a page may ask for, by the word in `do`."""


def _act(exploration: Exploration, message: object) -> None:
    action = message.get("do") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(action, str) or action not in ACTIONS:
        raise InputError("the page asked for something that does not exist: load it again")
    ACTIONS[action](exploration, message)


def pulled(
    p: list[float], before: Finding | None, values: tuple[str, ...], value: int, goal: float
) -> Finding:
    """Weights that bring the probability of a value to a goal; at an end, what that decides.

    >>> pulled([0.5, 0.5], None, ("off", "on"), 1, 0.75)[0]
    0.3333333333333333
    >>> pulled([0.5, 0.5], None, ("off", "on"), 1, 1.0)
    'on'
    """
    if goal >= 1.0 - NEARLY:
        return values[value]
    now = p[value]
    if not 0.0 < now < 1.0:
        raise InputError(
            "its probability is 0 or 1: take evidence back before a bar can be dragged"
        )
    known = (1.0,) * len(values) if before is None or isinstance(before, str) else before
    odds = 0.0 if goal <= NEARLY else goal / (1.0 - goal) * (1.0 - now) / now
    return scale([w * odds if k == value else w for k, w in enumerate(known)])


def _in_words(values: tuple[str, ...], finding: Finding) -> str:
    """A value, or the weights of the values.

    >>> _in_words(("off", "on"), (0.25, 1.0))
    'off 0.25, on 1'
    """
    if isinstance(finding, str):
        return finding
    return ", ".join(f"{v} {w:.3g}" for v, w in zip(values, finding, strict=True))


def _is_share(goal: object) -> TypeGuard[float]:
    return isinstance(goal, int | float) and 0 <= goal <= 1


def _are_weights(finding: list[Any], count: int) -> bool:
    numbers = all(isinstance(w, int | float) and 0 <= w <= 1e300 for w in finding)
    return len(finding) == count and numbers and any(finding)
