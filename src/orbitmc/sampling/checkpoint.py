"""Keep a run in a file, and go on from it as if it had never stopped.

The file has a magic line, a line of JSON (what was asked, how far the run is, what arrays
follow), the arrays, and a checksum. Nothing in it is executed, and every size is compared with
the file's before memory is taken.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes
from orbitmc._util.files import (
    Check,
    check_fields,
    is_count,
    is_number,
    is_object,
    is_positive,
    is_text,
    is_truth,
    list_of,
    lock_file,
    or_none,
    write_atomically,
)
from orbitmc._util.text import MEMORY, MOST_COUNT, quote, require_memory, unreadable
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.estimate.control_variates import LARGEST_RADIUS, SENSITIVITY_STATES, terms_for
from orbitmc.estimate.tally import RaoBlackwellTally, ValueTally
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.budget import Budget
from orbitmc.sampling.collapsed import Recovery
from orbitmc.sampling.estimator_trial import controls_of
from orbitmc.sampling.executor import digest
from orbitmc.sampling.initialization import search_modes
from orbitmc.sampling.observers import Snapshot
from orbitmc.sampling.pack import Groups, Pack, arrays_of, empty_pack, recorded_sums
from orbitmc.sampling.run import (
    LOOKS,
    EstimatorChoice,
    Recording,
    Run,
    components_of,
    with_controls,
)
from orbitmc.sampling.schedule import Schedule

# How a kept run estimates: in its header, and beside it the states that secants are made of.

SECANT_STATES = "secant states"


def _is_looks(value: object) -> bool:
    return is_count(value) and value in LOOKS


def _is_terms(value: object) -> bool:
    return is_count(value) and value <= terms_for(LARGEST_RADIUS)  # type: ignore[operator]


def _is_radius(value: object) -> bool:
    return is_number(value) and 0.0 <= value <= LARGEST_RADIUS  # type: ignore[operator]


CHOICE: Mapping[str, Check] = {
    "looks": _is_looks,
    "terms": _is_terms,
    "about": is_text,
    "radius": _is_radius,
}


def choice_record(choice: EstimatorChoice | None) -> dict[str, Any] | None:
    """What the header says of a choice."""
    return None if choice is None else {name: getattr(choice, name) for name in CHOICE}


def choice_from(record: object) -> EstimatorChoice | None:
    """The choice that a header tells of, its states still missing; what is wrong is said."""
    return None if record is None else EstimatorChoice(**check_fields(record, CHOICE, "choice"))


def bytes_of(file: BinaryIO, size: int) -> mmap.mmap | bytes:
    """All bytes of a file; those that stay on disk, except on Windows.

    There, a file that is mapped cannot be replaced, and a run that goes on replaces its file.
    """
    if os.name == "nt":
        file.seek(0)
        return file.read()
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


# The line of JSON in a kept run: every field has the type it was written with, or is refused.

KIND = re.compile(r"[<>|][buif][1248]")
MOST_DIMENSIONS = 32


def _is_seed(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_snapshot(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return is_number(value[0]) and all(map(is_count, value[1:]))


COUNTS: Mapping[str, Check] = {
    "annealing": is_count,
    "warm_up_steps": is_count,
    "recorded": is_count,
    "wanted": or_none(is_count),
    "piloted": is_truth,
    "most_packs": is_positive,
}
"""How far a run has come: fields of `Run`."""

SECONDS: Mapping[str, Check] = dict.fromkeys(
    ("seconds", "preparing", "starting", "answering", "after"), is_number
)
"""Fields of `Budget`."""

FIELDS: Mapping[str, Check] = {
    "question": is_object,
    "digest": is_text,
    "kernel": is_text,
    "schedule": is_object,
    "seed": _is_seed,
    "lanes": is_positive,
    "packs": is_positive,
    "tally": is_text,
    "choice": or_none(is_object),
    **COUNTS,
    **SECONDS,
    "skips_modes": is_truth,
    "controlled": is_truth,
    "room": or_none(is_count),
    "snapshots": list_of(_is_snapshot),
    "arrays": list_of(lambda entry: True),
}

SCHEDULE: Mapping[str, Check] = {
    "samples": or_none(is_count),
    "seconds": or_none(is_number),
    "standard_error": or_none(is_number),
    "spacing": or_none(is_count),
    "warm_up": or_none(is_count),
    "snapshots": is_truth,
}


@dataclass(frozen=True)
class Entry:
    """An array that follows the header: its name, its type and its shape."""

    name: str
    kind: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.kind.itemsize


@dataclass(frozen=True)
class Header:
    """What a kept run says of itself: fields as JSON has them, its schedule, its arrays."""

    fields: Mapping[str, Any]
    schedule: Schedule
    choice: EstimatorChoice | None
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def header_from(line: bytes) -> Header:
    """Read the header; what is wrong with it is said."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("its header is no JSON") from None
    fields = check_fields(parsed, FIELDS, "header")
    schedule = Schedule(**check_fields(fields["schedule"], SCHEDULE, "schedule"))
    choice = choice_from(fields["choice"])
    return Header(fields, schedule, choice, tuple(_entry(entry) for entry in fields["arrays"]))


def _entry(record: object) -> Entry:
    if isinstance(record, list) and len(record) == 3:
        name, kind, shape = record
        if is_text(name) and is_text(kind) and KIND.fullmatch(kind) and _is_shape(shape):
            try:
                return Entry(name, np.dtype(kind), tuple(shape))
            except TypeError:
                raise InputError(f"no array has the type {kind!r}") from None
    raise InputError("an entry of its list of arrays is not what it should be")


def _is_shape(value: object) -> bool:
    listed = isinstance(value, list) and len(value) <= MOST_DIMENSIONS and all(map(is_count, value))
    return listed and math.prod(max(length, 1) for length in value) <= MOST_COUNT  # type: ignore[attr-defined]


MAGIC = b"orbitmc run, version 1\n"
LONGEST_HEADER = 2**26
CHECKSUM = 32
SECONDS_BETWEEN = 30.0
COST = 0.01  # writing takes at most this share of the time
VALUES = "values"  # of a pack
BYTES_PER_CHARACTER = 24  # what JSON takes as Python values, at most
ROUNDING = 1e-6
KINDS = {kind.__name__: kind for kind in (RaoBlackwellTally, ValueTally)}
KINDS |= {"BlockTally": RaoBlackwellTally, "BlockValueTally": ValueTally}  # of kernels with blocks
KINDS |= {"PartitionTally": RaoBlackwellTally, "PartitionValueTally": ValueTally}  # and of items
KINDS |= {"CountTally": RaoBlackwellTally}  # of cells of constants


def warn_user(message: str) -> None:
    """Say something to whoever called the library."""
    warnings.warn(message, stacklevel=2)


class CheckpointWriter:
    """An observer that saves a run every half minute, less often if that is slow, and at its end.

    With `every` it saves exactly that often (seconds), whatever that costs. A file that cannot be
    written costs neither the run nor its answer: `tell` says so, and `error` is the last failure.
    """

    def __init__(
        self,
        path: Path,
        record: Mapping[str, Any],
        *,
        every: float | None = None,
        tell: Callable[[str], None] = warn_user,
    ) -> None:
        self.path, self.record, self.every, self.tell = path, dict(record), every, tell
        self.due = time.perf_counter() + (SECONDS_BETWEEN if every is None else every)
        self.run: Run | None = None
        self.error: InputError | None = None

    def __call__(self, run: Run) -> None:
        self.run = run
        if time.perf_counter() < self.due:
            return
        begun = time.perf_counter()
        self._save(run, "; it continues")
        now = time.perf_counter()
        usual = max(SECONDS_BETWEEN, (now - begun) / COST)
        self.due = now + (usual if self.every is None else self.every)

    def close(self) -> None:
        """Save the last state, once."""
        if self.run is not None:
            self._save(self.run, "")
            self.run = None

    def _save(self, run: Run, more: str) -> None:
        try:
            save(run, self.path, self.record)
            self.error = None
        except InputError as error:
            self.tell(f"the run was not saved: {error}{more}")
            self.error = error


@contextmanager
def open_checkpoint(
    path: Path | str, every: float | None = None, *, tell: Callable[[str], None] = warn_user
) -> Iterator[CheckpointWriter]:
    """Lock a new file for a run, and save its last state whatever ends it."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}", source=str(path))
    with lock_file(path):
        if path.exists():
            raise InputError(
                "this file is there already: `orbitmc resume` goes on with a run that was kept, "
                "another name begins a new one",
                source=str(path),
            )
        with closing(CheckpointWriter(path, {}, every=every, tell=tell)) as writer:
            yield writer


@dataclass(frozen=True)
class Checkpoint:
    """What a file says of a run; `question` is whatever its writer needs to ask again."""

    path: Path
    header: Header
    arrays: Mapping[str, NDArray[Any]]

    @property
    def question(self) -> Mapping[str, Any]:
        return self.header["question"]  # type: ignore[no-any-return]

    def restore(
        self,
        prepared: PreparedGraph,
        kernel: Kernel,
        *,
        memory: int = MEMORY,
        recovery: Recovery | None = None,
    ) -> Run:
        """Give back the run; a checkpoint of another model is refused.

        With a `recovery` the model is the core of another one.
        """
        if self.header["digest"] != digest(graph := prepared.graph):
            raise self._error("this run belongs to another model or other evidence")
        if self.header["kernel"] != digest(kernel):
            raise self._error(
                "this run used other jumps than are found now (a search for symmetries that ran "
                "out of time finds others the next time); it cannot go on as it was"
            )
        self._require_memory(graph, memory)
        header, choice = self.header, self._choice(graph)
        groups = () if recovery is None else recovery.groups
        parts = components_of(graph, kernel)
        packs = tuple(self._packs(prepared, kernel, parts, choice, groups))
        kind, seconds = KINDS[header["tally"]], {name: header[name] for name in SECONDS}
        run = Run(
            prepared=prepared,
            kernel=kernel,
            schedule=header.schedule,
            seed=header["seed"],
            lanes=header["lanes"],
            budget=Budget(header.schedule.seconds, **seconds),
            spacing=header.schedule.spacing_for(graph.variables),
            recording=Recording(kind, None, header["controlled"], header["room"], recovery),
            packs=packs,
            choice=choice,
            **{name: header[name] for name in COUNTS},
        )
        run.snapshots.extend(self._snapshots(run.rows))
        return run if header["skips_modes"] else replace(run, heaviest=_heaviest(run))

    def _choice(self, graph: FactorGraph) -> EstimatorChoice | None:
        """How the run estimates, if it has chosen."""
        choice = self.header.choice
        if choice is None or not choice.terms:
            return choice
        if self.header["tally"] != RaoBlackwellTally.__name__:
            raise self._error("only averages of conditional probabilities have control variates")
        states = self._array(
            SECANT_STATES, (graph.variables, SENSITIVITY_STATES), np.dtype(np.uint8)
        )
        self._require_values(graph, states)
        choice = replace(choice, states=states.copy())
        return replace(choice, controls=controls_of(graph, choice))

    def _require_memory(self, graph: FactorGraph, memory: int) -> None:
        """Refuse what would not fit: the packs are as large as their arrays in the file."""
        lanes, packs, most = (self.header[name] for name in ("lanes", "packs", "most_packs"))
        size = sum(entry.bytes for entry in self.header.entries)
        require_memory(str(self.path), size * max(packs, most) // packs, memory)
        self._array(f"pack/0/{VALUES}", (graph.variables, lanes), np.dtype(np.uint8))
        self._array("pack/0/rng/drawn", (lanes,), np.dtype(np.uint32))

    def _packs(
        self,
        prepared: PreparedGraph,
        kernel: Kernel,
        part_of: NDArray[np.int64],
        choice: EstimatorChoice | None,
        groups: Groups,
    ) -> Iterator[Pack]:
        """Make the packs one by one, so that a file which lacks one takes no memory for it."""
        lanes, tally = self.header["lanes"], self.header["tally"]
        if tally not in KINDS:
            raise self._error(f"this run counts in a way we do not know: {quote(tally)}")
        kind = KINDS[tally]
        for number in range(self.header["packs"]):
            pack = empty_pack(
                prepared, kernel, lanes=lanes, kind=kind, part_of=part_of, groups=groups
            )
            pack = with_controls(pack, choice)
            for name, array in arrays_of(pack, f"pack/{number}"):
                array[...] = self._array(name, array.shape, array.dtype)
            self._require_values(prepared.graph, pack.values)
            self._require_sums(pack, 1 if choice is None else choice.looks)
            yield pack

    def _require_values(self, graph: FactorGraph, states: Bytes) -> None:
        """Refuse states that no chain has: compiled code would trust them."""
        if (states >= graph.cardinality[:, None]).any():
            raise self._error("a chain of this run has a value that its variable lacks")

    def _require_sums(self, pack: Pack, looks: int) -> None:
        most = self.header["recorded"] * looks * self.header["lanes"] / COLUMNS
        for sums in recorded_sums(pack):
            total = sums.sum(axis=0)
            if not ((total >= -ROUNDING) & (total <= most * (1 + ROUNDING))).all():
                raise self._error("the sums of this run do not agree with its number of samples")

    def _snapshots(self, rows: int) -> Iterator[Snapshot]:
        for place, (seconds, updates, samples) in enumerate(self.header["snapshots"]):
            probability = self._array(f"snapshot/{place}", (rows,), np.dtype(np.float64))
            yield Snapshot(seconds, updates, samples, probability.copy())

    def _array(self, name: str, shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
        array = self.arrays.get(name)
        if array is None or array.shape != shape or array.dtype != kind:
            raise self._error(f"the run holds no {name} of shape {shape}")
        return array

    def _error(self, message: str) -> InputError:
        return InputError(message, source=str(self.path))


def _heaviest(run: Run) -> Bytes:
    """The state that the search for modes of a run has found, looked for again."""
    packs = dict.fromkeys(range(len(run.packs)))
    return search_modes(run.graph, packs, run.lanes, run.part_of, seed=run.seed)


def save(run: Run, path: Path, question: Mapping[str, Any]) -> None:
    """Write a run, whole or not at all; the question is what its reader needs to ask again.

    >>> import tempfile
    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> graph = om.kernels.prepare(model.graph)
    >>> run = om.sample(graph, om.kernels.gibbs(), om.Schedule(samples=20), seed=1)
    >>> path = Path(tempfile.mkdtemp()) / "grid.run"
    >>> om.sampling.save(run, path, {"model": "a grid"})
    >>> om.sampling.load(path).question
    {'model': 'a grid'}
    """
    named = [pair for k, pack in enumerate(run.packs) for pair in arrays_of(pack, f"pack/{k}")]
    if run.choice is not None and run.choice.terms:
        named.append((SECANT_STATES, run.choice.states))
    named += [(f"snapshot/{k}", shot.probability) for k, shot in enumerate(run.snapshots)]
    header = {
        "question": dict(question),
        "digest": digest(run.graph),
        "kernel": digest(run.kernel),
        "schedule": asdict(_schedule(run)),
        "seed": run.seed,
        "lanes": run.lanes,
        "packs": len(run.packs),
        "tally": type(run.packs[0].tally).__name__,
        "choice": choice_record(run.choice),
        **{name: getattr(run, name) for name in COUNTS},
        **{name: getattr(run.budget, name) for name in SECONDS},
        "skips_modes": run.heaviest is None,
        "controlled": run.recording.controlled,
        "room": run.recording.room,
        "snapshots": [(shot.seconds, shot.updates, shot.samples) for shot in run.snapshots],
        "arrays": [(name, array.dtype.str, array.shape) for name, array in named],
    }
    line = json.dumps(header).encode() + b"\n"
    checksum = hashlib.blake2b(digest_size=CHECKSUM)
    pieces = [
        MAGIC,
        line,
        *(np.ascontiguousarray(array).data.cast("B") if array.size else b"" for _, array in named),
    ]
    for piece in pieces:
        checksum.update(piece)
    write_atomically(path, [*pieces, checksum.digest()])


def _schedule(run: Run) -> Schedule:
    """The schedule of a run, with its spacing where that is not the usual one."""
    usual = run.schedule.spacing_for(run.graph.variables)
    return run.schedule if run.spacing == usual else replace(run.schedule, spacing=run.spacing)


def load(path: Path, *, memory: int = MEMORY) -> Checkpoint:
    """Read a checkpoint; anything that is not a whole one is refused.

    Its arrays stay in the file until somebody looks at them.

    >>> import orbitmc as om
    >>> om.sampling.load(Path("examples/ring.uai"))
    Traceback (most recent call last):
        ...
    orbitmc.errors.InputError: examples/ring.uai: this is not a run that orbitmc has written
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic = file.read(len(MAGIC))
            if magic != MAGIC:
                raise InputError("this is not a run that orbitmc has written", source=str(path))
            line = file.readline(LONGEST_HEADER)
            header = _header(path, line, memory)
            start, wanted = len(MAGIC) + len(line), sum(entry.bytes for entry in header.entries)
            if start + wanted + CHECKSUM != size:
                raise _damaged_error(path, "its size is not that of its arrays")
            body = bytes_of(file, size)
    except OSError as error:
        raise unreadable(path, error) from None
    checksum = hashlib.blake2b(memoryview(body)[:-CHECKSUM], digest_size=CHECKSUM)
    if checksum.digest() != body[-CHECKSUM:]:
        raise _damaged_error(path, "its checksum is another one")
    return Checkpoint(path, header, _arrays(header, body, start))


def _header(path: Path, line: bytes, memory: int) -> Header:
    require_memory(str(path), BYTES_PER_CHARACTER * len(line), memory)
    try:
        return header_from(line)
    except InputError as error:
        raise _damaged_error(path, error.message) from None


def _arrays(header: Header, body: mmap.mmap | bytes, place: int) -> dict[str, NDArray[Any]]:
    arrays = {}
    for entry in header.entries:
        count = math.prod(entry.shape)
        array = np.frombuffer(body, dtype=entry.kind, count=count, offset=place)
        arrays[entry.name] = array.reshape(entry.shape)
        place += entry.bytes
    return arrays


def _damaged_error(path: Path, why: str) -> InputError:
    return InputError(f"this run is damaged or was written only in part: {why}", source=str(path))
