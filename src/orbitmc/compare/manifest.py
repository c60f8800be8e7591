"""What one must know to repeat a measurement."""

import json
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

from orbitmc.version import __version__

PACKAGE = Path(__file__).resolve().parents[1]


def manifest_text(**about: Any) -> str:
    """JSON with whatever is told, versions, and the commit if it is known.

    >>> json.loads(manifest_text(seed=1))["seed"]
    1
    """
    record = {**about, "versions": versions(), "commit": commit(), "machine": platform.machine()}
    return json.dumps(record, indent=2, ensure_ascii=False, default=_plain) + "\n"


def versions() -> Mapping[str, str]:
    return {
        "orbitmc": __version__,
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def commit() -> str | None:
    """The commit of these sources, if they lie in their own repository."""
    if not (PACKAGE.parents[1] / "pyproject.toml").exists():
        return None
    command = ["git", "-C", str(PACKAGE), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
