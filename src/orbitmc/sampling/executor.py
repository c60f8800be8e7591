"""Send work to an executor, and try again where a worker is lost.

What all pieces of the work need is sent once to each worker, which keeps it. A piece depends on
nothing but what it is sent, so it may be done anywhere, and more than once.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.interrupts import forward_interrupt
from orbitmc.errors import InputError, OrbitError
from orbitmc.graph.factor_graph import FactorGraph

# What a worker does: open what it was sent, once, and work on pieces.

MOST_OPENED = 4  # of which a worker keeps what it was sent; one question needs one or two


class Piece(NamedTuple):
    """A piece of work: the name of what it needs, its content unless a worker should have it."""

    name: str
    content: bytes | None
    function: Callable[[Any, Any], Any]
    argument: Any


class Reply(NamedTuple):
    """What came of a piece; if what it needs is not `known`, nothing was done."""

    known: bool
    result: Any = None


_opened: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def work(piece: Piece) -> Reply:
    """Do a piece of work."""
    with _lock:  # one thread of a worker opens, the others wait for it
        if piece.name not in _opened:
            if piece.content is None:
                return Reply(False)
            _opened[piece.name] = pickle.loads(piece.content).open()
        _opened.move_to_end(piece.name)
        needed = _opened[piece.name]
        while len(_opened) > MOST_OPENED:
            _opened.popitem(last=False)
    return Reply(True, piece.function(needed, piece.argument))


Done = TypeVar("Done")

TRIES = 4  # of a piece of work, before its error is believed
LOOK = 0.2  # seconds between two looks at whether somebody wants an early end
PATIENCE = 10.0  # seconds that an early end waits for pieces which are under way
GONE = "the executor has lost its workers; the rest of the work is done in this process"


class Shared(NamedTuple):
    """What all pieces of some work need, as bytes, and their name."""

    name: str
    content: bytes


class Unpackable(Protocol):
    """What can be shared: a worker opens it once."""

    def open(self) -> Any:
        """What pieces of work are done with."""


def pack_shared(value: Unpackable) -> Shared:
    """Pack what all pieces need."""
    try:
        content = pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"this cannot be sent to other processes ({error}); what is used there must be "
            "defined in a module that workers can import"
        ) from None
    return Shared(hashlib.sha256(content).hexdigest(), content)


def workers_of(executor: Executor, most: int) -> int:
    """How many pieces of work an executor does at the same time, if it says so; or `most`."""
    client: Any = getattr(executor, "_client", None)
    counted = getattr(executor, "_max_workers", None)
    if hasattr(client, "nthreads"):
        counted = sum(client.nthreads().values())
    return min(most, counted) if isinstance(counted, int) and counted > 0 else most


class Sender:
    """Has pieces of work done by an executor; when it has none left, by this process."""

    def __init__(self, executor: Executor) -> None:
        self.executor: Executor | None = executor
        self.sent: set[str] = set()

    def all(
        self,
        function: Callable[[Any, Any], Done],
        needed: Shared,
        pieces: Sequence[Any],
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Done] | None:
        """What `function(opened, piece)` gives for each piece; None after an early end."""
        batch = _Batch(self, function, needed, pieces)
        batch.submit(range(len(pieces)), whole=needed.name not in self.sent)
        self.sent.add(needed.name)
        asked_at = None
        while batch.futures:
            try:
                wait(batch.futures.values(), timeout=LOOK)
                batch.gather()
            except KeyboardInterrupt as stop:
                forward_interrupt(stop)
                batch.abandon()
                return None
            if stopped():
                asked_at = time.perf_counter() if asked_at is None else asked_at
                if time.perf_counter() - asked_at > PATIENCE:
                    batch.abandon()
                    return None
        return batch.results

    def lost(self) -> None:
        """Go on without an executor."""
        if self.executor is not None:
            warnings.warn(GONE, stacklevel=2)
        self.executor = None


class _Batch:
    """Pieces that are under way, and what came back."""

    def __init__(
        self, sender: Sender, function: Callable[[Any, Any], Any], needed: Shared, pieces: Any
    ) -> None:
        self.sender, self.function, self.needed, self.pieces = sender, function, needed, pieces
        self.results: list[Any] = [None] * len(pieces)
        self.tries = [0] * len(pieces)
        self.futures: dict[int, Future[Reply]] = {}

    def submit(self, numbers: Sequence[int] | range, *, whole: bool) -> None:
        """Send pieces, and all that they need if a worker lacks it."""
        content = self.needed.content if whole else None
        for number in numbers:
            piece = Piece(self.needed.name, content, self.function, self.pieces[number])
            self.futures[number] = self._submit(piece)

    def _submit(self, piece: Piece) -> Future[Reply]:
        executor = self.sender.executor
        if executor is not None:
            try:
                with warnings.catch_warnings():  # packs are large, and go their way only once
                    warnings.filterwarnings("ignore", message="Sending large graph")
                    return executor.submit(work, piece)
            except (BrokenExecutor, RuntimeError):
                self.sender.lost()
        with ThreadPoolExecutor(1) as here:
            return here.submit(work, piece._replace(content=self.needed.content))

    def gather(self) -> None:
        """Take what is there, and send again what was lost."""
        for number in [number for number, sent in self.futures.items() if sent.done()]:
            future = self.futures.pop(number)
            try:
                reply = future.result()
            except OrbitError:
                self.abandon()
                raise
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                self._again(number, error)
            else:
                if reply.known:
                    self.results[number] = reply.result
                else:
                    self.submit([number], whole=True)

    def _again(self, number: int, error: BaseException) -> None:
        self.tries[number] += 1
        if isinstance(error, BrokenExecutor):
            self.sender.lost()
        elif self.tries[number] >= TRIES:
            self.abandon()
            raise OrbitError(
                f"a piece of work failed {TRIES} times on the workers, at last by {error!r}"
            ) from error
        self.submit([number], whole=True)

    def abandon(self) -> None:
        """Want nothing more of what is under way."""
        for future in self.futures.values():
            future.cancel()
        self.futures.clear()


# Read-only seals of arrays, which do not survive being sent.
#
# Compiled code for sealed arrays is other code than for writable ones, so what arrives is sealed as
# it was: else a worker would compile everything anew.


def readonly_flags(holder: Any) -> tuple[bool, ...]:
    """Which arrays in a tuple, and in the tuples within it, are sealed."""
    return tuple(not array.flags.writeable for array in _arrays(holder))


def restore_readonly(holder: Any, seals: tuple[bool, ...]) -> None:
    """Seal the arrays that were sealed."""
    for array, sealed in zip(_arrays(holder), seals, strict=True):
        array.flags.writeable = not sealed


@dataclass(frozen=True)
class SharedGraph:
    """A graph that is sent to workers; all arrays of a graph are sealed."""

    graph: FactorGraph

    def open(self) -> FactorGraph:
        """The graph as it was."""
        return readonly_graph(self.graph)


def readonly_graph(graph: FactorGraph) -> FactorGraph:
    """A graph that was sent, with all its arrays sealed."""
    restore_readonly(graph, (True,) * len(readonly_flags(graph)))
    return graph


def _arrays(holder: Any) -> Iterator[NDArray[Any]]:
    if isinstance(holder, np.ndarray):
        yield holder
    elif isinstance(holder, tuple):
        for part in holder:
            yield from _arrays(part)


def digest(holder: Any) -> str:
    """A fingerprint of a factor graph or a kernel: of all its numbers, in tuples within too."""
    checksum = hashlib.sha256(type(holder).__name__.encode())
    for name, value in zip(holder._fields, holder, strict=True):
        checksum.update(name.encode())
        if hasattr(value, "_fields"):
            checksum.update(digest(value).encode())
        else:
            checksum.update(np.ascontiguousarray(value).tobytes())
    return checksum.hexdigest()
