"""What a kept run is made of: all arrays of its packs, and fingerprints of what it belongs to."""

import hashlib
import mmap
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from orbitmc.run.pack import Pack


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


def bytes_of(file: BinaryIO, size: int) -> mmap.mmap | bytes:
    """All bytes of a file; those that stay on disk, except on Windows.

    There, a file that is mapped cannot be replaced, and a run that goes on replaces its file.
    """
    if os.name == "nt":
        file.seek(0)
        return file.read()
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
