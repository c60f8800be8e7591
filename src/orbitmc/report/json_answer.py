"""An answer as one JSON object; it has no infinities and no NaN, they become null."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from orbitmc.estimate.columns import Marginal
from orbitmc.estimate.marginals import Marginals


def json_object(answer: Marginals) -> dict[str, Any]:
    """Everything that is known, in terms that JSON has."""
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
        "log_z": None if about.log_z is None else _finite(about.log_z),
        "converged": answer.converged,
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
        "moves": None if about.moves is None else dict(about.moves),
        "race": [_priced(price) for price in about.race],
        "variables": {name: _variable(marginal) for name, marginal in answer.items()},
    }


def json_text(answer: Marginals) -> str:
    """The object, with a line per variable, so that people can look at it too."""
    whole = json_object(answer)
    variables = whole.pop("variables")
    head = [f"{_dump(key)}: {_dump(held)}" for key, held in whole.items()]
    body = [f"{_dump(name)}: {_dump(held)}" for name, held in variables.items()]
    listed = ",\n    ".join(body)
    return "{\n  " + ",\n  ".join([*head, '"variables": {\n    ' + listed + "\n  }"]) + "\n}\n"


def _priced(price: Mapping[str, Any]) -> dict[str, Any]:
    numbers = (int, float)
    return {
        key: _finite(float(held)) if isinstance(held, numbers) else held
        for key, held in price.items()
    }


def _variable(marginal: Marginal) -> dict[str, Any]:
    return {
        "values": list(marginal.values),
        "probability": _numbers(marginal.probability),
        "standard_error": _numbers(marginal.standard_error),
        "low": _numbers(marginal.low),
        "high": _numbers(marginal.high),
        "ess": _numbers(marginal.ess),
        "r_hat": _numbers(marginal.r_hat),
        "verdict": marginal.verdict,
        "rare": marginal.rare.tolist(),
    }


def _numbers(found: Iterable[float]) -> list[float | None]:
    return [_finite(float(number)) for number in found]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _dump(held: object) -> str:
    return json.dumps(held, ensure_ascii=False, allow_nan=False)
