"""Which source files a compiled function is made of.

Machine code depends on the file of its function, on the files that this one imports, on those
that they import, and so on; constants of imported modules become part of it. Files of the
interpreter and of installed packages do not count: their versions do.
"""

import functools
import hashlib
import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE_NAME = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<home>\.*[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
MODULE_NAME = re.compile(r"[\w.]+")
PROCESS_START = time.time_ns()


def digest_of(modules: Iterable[str | None]) -> str | None:
    """Hash the sources of modules and of all that they import; nothing where one has no file.

    What was run from a string may belong to no module at all.
    """
    files = source_files(modules)
    if files is None:
        return None
    whole = hashlib.sha256()
    for module in sorted(files):
        whole.update(f"{module}={_hash(*_stamp(files[module]))};".encode())
    return whole.hexdigest()


def are_as_imported(modules: Iterable[str | None]) -> bool:
    """Whether no source of these has been edited since this process began.

    A process that goes on with what it imported before would put old code under the new name.
    """
    files = source_files(modules) or {}
    return all(file.stat().st_mtime_ns <= PROCESS_START for file in files.values())


def source_files(modules: Iterable[str | None]) -> dict[str, Path] | None:
    """The file of each module that these are made of, or nothing where one of these has none."""
    paths: dict[str, Path] = {}
    wanted = set(modules)
    todo = [module for module in wanted if module is not None and _file(module) is not None]
    if len(todo) < len(wanted):
        return None
    while todo:
        module = todo.pop()
        file = _file(module)
        if module not in paths and file is not None:
            paths[module] = file
            todo += _imports(module, *_stamp(file))
    return paths


def _file(module: str) -> Path | None:
    """Where the source of a module is, unless it is installed."""
    if module.partition(".")[0] == PACKAGE_NAME:
        return _file_of_ours(module)
    name = getattr(sys.modules.get(module), "__file__", None)
    return (
        Path(name)
        if name and name.endswith(".py") and not name.startswith(_folders_of_packages())
        else None
    )


@functools.cache
def _file_of_ours(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split(".")[1:])
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file if file.is_file() else None


@functools.cache
def _folders_of_packages() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(sysconfig.get_paths()[name] + os.sep for name in names)


def _stamp(file: Path) -> tuple[Path, int, int]:
    known = file.stat()
    return file, known.st_mtime_ns, known.st_size


@functools.cache
def _hash(file: Path, changed: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@functools.cache
def _imports(module: str, file: Path, changed: int, size: int) -> tuple[str, ...]:
    """All that a source may import; a name that is no module has no file and falls out later."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    text = file.read_text(encoding="utf-8", errors="replace")
    return tuple(dict.fromkeys(_imported_modules(text, package)))


def _imported_modules(text: str, package: str) -> Iterator[str]:
    for line in IMPORT.finditer(text):
        if line["modules"]:
            yield from MODULE_NAME.findall(line["modules"].partition("#")[0])
            continue
        home = _absolute(line["home"], package)
        yield home
        yield from (f"{home}.{name}" for name in MODULE_NAME.findall(line["names"]))


def _absolute(home: str, package: str) -> str:
    """The full name of a module that is named from where a package stands."""
    name = home.lstrip(".")
    for _ in range(len(home) - len(name) - 1):
        package = package.rpartition(".")[0]
    return name if name == home else f"{package}.{name}".rstrip(".")
