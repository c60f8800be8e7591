"""What people say they have seen, checked against the names of a model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orbitmc.errors import InputError
from orbitmc.text import suggestion

Evidence = Mapping[str, str | int | Mapping[str, float] | Sequence[float]]
"""Per variable: a value (by name, or by number from 0), or weights of its values."""


@dataclass(frozen=True)
class Findings:
    """Evidence in terms of value numbers: which value holds, or how likely each one made it."""

    hard: Mapping[str, int]
    soft: Mapping[str, tuple[float, ...]]


def resolve(evidence: Evidence, domains: Mapping[str, Sequence[str]]) -> Findings:
    """Find the variables and values that evidence names; unknown ones get a suggestion."""
    hard: dict[str, int] = {}
    soft: dict[str, tuple[float, ...]] = {}
    for name, seen in evidence.items():
        if name not in domains:
            raise InputError(f"unknown variable {name!r}{suggestion(name, domains)}")
        values = domains[name]
        if isinstance(seen, str | int):
            hard[name] = value_number(name, seen, values)
        else:
            soft[name] = _weights(name, seen, values)
    return Findings(hard, soft)


def value_number(name: str, value: str | int, values: Sequence[str]) -> int:
    if str(value) in values:
        return list(values).index(str(value))
    if isinstance(value, int) and 0 <= value < len(values):
        return value
    raise InputError(
        f"unknown value {value!r} of variable {name!r}; its values are {', '.join(values)}"
        f"{suggestion(str(value), values)}"
    )


def _weights(
    name: str, seen: Mapping[str, float] | Sequence[float], values: Sequence[str]
) -> tuple[float, ...]:
    if isinstance(seen, Mapping):
        numbers = {value_number(name, value, values): weight for value, weight in seen.items()}
        weights = tuple(float(numbers.get(number, 0.0)) for number in range(len(values)))
    else:
        weights = tuple(float(weight) for weight in seen)
    if len(weights) != len(values):
        raise InputError(
            f"soft evidence on {name!r} needs {len(values)} weights, got {len(weights)}"
        )
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights) or not any(weights):
        raise InputError(
            f"soft evidence on {name!r} needs weights that are finite, not negative and not all 0"
        )
    return weights
