"""Write text to files, packed or not."""

import gzip
from pathlib import Path

from orbitmc.errors import InputError
from orbitmc.files import write_atomically


def write_text(path: str | Path, content: str) -> None:
    """Replace a file by UTF-8 text at once; a name ending in `.gz` packs it."""
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        wrong = content[error.start]
        raise InputError(f"{wrong!r} cannot be written as UTF-8", source=str(path)) from None
    packed = Path(path).suffix.lower() == ".gz"
    write_atomically(path, [gzip.compress(data, mtime=0) if packed else data])
