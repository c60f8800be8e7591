"""Our own format: a model as JSON, without loss.

    {"format": "orbitmc-model", "version": 1,
     "variables": [{"name": "Rain", "values": ["no", "yes"]}, ...],
     "tables": [[0.0, -1.25, "-inf", 0.5], ...],
     "factors": [[0, 3, 7], ...],
     "clauses": [[1, 0, 1, 4, 0], ...],
     "constant": 0.0,
     "observed": [{"name": "Wind", "values": ["no", "yes"], "value": 1}, ...],
     "order": ["Wind", "Rain", ...]}

- `format` and `version` must be as shown; unknown keys are errors.
- `variables`: the variables that are not observed. Names are distinct, and so are the value names
  of one variable. In factors, variables and values are numbers, counted from 0 in these lists.
- `tables`: logarithms of weights; `"-inf"` is the logarithm of zero. A table belongs to all factors
  that give its number (counted from 0).
- `factors`: a table number, then the variables it reads; the last variable changes fastest.
- `clauses`: a table number, then pairs of a variable and its satisfying value. The table has two
  entries: for a clause that is not satisfied, and for one that is (some variable has its satisfying
  value). May be left out.
- `constant`: what evidence has already added to the logarithm of every weight. May be left out.
- `observed`: variables that evidence has fixed, and the number of the value that holds. May be
  left out.
- `order`: all names, observed or not, as their author listed them. Left out when that is the order
  of `variables`.

Numbers are written with as many digits as it takes to read back the same bits.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from orbitmc._util.files import write_text
from orbitmc._util.text import MEMORY, Text, quote, read_text, require_memory
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.formats.assembly import runs
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model, Observed

# JSON as its standard says: no NaN, no key twice; and its values, one field at a time.
#
# Errors name the place or the field.

VERSION = 1

BYTES_PER_CHARACTER = 24
"""What a character takes as Python values, at most: `[],` is three and makes a list."""


def require_header(held: object, wanted: str, source: str) -> dict[str, object]:
    """Take the object at the top of a file if it says it is what was wanted."""
    if not isinstance(held, dict):
        raise wrong(source, "", "a JSON object", held)
    if held.get("format") != wanted:
        raise wrong(source, "format", f'"{wanted}"', held.get("format"))
    if held.get("version") is True or held.get("version") != VERSION:
        raise wrong(source, "version", f"{VERSION}", held.get("version"))
    return held


def variables(
    held: object, source: str, field: str = "variables"
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Read a list of `{"name": ..., "values": [...]}`; gives names and value names."""
    names: list[str] = []
    values: list[tuple[str, ...]] = []
    for number, one in enumerate(items(held, source, field)):
        place = f"{field}[{number}]"
        if not isinstance(one, dict):
            raise wrong(source, place, "an object", one)
        names.append(name(one.get("name"), source, f"{place}.name"))
        values.append(distinct_names(one.get("values"), source, f"{place}.values"))
        if not values[-1]:
            raise wrong(source, f"{place}.values", "one value name or more", [])
    require_distinct(names, source, field)
    return tuple(names), tuple(values)


def distinct_names(held: object, source: str, field: str) -> tuple[str, ...]:
    listed = items(held, source, field)
    names = [name(one, source, f"{field}[{number}]") for number, one in enumerate(listed)]
    require_distinct(names, source, field)
    return tuple(names)


def require_distinct(names: Sequence[str], source: str, field: str) -> None:
    seen: set[str] = set()
    for one in names:
        if one in seen:
            raise InputError(f"{field}: {quote(one)} stands there twice", source=source)
        seen.add(one)


def name(held: object, source: str, field: str) -> str:
    if not isinstance(held, str):
        raise wrong(source, field, "a name in quotes", held)
    if not held.isascii() and held != held.encode(errors="replace").decode():
        raise wrong(source, field, "a name that UTF-8 can hold", held)
    return held


def items(held: object, source: str, field: str) -> list[object]:
    if not isinstance(held, list):
        raise wrong(source, field, "a list", held)
    return held


def integers(held: object, source: str, field: str) -> list[int]:
    """Read a list of whole numbers from 0 to 2**31."""
    listed = items(held, source, field)
    for number, one in enumerate(listed):
        if type(one) is not int or not 0 <= one < 2**31:
            raise wrong(source, f"{field}[{number}]", "a whole number, not negative", one)
    return listed  # type: ignore[return-value]


def finite(held: object) -> float | None:
    """A number that a float holds, or nothing."""
    if type(held) is not float and type(held) is not int:
        return None
    try:
        number = float(held)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def wrong(source: str, field: str, expected: str, found: object) -> InputError:
    place = f"{field}: " if field else ""
    return InputError(f"{place}expected {expected}, found {_kind(found)}", source=source)


def _kind(found: object) -> str:
    if found is None:
        return "nothing"
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else f"a list of {len(found)}"
    return quote(str(found)) if isinstance(found, str) else quote(str(found))[1:-1]


def read_json(path: str | Path, *, memory: int = MEMORY) -> object:
    """Read a JSON file into plain Python values."""
    return parse_json(read_text(path, memory=memory), memory=memory)


def parse_json(text: Text, *, memory: int) -> object:
    require_memory(text.source, BYTES_PER_CHARACTER * len(text.content), memory)
    try:
        return json.loads(
            text.content, object_pairs_hook=_without_repetition, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:]
        raise text.error(error.pos, f"this is not JSON: {message}") from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", source=text.source) from None
    except ValueError as error:
        raise InputError(f"this is not JSON we read: {error}", source=text.source) from None


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"key {quote(key)} stands twice in one object")
        made[key] = value
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


FORMAT = "orbitmc-model"
ZERO = "-inf"

REQUIRED = ("format", "version", "variables", "tables", "factors")
OPTIONAL = ("clauses", "constant", "observed", "order")


def read_json_model(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a model in our own format."""
    source = str(path)
    held = require_header(read_json(path, memory=memory), FORMAT, source)
    _require_keys(held, source)
    names, values = variables(held["variables"], source)
    observed = _observed(held.get("observed", []), source)
    with attribute_to_file(source):
        graph = _graph(held, [len(own) for own in values], source)
    order = _order(held, names, observed, source)
    return Model(graph, names, values, observed, order)


def _require_keys(held: dict[str, object], source: str) -> None:
    for key in held:
        if key not in REQUIRED + OPTIONAL:
            raise InputError(f"unknown key {quote(key)}", source=source)
    for key in REQUIRED:
        if key not in held:
            raise wrong(source, key, "a list", None)


def _observed(held: object, source: str) -> dict[str, Observed]:
    names, values = variables(held, source, "observed")
    observed = {}
    for number, (one, own) in enumerate(zip(items(held, source, "observed"), values, strict=True)):
        value = one["value"] if isinstance(one, dict) and "value" in one else None
        if type(value) is not int or not 0 <= value < len(own):
            field = f"observed[{number}].value"
            raise wrong(source, field, f"a number from 0 to {len(own) - 1}", value)
        observed[names[number]] = Observed(own, value)
    return observed


def _order(
    held: dict[str, object], names: Sequence[str], observed: Iterable[str], source: str
) -> tuple[str, ...]:
    order = distinct_names(held.get("order", list(names)), source, "order")
    if sorted(order) != sorted([*names, *observed]):
        raise InputError(
            "order: expected the names of all variables, observed or not, once each", source=source
        )
    return order


def _graph(held: dict[str, object], sizes: Sequence[int], source: str) -> FactorGraph:
    builder = Builder(sizes)
    builder.constant = _log_weight(held.get("constant", 0.0), source, "constant")
    tables = items(held["tables"], source, "tables")
    for logs in runs(_table(one, source, number) for number, one in enumerate(tables)):
        builder.add_tables(logs)
    for block in runs(_rows(held["factors"], len(tables), source, "factors")):
        rows = np.array(block, dtype=np.int64)
        builder.add_factors(rows[:, 1:], rows[:, 0])
    for block in runs(_rows(held.get("clauses", []), len(tables), source, "clauses")):
        rows = np.array(block, dtype=np.int64)
        if rows.shape[1] % 2 == 0:
            raise InputError("clauses: expected a table number, then pairs of variable and value")
        builder.add_clauses(rows[:, 1::2], rows[:, 2::2], rows[:, 0])
    return builder.build()


def _table(held: object, source: str, number: int) -> list[float]:
    field = f"tables[{number}]"
    return [
        entry if type(entry) is float and entry < math.inf else _log_weight(entry, source, field)
        for entry in items(held, source, field)
    ]


def _log_weight(held: object, source: str, field: str) -> float:
    if held == ZERO:
        return -math.inf
    number = finite(held)
    if number is None:
        raise wrong(source, field, f'a finite number or "{ZERO}"', held)
    return number


def _rows(held: object, tables: int, source: str, field: str) -> Iterator[list[int]]:
    for number, one in enumerate(items(held, source, field)):
        row = integers(one, source, f"{field}[{number}]")
        if not row or row[0] >= tables:
            found = row[0] if row else None
            raise wrong(source, f"{field}[{number}]", f"a table number below {tables}", found)
        yield row


def write_json_model(model: Model, path: str | Path) -> None:
    """Write a model in our own format, which holds all of it."""
    graph = model.graph
    free = ({"name": n, "values": v} for n, v in zip(model.names, model.values, strict=True))
    seen = (
        {"name": n, "values": one.values, "value": one.value} for n, one in model.observed.items()
    )
    parts = {
        "format": f'"{FORMAT}"',
        "version": "1",
        "variables": _listed(free),
        "tables": _listed(_table_row(graph, t) for t in range(len(graph.table_start) - 1)),
        "factors": _listed(_factor_row(graph, f) for f in range(graph.first_clause)),
        "clauses": _listed(_clause_row(graph, c) for c in range(graph.first_clause, graph.factors)),
        "constant": json.dumps(_logs([graph.constant])[0]),
        "observed": _listed(seen),
    }
    if model.order != model.names:
        parts["order"] = json.dumps(model.order)
    body = ",\n".join(f'"{key}": {part}' for key, part in parts.items())
    write_text(path, "{" + body + "}\n")


def _listed(rows: Iterable[object]) -> str:
    """One row per line, so that people and line-based tools can compare files."""
    lines = [json.dumps(row, allow_nan=False) for row in rows]
    return "[\n" + ",\n".join(lines) + "]" if lines else "[]"


def _logs(log_weights: Iterable[float]) -> list[float | str]:
    return [ZERO if entry == -math.inf else entry for entry in log_weights]


def _table_row(graph: FactorGraph, table: int) -> list[float | str]:
    return _logs(graph.table[graph.table_start[table] : graph.table_start[table + 1]].tolist())


def _factor_row(graph: FactorGraph, factor: int) -> list[int]:
    return [int(graph.table_of[factor]), *graph.scope_of(factor).tolist()]


def _clause_row(graph: FactorGraph, clause: int) -> list[int]:
    pairs = np.stack([graph.scope_of(clause), graph.satisfying_of(clause)], axis=1)
    return [int(graph.table_of[clause]), *pairs.reshape(-1).tolist()]
