"""Machine code on disk: one file per function and signature, named after all it depends on.

A file is written whole or not at all, so many processes may share the folder. Files are pickles:
they are read only from a folder that belongs to the user and that nobody else may write to.
"""

import functools
import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba

from orbitmc._numba import internals
from orbitmc._util.digests import are_as_imported, digest_of

MOST_BYTES = 2**30  # a full set takes about 60 MB; sources and versions come and go
DAY = 86_400.0
ROOT = (0,)  # could change anything anyway, and makes the images of containers
NOWHERE = Path(os.devnull) / "orbitmc"
AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # no links, no line ends


class MachineCode:
    """What Numba asks for machine code, and hands new machine code to.

    `modules_of(signature)` names the modules that the code for a signature is made of, besides
    that of the function.
    """

    def __init__(self, function: Any, modules_of: Callable[[Any], set[str]]) -> None:
        self._function, self._modules_of = function, modules_of
        self._enabled = function.__closure__ is None
        self._looked_up: dict[Any, Path | None] = {}

    @property
    def cache_path(self) -> str:
        return str(folder())

    def enable(self) -> None:
        self._enabled = self._function.__closure__ is None

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: a file is valid as long as its name is asked for."""

    def has(self, signature: Any, target_context: Any) -> bool:
        """Whether there is a compiled function of a signature."""
        file = self._file(signature, target_context.codegen())
        self._looked_up[signature] = file  # to load it takes no second look at all sources
        return file is not None and file.exists()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Give the compiled function of a signature, if it is there."""
        target_context.refresh()
        if signature in self._looked_up:
            file = self._looked_up.pop(signature, None)
        else:
            file = self._file(signature, target_context.codegen())
        payload = None if file is None else read(file)
        if payload is None:
            return None
        return internals.unpack_code(target_context, pickle.loads(payload))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function; where that cannot be, the next process compiles again."""
        file = self._file(signature, result.codegen)
        if file is not None and not result.lifted and not result.library.has_dynamic_globals:
            write(file, internals.pack_code(result))

    def _file(self, signature: Any, codegen: Any) -> Path | None:
        """Where the code of a signature is kept; nowhere if its sources are unknown or edited."""
        if not self._enabled:
            return None
        modules = {self._function.__module__, *self._modules_of(signature)}
        sources = digest_of(modules)
        if sources is None or not are_as_imported(modules):
            return None
        return folder() / self._name(signature, sources, codegen.magic_tuple())

    def _name(self, signature: Any, sources: str, target: tuple[str, ...]) -> str:
        code = self._function.__code__
        about = (*_versions(), *target, sources, code.co_firstlineno, str(signature))
        name = hashlib.sha256(repr(about).encode()).hexdigest()[:32]
        return f"{self._function.__module__}.{self._function.__qualname__}-{name}"


def _versions() -> tuple[object, ...]:
    config = numba.config
    options = (config.OPT, config.BOUNDSCHECK, config.DEBUG_TYPEINFER)
    versions = numba.__version__, llvmlite.__version__, sys.implementation.cache_tag
    return *versions, *options, *internals.parts()


def read(file: Path) -> bytes | None:
    """Give what was written to a file, if it is whole and nobody else can have changed it."""
    try:
        handle = os.open(file, os.O_RDONLY | AS_IT_IS)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as opened:
        if not _is_private(os.fstat(handle)):
            return None
        checksum, payload = opened.read(32), opened.read()
        if time.time() - os.fstat(handle).st_mtime > DAY:
            with suppress(OSError):  # a file system that nobody writes to
                os.utime(handle if os.utime in os.supports_fd else file)
    return payload if hashlib.sha256(payload).digest() == checksum else None


def write(file: Path, payload: bytes, *, most_bytes: int = MOST_BYTES) -> None:
    """Put a file into its place at once; a full or unwritable disk costs only time later."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(hashlib.sha256(payload).digest() + payload)
            os.replace(name, file)
        except OSError:
            os.unlink(name)
            return
        _make_room(file.parent, most_bytes)
    except OSError:
        return


@functools.cache
def _make_room(place: Path, most_bytes: int) -> None:
    """Remove what was not used for longest, once per process, until the rest is small enough."""
    files = sorted(place.iterdir(), key=lambda file: -file.stat().st_mtime)
    total = 0
    for file in files:
        total += file.stat().st_size
        if total > most_bytes:
            file.unlink(missing_ok=True)


@functools.cache
def folder() -> Path:
    """A folder that belongs to the user alone; if there is none, one that ends with the process.

    One that cannot be written to serves if code is there already, as in images of containers.
    Where nothing can be written at all, nothing is kept.
    """
    for place in _places():
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            known = place.lstat()
            useful = os.access(place, os.W_OK) or any(place.iterdir())
        except OSError:
            continue
        if stat.S_ISDIR(known.st_mode) and _is_private(known) and useful:
            return place
    try:
        return Path(_passing_folder().name)
    except OSError:
        return NOWHERE


@functools.cache
def _passing_folder() -> Any:
    return tempfile.TemporaryDirectory(prefix="orbitmc-")


def _is_private(known: os.stat_result) -> bool:
    """Whether only the user, or root, can have written a file.

    Windows keeps the folders we use for one user each.
    """
    if not hasattr(os, "getuid"):
        return True
    others_write = known.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return known.st_uid in (os.getuid(), *ROOT) and not others_write


def _places() -> Iterator[Path]:
    asked = os.environ.get("NUMBA_CACHE_DIR")
    if asked:
        yield Path(asked) / "orbitmc"
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(usual):
        yield Path(usual) / "orbitmc" / "machine-code"
    user = os.getuid() if hasattr(os, "getuid") else "code"
    with suppress(FileNotFoundError):  # there need not be a folder for such files
        yield Path(tempfile.gettempdir()) / f"orbitmc-{user}"
