"""What is loaded when it is first used: names of packages, and code that draws values."""

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orbitmc.errors import InputError

Load = Callable[[str], Any]
List = Callable[[], list[str]]


NAMED = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def load_lazily(package: str, file: str) -> tuple[Load, List]:
    """Give a package its `__getattr__` and `__dir__`; the stub beside it lists its names.

    Each line is `from MODULE import NAME as NAME`, which type checkers read, too. A name is looked
    up at every use, so that whoever replaces it in its module replaces it here.
    """
    listed = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: module for module, name in NAMED.findall(listed)}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(homes[name])
        if homes[name] == package or not hasattr(home, name):  # a package in it
            return importlib.import_module(f"{homes[name]}.{name}")
        return getattr(home, name)

    return load, lambda: sorted(homes)


class Renderers:
    """Functions that draw values, by name.

    They stand above the values, so they make themselves known when their package is imported. The
    root of all packages says how to `load` that package.
    """

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}
        self.load: Callable[[], object] = lambda: None

    def add(self, homes: Mapping[str, str]) -> None:
        """Make functions known; `homes` says which module has each."""
        self.homes.update(homes)

    def __call__(self, name: str) -> Callable[..., Any]:
        """The function that draws, loaded when it is first used."""
        if name not in self.homes:
            self.load()
        function: Callable[..., Any] = getattr(importlib.import_module(self.homes[name]), name)
        return function


renderer = Renderers()


class HtmlRepr:
    """A value that notebooks show as HTML, and terminals as it prints."""

    def _repr_html_(self) -> str:
        return str(renderer("html")(self))

    def __repr__(self) -> str:
        return str(self)


# Libraries that only some answers need; they are loaded when one is asked for.


class LateModule:
    """A module that is loaded when something of it is first used.

    >>> LateModule("json").dumps([1])
    '[1]'
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)


def extra(library: str, name: str) -> Any:
    """Load a library, or say which extra of ours installs it.

    >>> extra("json", "json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(library)
    except ImportError:
        raise InputError(
            f"this needs the library {library}: pip install 'orbitmc[{name}]'"
        ) from None
