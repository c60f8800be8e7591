"""Libraries that only some answers need; they are loaded when one is asked for."""

import importlib
from typing import Any

from orbitmc.errors import InputError


def extra(library: str, name: str) -> Any:
    """Load a library, or say which extra of ours installs it.

    >>> extra("json", "json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(library)
    except ImportError:
        raise InputError(f"this needs the library {library}: pip install orbitmc[{name}]") from None
