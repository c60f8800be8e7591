"""Write files whole or not at all."""

import gzip
import os
import secrets
from pathlib import Path

from orbitmc.errors import InputError


def write_text(path: str | Path, content: str) -> None:
    """Replace a file by UTF-8 text at once; a name ending in `.gz` packs it.

    The text goes to a new file beside the old one, reaches the disk, then takes its name: a crash
    leaves the old file or the new one, never half of one.
    """
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        wrong = content[error.start]
        raise InputError(f"{wrong!r} cannot be written as UTF-8", source=str(path)) from None
    if Path(path).suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        _replace(Path(path).resolve(), data)
    except OSError as error:
        raise InputError(f"cannot write it: {error.strerror}", source=str(path)) from None
    except ValueError:
        raise InputError(f"{str(path)!r} cannot be the name of a file") from None


def _replace(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # a pipe or a terminal: there is nothing to replace
        return
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
