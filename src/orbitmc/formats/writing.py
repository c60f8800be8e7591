"""Write text to files, packed or not, and weights in as few digits as read back the same."""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from orbitmc.errors import InputError
from orbitmc.machine.arrays import Floats
from orbitmc.machine.files import write_atomically

GZIP = 16 + zlib.MAX_WBITS  # a gzip header without name and time

LARGEST_LOG = 700.0
"""Beyond this, a weight or its inverse does not fit in a floating-point number."""


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


def weight_texts(log_weights: Floats) -> list[str]:
    """Write weights so that their logarithms come back: to the bit if they once were weights."""
    logs = log_weights.reshape(-1)
    finite = logs[np.isfinite(logs)]
    if (np.abs(finite) > LARGEST_LOG).any():
        extreme = finite[np.abs(finite).argmax()]
        raise InputError(f"the format holds weights, and cannot hold exp({extreme:.6g})")
    weights = np.exp(logs)
    short = [f"{weight:.15g}" for weight in weights.tolist()]
    chosen = _with_logarithm(logs, weights)
    enough = _log(np.array(short, dtype=np.float64)) == logs
    return [a if fits else repr(b) for a, fits, b in zip(short, enough, chosen, strict=True)]


def _with_logarithm(logs: Floats, weights: Floats) -> list[float]:
    """Choose each weight or a number next to it, so that its logarithm is exactly the given one."""
    chosen = weights.copy()
    for near in (np.nextafter(weights, 0.0), np.nextafter(weights, np.inf)):
        better = (_log(chosen) != logs) & (_log(near) == logs)
        chosen[better] = near[better]
    return [float(weight) for weight in chosen]


def _log(weights: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights))
