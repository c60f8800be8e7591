"""Evidence from a UAI file, from a JSON object, or typed as `variable=value`.

- UAI: the number of observed variables, then pairs of a variable and its value, all by number. A
  leading number of samples is accepted when the count of words says so; it must be one.
- JSON: `{"HRBP": "HIGH", "CO": {"LOW": 0.2, "NORMAL": 0.8}}`. A value (by name, by number from 0,
  or `true` and `false` where values are called true and false, yes and no, or 1 and 0) is hard
  evidence, weights of the values (by name, or a list of all) are soft.
- Typed: `HRBP=HIGH`, with a value by name, or by number from 0 when no value has that name;
  `HRBP={"HIGH", "LOW"}` for one of several; `HRBP={"HIGH": .8, "LOW": .2}` for weights.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from orbitmc import formats
from orbitmc._util.text import MEMORY, Text, quote, read_text, suggestion
from orbitmc.errors import ContradictionError, InputError, attribute_to_file
from orbitmc.graph.evidence import Evidence, resolve
from orbitmc.graph.model import Model

Domains = Mapping[str, Sequence[str]]


def read_evidence(source: str | Path, model: Model, *, memory: int = MEMORY) -> Evidence:
    """Read evidence about a model from a file, or from `variable=value` itself.

    A text that fits the names of the model is taken as typed even if a file has that name; write
    `./name` to mean the file.

    >>> import orbitmc as om
    >>> read_evidence("grass=wet", om.read("examples/sprinkler.bif"))
    {'grass': 'wet'}
    """
    domains = model.domains()
    typed = _splits(str(source), domains)
    if len(typed) > 1:
        raise InputError(f"{quote(str(source))} can be read in {len(typed)} ways; use a JSON file")
    if typed:
        return typed[0]
    if ("=" in str(source) or str(source) in domains) and not os.path.exists(source):
        raise _explain_mistake(str(source), domains)
    return evidence_in(read_text(source, memory=memory), domains, memory)


def merge_evidence(pieces: Sequence[Evidence], model: Model) -> Evidence:
    """Join several pieces of evidence; weights multiply, and two different values contradict."""
    domains = model.domains()
    hard: dict[str, int] = {}
    soft: dict[str, list[float]] = {}
    for findings in (resolve(piece, domains) for piece in pieces):
        for variable, value in findings.hard.items():
            if hard.setdefault(variable, value) != value:
                raise contradiction(variable, domains[variable], hard[variable], value)
        for variable, weights in findings.soft.items():
            known = soft.get(variable)
            soft[variable] = list(weights) if known is None else _product(variable, known, weights)
    for variable, value in hard.items():
        if variable in soft and soft[variable][value] == 0:
            word = domains[variable][value]
            raise ContradictionError(
                f"{quote(variable)} is {quote(word)}, which other evidence excludes"
            )
    values = {variable: domains[variable][value] for variable, value in hard.items()}
    return {**{name: tuple(soft[name]) for name in soft if name not in hard}, **values}


def _product(variable: str, known: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Weights of several pieces; log Z counts them as they are, so they are not scaled."""
    pairs = list(zip(known, weights, strict=True))
    if not any(a and b for a, b in pairs):
        raise ContradictionError(f"the pieces of evidence on {quote(variable)} exclude every value")
    product = [a * b for a, b in pairs]
    lost = [a and b and not p for p, (a, b) in zip(product, pairs, strict=True)]
    if any(lost) or not all(map(math.isfinite, product)):
        raise InputError(
            f"the weights of the pieces of evidence on {quote(variable)} are too large or too "
            "small to multiply: scale them"
        )
    return product


def _splits(typed: str, domains: Domains) -> list[Evidence]:
    """All ways to read `variable=value` with names of the model; either may contain `=`."""
    pieces = typed.split("=")
    readings: list[Evidence] = []
    for cut in range(1, len(pieces)):
        variable = "=".join(pieces[:cut]).strip()
        value = "=".join(pieces[cut:]).strip()
        if value in domains.get(variable, ()):
            readings.append({variable: value})
        elif variable in domains and _numbers(value, domains[variable]):
            readings.append({variable: int(value)})
        elif variable in domains and value[:1] == "{":
            readings.append({variable: _parse_braces(value, typed)})
    return readings


ITEM = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s,:{}"'][^,:{}"']*))\s*"""
    r"""(?::\s*(?P<weight>[^\s,:{}]+)\s*)?(?P<end>[,}])"""
)
"""A value, its weight if it has one, and what ends it."""


def _parse_braces(text: str, typed: str) -> set[str] | dict[str, float]:
    """Read a set of values, or weights of values."""
    place, pairs = 1, dict[str, float | None]()
    while place < len(text):
        item = ITEM.match(text, place)
        if item is None or (item["end"] == "}") != (item.end() == len(text)):
            break
        value = next(
            text_of for text_of in item.group("double", "single", "bare") if text_of is not None
        )
        if value.strip() in pairs:
            raise InputError(f"{quote(typed)} names the value {quote(value.strip())} twice")
        pairs[value.strip()] = None if item["weight"] is None else _weight(item["weight"], typed)
        place = item.end()
    weights = {value: weight for value, weight in pairs.items() if weight is not None}
    if place < len(text) or not pairs or len(weights) not in (0, len(pairs)):
        raise InputError(
            f"{quote(typed)} is neither a set of values, such as A={{x, y}}, "
            "nor weights of values, such as A={x: .8, y: .2}"
        )
    return weights or set(pairs)


def _weight(text: str, typed: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{quote(text)} in {quote(typed)} is not a weight") from None


def _numbers(value: str, values: Sequence[str]) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 10 and int(value) < len(values)


def _explain_mistake(typed: str, domains: Domains) -> InputError:
    variable, equals, value = (part.strip() for part in typed.partition("="))
    if variable in domains and not equals:
        return InputError(f"which value has {quote(variable)}? say {variable}=VALUE")
    if variable not in domains:
        near = suggestion(variable, domains)
        return InputError(f"unknown variable {quote(variable)} in {quote(typed)}{near}")
    try:
        resolve({variable: value}, domains)
    except InputError as error:
        return error
    raise AssertionError("a typed value that fits was taken before")


def evidence_in(text: Text, domains: Domains, memory: int) -> Evidence:
    """Read evidence as JSON if it begins like that, otherwise as UAI."""
    if text.content.lstrip()[:1] in ("{", "["):
        evidence = _from_json(formats.json_model.parse_json(text, memory=memory), text.source)
        with attribute_to_file(text.source):
            resolve(evidence, domains)
        return evidence
    return _from_uai(formats.uai.Words(text, memory=memory), domains)


def _from_json(content: object, source: str) -> Evidence:
    if not isinstance(content, dict):
        raise formats.json_model.wrong(source, "", "an object of variables", content)
    return {
        formats.json_model.name(key, source, "a variable"): _parse_value(content[key], source, key)
        for key in content
    }


def _parse_value(
    content: object, source: str, variable: str
) -> str | int | dict[str, float] | list[float]:
    if isinstance(content, str):
        return formats.json_model.name(content, source, variable)
    if isinstance(content, int):  # true and false among them
        return content
    if isinstance(content, dict):
        return {
            key: _json_weight(weight, source, f"{variable}.{key}")
            for key, weight in content.items()
        }
    if isinstance(content, list):
        listed = enumerate(content)
        return [_json_weight(weight, source, f"{variable}[{place}]") for place, weight in listed]
    raise formats.json_model.wrong(source, variable, "a value or weights of values", content)


def _json_weight(content: object, source: str, field: str) -> float:
    weight = formats.json_model.finite(content)
    if weight is None or weight < 0:
        which = " (finite, not negative)" if type(content) in (int, float) else ""
        raise formats.json_model.wrong(source, field, f"a weight{which}", content)
    return weight


def _from_uai(words: "formats.uai.Words", domains: Domains) -> Evidence:
    _skip_sample_count(words)
    count = words.integer("the number of observed variables")
    if words.left != 2 * count:
        raise words.error(
            words.taken - 1,
            f"{count} observed variables take {2 * count} words, but {words.left} follow",
        )
    names, evidence = list(domains), dict[str, str]()
    for _ in range(count):
        variable = _read_number_below(words, "a variable", len(names))
        values = domains[names[variable]]
        value = values[_read_number_below(words, f"a value of variable {variable}", len(values))]
        first = evidence.setdefault(names[variable], value)
        if first != value:
            known = values.index(first), values.index(value)
            raise contradiction(names[variable], values, *known)
    return evidence


def _skip_sample_count(words: "formats.uai.Words") -> None:
    """Skip a leading `1` (one sample follows): then, and only then, the count of words is even."""
    samples = words.words[0] if words.words else ""
    if len(words.words) % 2 == 0 and samples:
        if samples != "1":
            raise words.error(
                0,
                f"expected the number of observed variables and as many pairs (or one sample of "
                f"them), found {quote(samples)} and {len(words.words) - 1} more words",
            )
        words.taken = 1


def _read_number_below(words: "formats.uai.Words", what: str, bound: int) -> int:
    number = words.integer(what)
    if number >= bound:
        raise words.error(words.taken - 1, f"expected {what} from 0 to {bound - 1}, found {number}")
    return number


def contradiction(
    variable: str, values: Sequence[str], first: int, second: int
) -> ContradictionError:
    return ContradictionError(
        f"the evidence says that {quote(variable)} is {quote(values[first])} and also "
        f"{quote(values[second])}"
    )
