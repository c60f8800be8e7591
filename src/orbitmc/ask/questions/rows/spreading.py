"""Rows of a table, answered by the workers of an executor: the same numbers as here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orbitmc._util.arrays import Numbers
from orbitmc.ask.method.quick import prepared_elimination
from orbitmc.ask.questions.rows.answering import Answered, Answering
from orbitmc.ask.questions.rows.reading import Rows
from orbitmc.ask.settings import Settings
from orbitmc.exact.templates import Batch
from orbitmc.graph.model import Model
from orbitmc.sampling.executor import Sender, pack_shared, sealed_graph, workers_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

PIECES = 4  # of work for each worker: one that is slow holds up less
MOST_WORKERS = 2**10

Part = tuple[Numbers, Numbers]
"""Rows of numbers of values, and where they stand in the table."""


@dataclass(frozen=True)
class SharedRows:
    """What workers need: the model, the table, and how to answer."""

    model: Model
    rows: Rows
    settings: Settings
    names: tuple[str, ...]

    def opened(self) -> Answering:
        """Rows that a worker answers by itself."""
        model = replace(self.model, graph=sealed_graph(self.model.graph))
        return Answering(model, self.rows, self.settings, self.names)


class PartsWork(NamedTuple):
    """Parts of a batch, one after the other."""

    batch: Batch
    parts: Sequence[Part]


def parts_elsewhere(asked: Answering, batch: Batch, parts: Sequence[Part]) -> Iterator[Answered]:
    """Answer parts of a batch on workers; ends early if nobody waits for them."""
    executor = _executor(asked)
    each = -(-len(parts) // (PIECES * workers_of(executor, MOST_WORKERS)))
    small = replace(batch, rows=np.zeros(0, dtype=np.int64))
    work = [PartsWork(small, parts[k : k + each]) for k in range(0, len(parts), max(each, 1))]
    found = Sender(executor).all(
        _answer_parts, pack_shared(_needed(asked)), work, lambda: asked.stopped
    )
    asked.stopped = asked.stopped or found is None
    for answers in found or ():
        yield from answers


def _executor(asked: Answering) -> Executor:
    assert asked.settings.executor is not None
    return asked.settings.executor


def _needed(asked: Answering) -> SharedRows:
    alone = replace(asked.settings, executor=None, threads=1)
    return SharedRows(asked.model, asked.rows, alone, asked.names)


def _answer_parts(asked: Answering, work: PartsWork) -> list[Answered]:
    names = asked.rows.names
    hard, soft = (tuple(names[k] for k in own) for own in (work.batch.hard, work.batch.soft))
    elimination = prepared_elimination(asked.model, hard, soft, asked.settings)
    assert elimination is not None  # where it was prepared first, it was affordable
    return [asked.answered(elimination, work.batch, *part) for part in work.parts]
