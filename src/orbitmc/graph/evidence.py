"""What people say they have seen, checked against the names of a model."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc._util.text import join_words, quote, suggestion
from orbitmc.errors import InputError

Seen = str | int | float | bool | None | Set[Any] | Mapping[Any, float] | Sequence[float]

Evidence = Mapping[str, Seen]
"""Per variable: a value (by name, by number from 0 unless all names are numbers, or true or
false), a set of values of which one holds, or weights of its values. A row of a data frame is
evidence too.

None, NaN and NA mean that the variable was not observed.
"""

TRUTH_NAMES = (("true", "false"), ("yes", "no"), ("1", "0"))
"""What values are called that a bool may mean, in any case."""


@dataclass(frozen=True)
class ResolvedEvidence:
    """Evidence in terms of value numbers: which value holds, or how likely each one made it."""

    hard: Mapping[str, int]
    soft: Mapping[str, tuple[float, ...]]


def as_mapping(evidence: Evidence | None) -> dict[str, Seen]:
    """Evidence by names; what has none is refused."""
    if evidence is None:
        return {}
    if not hasattr(evidence, "items"):
        raise InputError(
            "evidence is a mapping from names to values, such as {'rain': 'heavy'}, not a "
            f"{type(evidence).__name__}"
        )
    return dict(evidence.items())


def resolve(evidence: Evidence, domains: Mapping[str, Sequence[str]]) -> ResolvedEvidence:
    """Find the variables and values that evidence names; unknown ones get a suggestion."""
    hard: dict[str, int] = {}
    soft: dict[str, tuple[float, ...]] = {}
    for name, finding in evidence.items():
        if name not in domains:
            raise InputError(f"unknown variable {quote(name)}{suggestion(name, domains)}")
        values, value = domains[name], _plain(finding)
        if is_missing(value):
            continue
        if isinstance(value, str | int | float):
            hard[name] = value_number(name, value, values)
        else:
            soft[name] = _weights(name, value, values)
    return ResolvedEvidence(hard, soft)


def _plain(value: Any) -> Any:
    """A number or a word of NumPy as that of Python."""
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_scalar else value


def is_missing(value: Any) -> bool:
    """Whether a cell says nothing."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")  # of pandas, which need not be there
    )


def value_number(name: str, value: str | float, values: Sequence[str]) -> int:
    """Which value is meant by its name, its number from 0, or true or false."""
    if isinstance(value, bool):
        return _truth_number(name, value, values)
    if str(value) in values:
        return list(values).index(str(value))
    if isinstance(value, float) and value.is_integer():
        return value_number(name, int(value), values)
    if isinstance(value, int) and 0 <= value < len(values) and not _are_numbers(values):
        return value
    raise InputError(
        f"unknown value {quote(value)} of variable {quote(name)}; its values are "
        f"{join_words(values)}{suggestion(str(value), values)}"
    )


def _are_numbers(values: Sequence[str]) -> bool:
    """Whether all values are called by numbers: then these are meant, and not places from 0."""
    return all(re.fullmatch(r"[+-]?[0-9]+", name) for name in values)


def _truth_number(name: str, value: bool, values: Sequence[str]) -> int:
    """The value that is called true or yes, or its opposite; a bool is never a number."""
    words = [word.casefold() for word in values]
    meant = [pair for pair in TRUTH_NAMES if all(words.count(word) == 1 for word in pair)]
    if len(meant) != 1 or (meant[0] == ("1", "0") and len(values) > 2):
        raise InputError(
            f"{value} is not clearly a value of variable {quote(name)}; its values are "
            f"{join_words(values)}: give one of these names, or its number from 0"
        )
    yes, no = meant[0]
    return words.index(yes if value else no)


def _weights(name: str, finding: Any, values: Sequence[str]) -> tuple[float, ...]:
    if isinstance(finding, Mapping):
        pairs = {value_number(name, _plain(key), values): finding[key] for key in finding}
        weights = _numbers(name, (pairs.get(number, 0.0) for number in range(len(values))))
    elif isinstance(finding, Set):
        return _indicator(name, finding, values)
    else:
        weights = _numbers(name, finding)
    if len(weights) != len(values):
        raise InputError(
            f"soft evidence on {quote(name)} needs {len(values)} weights, got {len(weights)}"
        )
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights) or not any(weights):
        raise InputError(
            f"soft evidence on {quote(name)} needs weights that are finite, not negative and not "
            "all 0"
        )
    return weights


def _indicator(name: str, chosen: Set[Any], values: Sequence[str]) -> tuple[float, ...]:
    """Weight 1 for each value of a set."""
    if not chosen:
        raise InputError(f"the set of values of {quote(name)} is empty: name at least one")
    numbers = {value_number(name, _plain(value), values) for value in chosen}
    return tuple(float(number in numbers) for number in range(len(values)))


def _numbers(name: str, weights: Iterable[Any]) -> tuple[float, ...]:
    try:
        return tuple(float(weight) for weight in weights)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"evidence on {quote(name)} is neither a value nor a weight for each value: "
            f"{quote(weights)}"
        ) from None
