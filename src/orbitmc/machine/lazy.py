"""Names of a package that are loaded when they are first used: importing it costs nothing."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

Load = Callable[[str], Any]
List = Callable[[], list[str]]


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Load, List]:
    """Give a package its `__getattr__` and `__dir__`; `homes` says which module has each name."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"orbitmc.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes} - {"lazily"})

    return load, listed
