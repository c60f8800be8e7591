"""Write files whole or not at all, and own them for a while."""

import errno
import importlib
import os
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from orbitmc._util.text import MOST_COUNT
from orbitmc.errors import InputError

Piece = bytes | memoryview

CLOSED_LATER = getattr(os, "O_CLOEXEC", 0)  # in child processes; on Windows they get no files
LOCKED_BYTE = 2**30  # where Windows locks a byte: what is locked there cannot be read
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)


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


@contextmanager
def lock_file(path: Path | None) -> Iterator[None]:
    """Own a file that is replaced again and again; refused while another process owns it.

    The lock is on a neighbour of the file, which stays when the file is replaced. The system
    frees it when its owner ends, also by `kill -9`. Where nothing can be written there is nothing
    to own.
    """
    if path is None:
        yield
        return
    place = path.resolve()
    beside = place.parent / f".{place.name[:100]}.lock"
    handle = _try_lock(path, beside)
    try:
        yield
    finally:
        if handle is not None:
            _release(handle, beside)


def _release(handle: int, beside: Path) -> None:
    """Remove the lock while it is still ours; Windows removes no file that is open."""
    try:
        beside.unlink(missing_ok=True)
    except PermissionError:
        os.close(handle)
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    else:
        os.close(handle)


def _try_lock(path: Path, beside: Path) -> int | None:
    """Give the handle of a locked file that still has its name, or nothing where that is moot."""
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | CLOSED_LATER, 0o666)
        except OSError as error:
            if error.errno in UNWRITABLE:
                return None
            raise InputError(f"cannot write it: {error.strerror}", source=str(path)) from None
        try:
            _lock(handle, path)
            if _is_at(handle, beside):
                os.ftruncate(handle, 0)
                os.write(handle, str(os.getpid()).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last owner removed it in the meantime


def _lock(handle: int, path: Path) -> None:
    try:
        _lock_now(handle)
    except BlockingIOError:
        os.lseek(handle, 0, os.SEEK_SET)
        owner = os.read(handle, 20).decode(errors="replace")
        raise InputError(
            f"another process{f' ({owner})' if owner.isdigit() else ''} is writing to this file; "
            "wait for its end, or name another file",
            source=str(path),
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot lock it: {error.strerror}; name a file on another disk", source=str(path)
        ) from None


def _lock_now(handle: int) -> None:
    """Lock an open file, or raise `BlockingIOError`, on Unix and on Windows."""
    try:
        fcntl: Any = importlib.import_module("fcntl")
    except ImportError:
        _lock_on_windows(handle)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(handle: int) -> None:
    msvcrt: Any = importlib.import_module("msvcrt")
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError:
        raise BlockingIOError from None
    os.lseek(handle, 0, os.SEEK_SET)


def _is_at(handle: int, beside: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(beside))
    except FileNotFoundError:
        return False


# JSON that we have written ourselves: every field is what it was then, or all of it is refused.

Check = Callable[[Any], bool]

CANNOT_GO_ON = "this run cannot go on: "


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST_COUNT


def is_positive(value: object) -> bool:
    return is_count(value) and value != 0


def is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= MOST_COUNT  # type: ignore[operator]


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_truth(value: object) -> bool:
    return isinstance(value, bool)


def is_object(value: object) -> bool:
    return isinstance(value, dict)


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def check_fields(value: object, checks: Mapping[str, Check], name: str) -> dict[str, Any]:
    """Give an object whose fields are exactly these, each as its check wants it."""
    if not isinstance(value, dict) or value.keys() != checks.keys():
        raise InputError(f"its {name} has other fields than {', '.join(checks)}")
    for field, check in checks.items():
        if not check(value[field]):
            raise InputError(f"the field {field!r} of its {name} is not what it should be")
    return value


# Write text to files, packed or not, and weights in as few digits as read back the same.

GZIP = 16 + zlib.MAX_WBITS  # a gzip header without name and time


def write_text(path: str | Path, content: str) -> None:
    """Replace a file by UTF-8 text at once; a name ending in `.gz` packs it."""
    write_pieces(path, [content])


def write_pieces(path: str | Path, pieces: Iterable[str]) -> None:
    """Replace a file by pieces of UTF-8 text; a name ending in `.gz` packs them.

    Each piece is written before the next one is asked for.
    """
    data = _encode(path, pieces)
    packed = Path(path).suffix.lower() == ".gz"
    write_atomically(path, _compress(data) if packed else data)


def _encode(path: str | Path, pieces: Iterable[str]) -> Iterator[bytes]:
    for piece in pieces:
        try:
            data = piece.encode()
        except UnicodeEncodeError as error:
            wrong = piece[error.start]
            raise InputError(f"{wrong!r} cannot be written as UTF-8", source=str(path)) from None
        yield data


def _compress(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=GZIP)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()
