"""Keep a run in a file, and go on from it as if it had never stopped.

The file has a magic line, a line of JSON (what was asked, how far the run is, what arrays
follow), the arrays, and a checksum. Nothing in it is executed, and every size is compared with
the file's before memory is taken.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.files import write_atomically
from orbitmc.graph.components import components
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.permutation_group import PermutationGroup
from orbitmc.kernels.kernel import Kernel
from orbitmc.run.pack import KINDS, Pack, empty_pack
from orbitmc.run.run import Run
from orbitmc.run.schedule import Schedule
from orbitmc.run.snapshots import Snapshot

MAGIC = b"orbitmc run, version 1\n"
LONGEST_HEADER = 2**26
CHECKSUM = 32
SECONDS_BETWEEN = 30.0
COST = 0.01  # writing takes at most this share of the time
COUNTS = (
    "warm_up_steps",
    "recorded",
    "wanted",
    "piloted",
    "seconds",
    "preparing",
    "starting",
    "answering",
    "after",
    "skips_modes",
    "most_packs",
)


class Checkpoints:
    """A watcher that writes the run to a file every half minute, less often if that is slow.

    With `every` it writes exactly that often (seconds), whatever that costs.
    """

    def __init__(
        self, path: Path, question: Mapping[str, Any], *, every: float | None = None
    ) -> None:
        self.path, self.question, self.every = path, question, every
        self.due = time.perf_counter() + (SECONDS_BETWEEN if every is None else every)

    def __call__(self, run: Run) -> None:
        if time.perf_counter() >= self.due:
            begun = time.perf_counter()
            try:
                save(run, self.path, self.question)
            finally:
                now = time.perf_counter()
                usual = max(SECONDS_BETWEEN, (now - begun) / COST)
                self.due = now + (usual if self.every is None else self.every)


@dataclass(frozen=True)
class Checkpoint:
    """What a file says of a run; `question` is whatever its writer needs to ask again."""

    path: Path
    question: Mapping[str, Any]
    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def restore(
        self,
        graph: FactorGraph,
        kernel: Kernel,
        prepared: Conditionals,
        group: PermutationGroup | None = None,
    ) -> Run:
        """Give back the run; a checkpoint of another model is refused.

        `group` is needed by runs that average over its orbits.
        """
        if self.header["digest"] != digest(graph):
            raise InputError(
                "this run belongs to another model or other evidence", source=str(self.path)
            )
        if self.header["kernel"] != digest(kernel):
            raise InputError(
                "this run used other jumps than are found now (a search for symmetries that ran "
                "out of time finds others the next time); it cannot go on as it was",
                source=str(self.path),
            )
        lanes, packs = int(self.header["lanes"]), int(self.header["packs"])
        kind, part_of = self.header["tally"], components(graph)
        run = Run(
            graph=graph,
            kernel=kernel,
            prepared=prepared,
            schedule=Schedule(**self.header["schedule"]),
            seed=int(self.header["seed"]),
            lanes=lanes,
            packs=tuple(
                empty_pack(graph, kernel, lanes=lanes, kind=kind, group=group, part_of=part_of)
                for _ in range(packs)
            ),
            most_packs=packs,
            part_of=part_of,
            kind=KINDS[kind],
            group=group,
        )
        for name in COUNTS:
            setattr(run, name, self.header[name])
        self._fill(run)
        for place, (seconds, updates, samples) in enumerate(self.header["snapshots"]):
            probability = self.arrays[f"snapshot/{place}"]
            run.snapshots.append(Snapshot(seconds, updates, samples, probability))
        return run

    def _fill(self, run: Run) -> None:
        for number, pack in enumerate(run.packs):
            for name, array in arrays_of(pack, f"pack/{number}"):
                found = self.arrays.get(name)
                if found is None or found.shape != array.shape or found.dtype != array.dtype:
                    raise InputError(
                        f"the run holds no {name} of shape {array.shape}", source=str(self.path)
                    )
                array[...] = found


def save(run: Run, path: Path, question: Mapping[str, Any]) -> None:
    """Write a run, whole or not at all."""
    named = [
        pair for number, pack in enumerate(run.packs) for pair in arrays_of(pack, f"pack/{number}")
    ]
    named += [(f"snapshot/{k}", shot.probability) for k, shot in enumerate(run.snapshots)]
    header = {
        "question": dict(question),
        "digest": digest(run.graph),
        "kernel": digest(run.kernel),
        "schedule": asdict(run.schedule),
        "seed": run.seed,
        "lanes": run.lanes,
        "packs": len(run.packs),
        "tally": type(run.packs[0].tally).__name__,
        **{name: getattr(run, name) for name in COUNTS},
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


def load(path: Path) -> Checkpoint:
    """Read a checkpoint; anything that is not a whole one is refused."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic, line = file.read(len(MAGIC)), b""
            if magic == MAGIC:
                line = file.readline(LONGEST_HEADER)
            header = _header(path, magic, line)
            wanted = sum(_bytes(entry) for entry in header["arrays"])
            if len(MAGIC) + len(line) + wanted + CHECKSUM != size:
                raise _damaged(path)
            body = file.read()
    except OSError as error:
        raise InputError(f"cannot read this run: {error.strerror}", source=str(path)) from None
    checksum = hashlib.blake2b(digest_size=CHECKSUM)
    for piece in (magic, line, memoryview(body)[:-CHECKSUM]):
        checksum.update(piece)
    if checksum.digest() != body[-CHECKSUM:]:
        raise _damaged(path)
    return Checkpoint(path, header["question"], header, _arrays(header["arrays"], body))


def digest(holder: Any) -> str:
    """A fingerprint of a factor graph or a kernel: of all its numbers, in tuples within too."""
    found = hashlib.sha256(type(holder).__name__.encode())
    for name, value in zip(holder._fields, holder, strict=True):
        found.update(name.encode())
        if hasattr(value, "_fields"):
            found.update(digest(value).encode())
        else:
            found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def arrays_of(holder: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """All arrays in a pack and in the tuples within it, with their names."""
    if isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            yield name, holder
    elif isinstance(holder, Pack):
        for key, value in vars(holder).items():
            yield from arrays_of(value, f"{name}/{key}")
    elif hasattr(holder, "_fields"):
        for key, value in zip(holder._fields, holder, strict=True):
            yield from arrays_of(value, f"{name}/{key}")


def _header(path: Path, magic: bytes, line: bytes) -> dict[str, Any]:
    if magic != MAGIC:
        raise InputError("this is not a run that orbitmc has written", source=str(path))
    try:
        header = json.loads(line)
        for entry in header["arrays"]:
            _bytes(entry)
        needed = {
            "question",
            "digest",
            "kernel",
            "schedule",
            "seed",
            "lanes",
            "packs",
            "tally",
            *COUNTS,
        }
        if not needed <= header.keys():
            raise _damaged(path)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path) from None
    return header  # type: ignore[no-any-return]


def _bytes(entry: Any) -> int:
    name, kind, shape = entry
    count = int(np.dtype(kind).itemsize)
    for length in shape:
        count *= int(length)
    if count < 0 or np.dtype(kind).hasobject or not isinstance(name, str):
        raise ValueError
    return count


def _arrays(entries: list[Any], body: bytes) -> dict[str, NDArray[Any]]:
    found, place = {}, 0
    for name, kind, shape in entries:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(body, dtype=np.dtype(kind), count=count, offset=place)
        found[name] = array.reshape(shape)
        place += array.nbytes
    return found


def _damaged(path: Path) -> InputError:
    return InputError("this run is damaged or was written only in part", source=str(path))
