"""Where the tests find models with known answers, outside the package."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "data"


def shared(name: str) -> Path:
    """Give a file of the shared data, or skip the test."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"the shared data has no {name} here")
    return path
