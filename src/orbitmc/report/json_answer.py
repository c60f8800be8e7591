"""An answer as one JSON object; it has no infinities and no NaN, they become null."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.estimate.marginals import MARGINAL_COLUMNS, Columns, Marginals
from orbitmc.estimate.verdicts import VERDICTS
from orbitmc.report.words import verdict


def json_pieces(answer: Marginals) -> Iterator[str]:
    """The object in pieces, with a line per variable, so that people can look at it too."""
    head = ",\n  ".join(f"{_dump(key)}: {_dump(held)}" for key, held in _head(answer).items())
    yield "{\n  " + head + ',\n  "variables": {\n    '
    between = ""
    for piece in answer.columns.pieces():
        yield between + ",\n    ".join(_json_lines(piece))
        between = ",\n    "
    yield "\n  }\n}\n"


def _head(answer: Marginals) -> dict[str, Any]:
    """Everything that is known but of the variables, in terms that JSON has."""
    about = answer.about
    return {
        "method": about.method,
        "reason": about.reason,
        "seconds": about.seconds,
        "seed": about.seed,
        "samples": about.samples,
        "chains": about.chains,
        "updates": about.updates,
        "updates_per_second": about.updates_per_second,
        "outcomes": dict(about.outcomes),
        "estimator": about.estimator,
        "log_z": None if about.log_z is None else _finite(about.log_z),
        "log_z_error": None if about.log_z is None else about.log_z_error,
        "converged": answer.converged,
        "verdict": verdict(answer),
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
        "moves": None if about.moves is None else dict(about.moves),
        "race": [_priced(price) for price in about.race],
    }


def _json_lines(piece: Columns) -> Iterator[str]:
    """A line for each variable of some."""
    lists = {column: _numbers(getattr(piece, column)) for column in MARGINAL_COLUMNS}
    rare, first = piece.rare.tolist(), piece.start.tolist()
    for place, name in enumerate(piece.names):
        own = slice(first[place], first[place + 1])
        held = {
            "values": piece.values[place],
            **{column: numbers[own] for column, numbers in lists.items()},
            "verdict": VERDICTS[piece.verdict[place]],
            "rare": rare[own],
        }
        yield f"{_dump(name)}: {_dump(held)}"


def _priced(price: Mapping[str, Any]) -> dict[str, Any]:
    numbers = (int, float)
    return {
        key: _finite(float(held)) if isinstance(held, numbers) else held
        for key, held in price.items()
    }


def _numbers(found: Floats) -> list[float | None]:
    numbers: list[float | None] = found.tolist()
    for place in np.flatnonzero(~np.isfinite(found)):
        numbers[place] = None
    return numbers


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
