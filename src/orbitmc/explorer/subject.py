"""What is explored: a model by its variables, or a program by its atoms.

Both say whom to ask, with what evidence; all questions are the ordinary ones.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from orbitmc.errors import InputError
from orbitmc.estimate.verdicts import CODE, OBSERVED
from orbitmc.explorer.history import Finding, Findings
from orbitmc.graph.evidence import Evidence, resolve
from orbitmc.graph.model import Model
from orbitmc.inference.cache import needed_part

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.inference.program import MarkovLogic

TRUTHS = ("true", "false")
SURE = 1e-6  # a weight of an atom that is nearer to 0 or 1 would be no finite number


@dataclass(frozen=True)
class Origin:
    """How to ask again: words of a command before the evidence, and lines of Python.

    Without words, there is no command: the model is an object of Python only.
    """

    words: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    title: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)

    def command(self, pieces: Sequence[str], options: Sequence[str] = ()) -> str:
        """What to type for the same answer."""
        if not self.words:
            return ""
        words = [*self.words, *(word for piece in pieces for word in ("-e", piece)), *options]
        return " ".join(map(shlex.quote, words))

    def code(self, question: str) -> str:
        """Lines of Python for the same answer; settings are in the question already."""
        return "\n".join([*self.python, f"answer = {question}"])

    def keywords(self) -> str:
        """Settings as the last arguments of a question."""
        return "".join(f", {name}={value!r}" for name, value in self.settings.items())


class Subject(Protocol):
    """Names that have values, and whom to ask about them."""

    kind: str
    names: Collection[str]
    fixed: Mapping[str, str]

    def know(self, first: Marginals) -> None:
        """Learn from an answer without evidence what is asked about, where that says it."""

    def values(self, name: str) -> tuple[str, ...]:
        """What a name may be, in the order in which it is shown."""

    def ask(
        self, evidence: Findings, names: Sequence[str] | None = None
    ) -> tuple[Model | MarkovLogic, Evidence | None]:
        """Whom to ask about some names, or about all, and the evidence to give along."""

    def command(self, evidence: Findings) -> str:
        """The command that asks the same; empty if there is none."""

    def python(self, evidence: Findings) -> str:
        """The lines of Python that ask the same."""


class ModelSubject:
    """A model with its variables; those that it was given with evidence are fixed."""

    kind = "model"

    def __init__(self, model: Model, origin: Origin) -> None:
        model.require_all_factors()
        self.model, self.origin = model, origin
        self.names: Collection[str] = model.order
        self.fixed: Mapping[str, str] = {
            name: seen.values[seen.value] for name, seen in model.observed.items()
        }
        self._domains = model.domains()

    def know(self, first: Marginals) -> None:
        """A model says itself what can be asked about."""

    def values(self, name: str) -> tuple[str, ...]:
        return self._domains[name]

    def ask(
        self, evidence: Findings, names: Sequence[str] | None = None
    ) -> tuple[Model, Evidence | None]:
        seen: Evidence = dict(evidence)
        if names is None or self.model.precision is not None:  # a part has no errors of tables
            return self.model, seen
        return needed_part(self.model, [*names, *evidence]), seen

    def command(self, evidence: Findings) -> str:
        pieces = [self._piece(name, finding) for name, finding in evidence.items()]
        return self.origin.command(pieces)

    def _piece(self, name: str, finding: Finding) -> str:
        """Evidence as it is typed; weights have braces."""
        if isinstance(finding, str):
            return f"{name}={finding}"
        weights = zip(self.values(name), finding, strict=True)
        return f"{name}={{{', '.join(f'{json.dumps(v)}: {w:.6g}' for v, w in weights)}}}"

    def python(self, evidence: Findings) -> str:
        seen = {name: _plain(finding) for name, finding in evidence.items()}
        given = f", {seen!r}" if seen else ""
        return self.origin.code(f"om.marginals(model{given}{self.origin.keywords()})")


def _plain(finding: Finding) -> str | list[float]:
    if isinstance(finding, str):
        return finding
    return [float(f"{weight:.6g}") for weight in finding]


class ProgramSubject:
    """A program with the atoms that are asked about; they are true or false."""

    kind = "program"

    def __init__(self, program: MarkovLogic, origin: Origin) -> None:
        if program.conjunctions:
            raise InputError("conjunctions cannot be explored: ask about their atoms")
        self.program, self.origin = program, origin
        self.names: Collection[str] = ()
        self.fixed: Mapping[str, str] = {}
        self._last: tuple[tuple[str, ...], MarkovLogic] = ((), program)
        self._log_odds = program.source.atoms.name_soft()

    def know(self, first: Marginals) -> None:
        """Take names, and what is known of them, from an answer without evidence."""
        if self.names:
            return
        columns = first.columns
        known = np.flatnonzero(columns.verdict == CODE[OBSERVED]).tolist()
        holds = columns.probability[columns.start[:-1]] > 0.5
        self.fixed = {columns.names[k]: TRUTHS[0] if holds[k] else TRUTHS[1] for k in known}
        self.names = columns.index.keys()

    def values(self, name: str) -> tuple[str, ...]:
        return TRUTHS

    def ask(
        self, evidence: Findings, names: Sequence[str] | None = None
    ) -> tuple[MarkovLogic, Evidence | None]:
        lines = self._lines(evidence)
        last = self._last  # another thread may ask about other evidence
        if last[0] != lines:
            last = self._last = (lines, self.program.knowing(*lines))
        return last[1], None

    def command(self, evidence: Findings) -> str:
        opened = ",".join(dict.fromkeys(name.partition("(")[0] for name in evidence))
        options = ["--opened", opened] if opened and not self.program.named else []
        return self.origin.command(self._lines(evidence), options)

    def python(self, evidence: Findings) -> str:
        lines = ", ".join(map(repr, self._lines(evidence)))
        whom = f"program.knowing({lines})" if lines else "program"
        return self.origin.code(f"{whom}.marginals({self.origin.keywords().removeprefix(', ')})")

    def _lines(self, evidence: Findings) -> tuple[str, ...]:
        """Lines of a database, with soft evidence that they take the place of."""
        return tuple(
            _line(name, finding, self._log_odds.get(name, 0.0))
            for name, finding in evidence.items()
        )


def _line(name: str, finding: Finding, before: float = 0.0) -> str:
    """Evidence on an atom as a line of a database; weights become a probability.

    The log-odds of soft evidence from `before` count, too.

    >>> _line("Smokes(Anna)", "false"), _line("Smokes(Bob)", (1.0, 0.25))
    ('!Smokes(Anna)', '0.8 Smokes(Bob)')
    """
    if isinstance(finding, str):
        return name if finding == TRUTHS[0] else f"!{name}"
    true, false = (max(weight / sum(finding), SURE) for weight in finding)
    share = 1.0 / (1.0 + false / true * math.exp(-before))
    return f"{min(max(share, SURE), 1 - SURE):.6g} {name}"


def findings_of(model: Model, evidence: Evidence | None) -> Findings:
    """Evidence of any form as values and weights; of weights the largest becomes 1.

    >>> import orbitmc as om
    >>> findings_of(om.read("examples/sprinkler.bif"), {"grass": 1, "rain": [0, 0.2, 0.4]})
    {'grass': 'wet', 'rain': (0.0, 0.5, 1.0)}
    """
    domains = model.domains()
    found = resolve({} if evidence is None else dict(evidence.items()), domains)
    model.require_consistent(found)
    free = [name for name in (*found.hard, *found.soft) if name not in model.observed]
    return {
        name: domains[name][found.hard[name]] if name in found.hard else scale(found.soft[name])
        for name in free
    }


def scale(weights: Sequence[float]) -> tuple[float, ...]:
    """Weights of which the largest is 1.

    >>> scale([0.1, 0.2])
    (0.5, 1.0)
    """
    largest = max(weights)
    return tuple(weight / largest for weight in weights)
