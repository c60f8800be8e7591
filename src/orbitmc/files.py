"""Write files whole or not at all."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from orbitmc.errors import InputError

Piece = bytes | memoryview


def write_atomically(path: Path, pieces: Iterable[Piece]) -> None:
    """Write a neighbour file and rename it: readers see the old file or the new one, no third."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", source=str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write: {error.strerror}", source=str(path)) from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
