"""Write files whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from orbitmc.errors import InputError

Piece = bytes | memoryview


def write_atomically(path: str | Path, pieces: Iterable[Piece]) -> None:
    """Replace a file at once: readers see the old file or the new one, no third.

    The bytes go to a new file beside the old one, reach the disk, then take its name.
    """
    try:
        _replace(Path(path).resolve(), pieces)
    except OSError as error:
        raise InputError(f"cannot write it: {error.strerror}", source=str(path)) from None
    except ValueError:
        raise InputError(f"{str(path)!r} cannot be the name of a file") from None


def _replace(path: Path, pieces: Iterable[Piece]) -> None:
    if path.exists() and not path.is_file():
        with path.open("wb") as file:  # a pipe or a terminal: there is nothing to replace
            file.writelines(pieces)
        return
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
