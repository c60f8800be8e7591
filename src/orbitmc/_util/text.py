"""Read text that may be packed, and know the line and column of whatever is wrong in it."""

import difflib
import gzip
import itertools
import math
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any

from orbitmc.errors import InputError, LimitError

MOST_COUNT = 2**62  # compiled code counts in 64 bits
MOST_DIGITS = 18  # of a whole number that surely fits in 64 bits
MOST_NAMED = 5  # examples in a message; more would not be read
MEMORY = 4 * 2**30  # how many bytes reading one file may take, unless the caller says otherwise
MOST_COMPARED = 1000  # names, as comparing takes time
LONGEST_COMPARED = 200  # letters; nobody mistypes one letter in a longer name

READ_BYTES = 2**24  # bytes that are read at once

PACKED = b"\x1f\x8b"  # the first two bytes of every gzip file


@dataclass(frozen=True)
class Text:
    """The characters of a file, and the name of the file."""

    source: str
    content: str

    def error(self, offset: int, message: str) -> InputError:
        """Give an error that names the file, and the line and column of a character."""
        line = self.content.count("\n", 0, offset) + 1
        column = offset - self.content.rfind("\n", 0, offset)
        return InputError(message, source=self.source, line=line, column=column)


def read_text(path: str | Path, *, memory: int = MEMORY) -> Text:
    """Read UTF-8 text, packed with gzip or not; other encodings are refused, never guessed."""
    data = read_bytes(path, memory=memory)
    try:
        return Text(str(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = Text(str(path), data[: error.start].decode("utf-8", errors="replace"))
        raise before.error(
            len(before.content),
            f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8",
        ) from None


def read_bytes(path: str | Path, *, memory: int = MEMORY, at_once: int = READ_BYTES) -> bytes:
    """Read a file, unpacked if its first bytes say gzip, and never more than memory can hold."""
    if not str(path):
        raise InputError("the name of a file is empty")
    most = memory // 4  # the bytes, the characters, and something to do with them
    try:
        with Path(path).open("rb") as file:
            data = _read_decompressed(file, most, at_once)
    except OSError as error:
        raise unreadable(path, error) from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"the gzip data is damaged: {error}", source=str(path)) from None
    except ValueError:
        raise InputError(f"{str(path)!r} cannot be the name of a file") from None
    if len(data) > most:
        raise LimitError(
            f"{path}: holds more than {format_bytes(most)}, too much for a memory limit of "
            f"{format_bytes(memory)}"
        )
    return data


def _read_decompressed(file: BufferedReader, most: int, at_once: int) -> bytes:
    if file.peek(len(PACKED))[: len(PACKED)] != PACKED:
        return _read(file, most, at_once)
    with gzip.GzipFile(fileobj=file) as unpacked:
        return _read(unpacked, most, at_once)


def _read(file: BufferedReader | gzip.GzipFile, most: int, at_once: int) -> bytes:
    """Read all, or one byte more than `most`; what is not there takes no memory."""
    pieces, size = [], 0
    while piece := file.read(min(at_once, most + 1 - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def number_in(word: str) -> float:
    """The number that a word is in other languages, too; NaN if it is none."""
    try:
        return float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return math.nan


def unreadable(path: str | Path, error: OSError) -> InputError:
    """Say why a file cannot be read; a missing one gets the nearest name in its folder."""
    if isinstance(error, gzip.BadGzipFile):
        return InputError(f"the gzip data is damaged: {error}", source=str(path))
    if not isinstance(error, FileNotFoundError):
        return InputError(f"cannot read it: {error.strerror}", source=str(path))
    near = suggestion(Path(path).name, _visible_names(Path(path).parent))
    return InputError(f"there is no such file{near}", source=str(path))


def _visible_names(folder: Path) -> list[str]:
    """What people put into a folder; what is hidden there was not meant."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []


def require_memory(source: str, needed: int, memory: int) -> None:
    """Refuse what would take more memory than allowed, before taking any."""
    if needed > memory:
        raise LimitError(
            f"{source}: reading it takes about {format_bytes(needed)}, over the memory limit of "
            f"{format_bytes(memory)}"
        )


def strip_gz(path: str | Path) -> Path:
    """A path without the suffix of a packed file."""
    plain = Path(path)
    return plain.with_suffix("") if plain.suffix.lower() == ".gz" else plain


def suffix(path: str | Path) -> str:
    """The suffix that says the format.

    >>> suffix("GRID.UAI.gz")
    '.uai'
    """
    return strip_gz(path).suffix.lower()


def format_bytes(size: int) -> str:
    """Say a number of bytes the way people do.

    >>> format_bytes(3 * 2**30)
    '3.0 GiB'
    """
    amount, unit = float(min(size, 2**1000)), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return (
        f"{size} bytes"
        if unit == "bytes"
        else f"{amount:.1f} {unit}"
        if amount < 10**6
        else f"{amount:.1e} {unit}"
    )


def format_names(labels: Iterable[Any]) -> tuple[str, ...]:
    """A name for each label: its text, or how Python writes it where texts would coincide.

    >>> format_names(["a", 1]), format_names([1, "1"])
    (('a', '1'), ('1', "'1'"))
    """
    every = list(labels)
    texts = tuple(map(str, every))
    return texts if len(set(texts)) == len(texts) else tuple(map(repr, every))


def shorten(word: str) -> str:
    """What was found in a file, cut if it is long."""
    return word if len(word) <= 40 else word[:37] + "..."


def join_words(words: Iterable[str], most: int = 10) -> str:
    """Some words, each shortened if it is long, and whether there are more."""
    shown = [shorten(word) for word in itertools.islice(words, most + 1)]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


def quote(word: object) -> str:
    """Quote what was found in a file, shortened if it is long.

    >>> quote("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    return repr(shorten(word)) if isinstance(word, str) else shorten(repr(word))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, if one of the first thousand is near."""
    if len(word) > LONGEST_COMPARED:
        return ""
    folded = {name.casefold(): name for name in itertools.islice(known, MOST_COMPARED)}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {quote(folded[near[0]])}?" if near else ""


def first_few(names: Sequence[str]) -> str:
    """The first three, and whether there are more.

    >>> first_few(["a", "b"]), first_few(["a", "b", "c", "d"])
    ('a, b', 'a, b, c, …')
    """
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def format_number(number: float) -> str:
    """Write two digits that count, and no power of ten for large numbers.

    >>> format_number(1234.0), format_number(2.54), format_number(0.94)
    ('1,200', '2.5', '0.94')
    """
    if math.isfinite(number) and abs(number) >= 10:
        return f"{float(f'{number:.1e}'):,.0f}"
    return f"{number:.2g}"


LARGEST_PLAIN_ORDER = 10**15  # larger orders are written as powers of ten


def format_order(order: int | None) -> str:
    """How many elements a group has.

    >>> format_order(48), format_order(10**40), format_order(None)
    ('48', '1.000e40', 'an uncounted number of')
    """
    if order is None:
        return "an uncounted number of"
    if order < LARGEST_PLAIN_ORDER:
        return f"{order:,}"
    power = math.log10(order)
    return f"{10 ** (power % 1):.3f}e{math.floor(power)}"


def digits(order: int) -> str:
    """All digits of an order, however many there are.

    >>> len(digits(10**5000))
    5001
    """
    return format(Decimal(order), "f")
