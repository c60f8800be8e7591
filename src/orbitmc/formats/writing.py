"""Write text to files, packed or not."""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from orbitmc.errors import InputError
from orbitmc.machine.files import write_atomically

GZIP = 16 + zlib.MAX_WBITS  # a gzip header without name and time


def write_text(path: str | Path, content: str) -> None:
    """Replace a file by UTF-8 text at once; a name ending in `.gz` packs it."""
    write_pieces(path, [content])


def write_pieces(path: str | Path, pieces: Iterable[str]) -> None:
    """Replace a file by pieces of UTF-8 text; a name ending in `.gz` packs them.

    Each piece is written before the next one is asked for.
    """
    data = _encoded(path, pieces)
    packed = Path(path).suffix.lower() == ".gz"
    write_atomically(path, _packed(data) if packed else data)


def _encoded(path: str | Path, pieces: Iterable[str]) -> Iterator[bytes]:
    for piece in pieces:
        try:
            data = piece.encode()
        except UnicodeEncodeError as error:
            wrong = piece[error.start]
            raise InputError(f"{wrong!r} cannot be written as UTF-8", source=str(path)) from None
        yield data


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=GZIP)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()
