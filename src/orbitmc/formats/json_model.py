"""Our own format: a model as JSON, without loss.

    {"format": "orbitmc-model", "version": 1,
     "variables": [{"name": "Rain", "values": ["no", "yes"]}, ...],
     "tables": [[0.0, -1.25, "-inf", 0.5], ...],
     "factors": [[0, 3, 7], ...],
     "clauses": [[1, 0, 1, 4, 0], ...],
     "constant": 0.0,
     "observed": [{"name": "Wind", "values": ["no", "yes"], "value": 1}, ...],
     "order": ["Wind", "Rain", ...],
     "helpers": ["Fever after 1 of 3 causes", ...],
     "precision": {"rows": 200, "same_as": [0, 1, ...], "counts": [[201.0], ...],
                   "information": [[12.5], [0.25, 8.0], ...]}}

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
- `order`: all names but those of helpers, observed or not, as their author listed them. Left out
  when that is the order of `variables`.
- `helpers`: names of variables that nobody sees, because noisy gates need them and people do not.
  They are summed out. May be left out.
- `precision`: how sure the tables of a Bayesian network are that were learned from so many `rows`.
  `same_as` has for each variable the one whose table it has: itself, one that it is tied to, or -1
  if the table was given. `counts` has for each variable how many rows are behind each row of its
  table, those that the prior is worth included; none if the table is that of another. Where rows
  had holes, `information` is the lower triangle of a matrix: minus the second derivatives of the
  log-posterior by the log-odds of all free entries (of each row of a table all but the largest and
  those that are 0, variable by variable). Left out for other models.

Numbers are written with as many digits as it takes to read back the same bits.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_text
from orbitmc._util.text import MEMORY, Text, quote, read_text, require_memory
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.formats.assembly import runs
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model, Observed, TablePrecision

# JSON as its standard says: no NaN, no key twice; and its values, one field at a time.
#
# Errors name the place or the field.

VERSION = 1

JSON_BYTES_PER_CHARACTER = 24
"""What a character takes as Python values, at most: `[],` is three and makes a list."""


def require_header(content: object, wanted: str, source: str) -> dict[str, object]:
    """Take the object at the top of a file if it says it is what was wanted."""
    if not isinstance(content, dict):
        raise wrong(source, "", "a JSON object", content)
    if content.get("format") != wanted:
        raise wrong(source, "format", f'"{wanted}"', content.get("format"))
    if content.get("version") is True or content.get("version") != VERSION:
        raise wrong(source, "version", f"{VERSION}", content.get("version"))
    return content


def variables(
    content: object, source: str, field: str = "variables"
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Read a list of `{"name": ..., "values": [...]}`; gives names and value names."""
    names: list[str] = []
    values: list[tuple[str, ...]] = []
    for number, entry in enumerate(items(content, source, field)):
        place = f"{field}[{number}]"
        if not isinstance(entry, dict):
            raise wrong(source, place, "an object", entry)
        names.append(name(entry.get("name"), source, f"{place}.name"))
        values.append(distinct_names(entry.get("values"), source, f"{place}.values"))
        if not values[-1]:
            raise wrong(source, f"{place}.values", "one value name or more", [])
    require_distinct(names, source, field)
    return tuple(names), tuple(values)


def distinct_names(content: object, source: str, field: str) -> tuple[str, ...]:
    listed = items(content, source, field)
    names = [name(entry, source, f"{field}[{number}]") for number, entry in enumerate(listed)]
    require_distinct(names, source, field)
    return tuple(names)


def require_distinct(names: Sequence[str], source: str, field: str) -> None:
    seen: set[str] = set()
    for word in names:
        if word in seen:
            raise InputError(f"{field}: {quote(word)} stands there twice", source=source)
        seen.add(word)


def name(content: object, source: str, field: str) -> str:
    if not isinstance(content, str):
        raise wrong(source, field, "a name in quotes", content)
    if not content.isascii() and content != content.encode(errors="replace").decode():
        raise wrong(source, field, "a name that UTF-8 can hold", content)
    return content


def items(content: object, source: str, field: str) -> list[object]:
    if not isinstance(content, list):
        raise wrong(source, field, "a list", content)
    return content


def integers(content: object, source: str, field: str) -> list[int]:
    """Read a list of whole numbers from 0 to 2**31."""
    listed = items(content, source, field)
    for number, entry in enumerate(listed):
        if type(entry) is not int or not 0 <= entry < 2**31:
            raise wrong(source, f"{field}[{number}]", "a whole number, not negative", entry)
    return listed  # type: ignore[return-value]


def finite(content: object) -> float | None:
    """A number that a float holds, or nothing."""
    if type(content) is not float and type(content) is not int:
        return None
    try:
        number = float(content)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def wrong(source: str, field: str, expected: str, content: object) -> InputError:
    place = f"{field}: " if field else ""
    return InputError(f"{place}expected {expected}, found {_kind(content)}", source=source)


def _kind(content: object) -> str:
    if content is None:
        return "nothing"
    if isinstance(content, dict | list):
        return "an object" if isinstance(content, dict) else f"a list of {len(content)}"
    return quote(str(content)) if isinstance(content, str) else quote(str(content))[1:-1]


def read_json(path: str | Path, *, memory: int = MEMORY) -> object:
    """Read a JSON file into plain Python values."""
    return parse_json(read_text(path, memory=memory), memory=memory)


def parse_json(text: Text, *, memory: int) -> object:
    require_memory(text.source, JSON_BYTES_PER_CHARACTER * len(text.content), memory)
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
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"key {quote(key)} stands twice in one object")
        fields[key] = value
    return fields


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


MODEL_FORMAT = "orbitmc-model"
ZERO = "-inf"

PRECISION = ("rows", "same_as", "counts", "information")
REQUIRED = ("format", "version", "variables", "tables", "factors")
OPTIONAL = ("clauses", "constant", "observed", "order", "helpers", "precision")


def read_json_model(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a model in our own format."""
    source = str(path)
    content = require_header(read_json(path, memory=memory), MODEL_FORMAT, source)
    _require_keys(content, source)
    names, values = variables(content["variables"], source)
    observed = _read_observed(content.get("observed", []), source)
    with attribute_to_file(source):
        graph = _graph(content, [len(domain) for domain in values], source)
    order = _order(content, names, observed, source)
    precision = _precision(content.get("precision"), len(names), source)
    if precision is not None and observed:
        raise InputError("precision: a model with observed variables has none", source=source)
    return Model(graph, names, values, observed, order, precision=precision)


def _precision(content: object, variables: int, source: str) -> TablePrecision | None:
    if content is None:
        return None
    if not isinstance(content, dict):
        raise wrong(source, "precision", "an object", content)
    for key in content:
        if key not in PRECISION:
            raise InputError(f"precision: unknown key {quote(key)}", source=source)
    rows = content.get("rows")
    if type(rows) is not int or rows < 0:
        raise wrong(source, "precision.rows", "a whole number, not negative", rows)
    same_as = items(content.get("same_as"), source, "precision.same_as")
    owners: list[int] = []
    for number, entry in enumerate(same_as):
        if type(entry) is not int or not -1 <= entry < variables:
            expected = f"a number from -1 to {variables - 1}"
            raise wrong(source, f"precision.same_as[{number}]", expected, entry)
        owners.append(entry)
    counts = _number_rows(content.get("counts"), source, "precision.counts")
    if len(same_as) != variables or len(counts) != variables:
        expected = f"{variables} entries each"
        raise wrong(source, "precision.same_as and counts", expected, same_as)
    for number, row in enumerate(counts):
        if (row < 0).any():
            raise wrong(source, f"precision.counts[{number}]", "no negative numbers", row.tolist())
    information = None
    if "information" in content:
        triangle = _number_rows(content["information"], source, "precision.information")
        information = np.zeros((len(triangle), len(triangle)))
        for number, row in enumerate(triangle):
            if len(row) != number + 1:
                place = f"precision.information[{number}]"
                raise wrong(source, place, f"{number + 1} numbers", row.tolist())
            information[number, : number + 1] = information[: number + 1, number] = row
    return TablePrecision(rows, tuple(owners), tuple(counts), information)


def _number_rows(content: object, source: str, field: str) -> list[Floats]:
    rows = []
    for number, entry in enumerate(items(content, source, field)):
        row = [finite(value) for value in items(entry, source, f"{field}[{number}]")]
        if None in row:
            raise wrong(source, f"{field}[{number}]", "finite numbers", entry)
        rows.append(np.array(row, dtype=np.float64))
    return rows


def _require_keys(content: dict[str, object], source: str) -> None:
    for key in content:
        if key not in REQUIRED + OPTIONAL:
            raise InputError(f"unknown key {quote(key)}", source=source)
    for key in REQUIRED:
        if key not in content:
            raise wrong(source, key, "a list", None)


def _read_observed(content: object, source: str) -> dict[str, Observed]:
    names, values = variables(content, source, "observed")
    observed = {}
    for number, (entry, domain) in enumerate(
        zip(items(content, source, "observed"), values, strict=True)
    ):
        value = entry["value"] if isinstance(entry, dict) and "value" in entry else None
        if type(value) is not int or not 0 <= value < len(domain):
            field = f"observed[{number}].value"
            raise wrong(source, field, f"a number from 0 to {len(domain) - 1}", value)
        observed[names[number]] = Observed(domain, value)
    return observed


def _order(
    content: dict[str, object], names: Sequence[str], observed: Iterable[str], source: str
) -> tuple[str, ...]:
    helpers = distinct_names(content.get("helpers", []), source, "helpers")
    unknown = sorted({*helpers}.difference(names))
    if unknown:
        raise InputError(f"helpers: {quote(unknown[0])} is no variable", source=source)
    seen = [name for name in names if name not in {*helpers}]
    order = distinct_names(content.get("order", seen), source, "order")
    if sorted(order) != sorted([*seen, *observed]):
        raise InputError(
            "order: expected the names of all variables, observed or not, once each", source=source
        )
    return order


def _graph(content: dict[str, object], sizes: Sequence[int], source: str) -> FactorGraph:
    builder = Builder(sizes)
    builder.constant = _log_weight(content.get("constant", 0.0), source, "constant")
    tables = items(content["tables"], source, "tables")
    for logs in runs(_table(entry, source, number) for number, entry in enumerate(tables)):
        builder.add_tables(logs)
    for block in runs(_rows(content["factors"], len(tables), source, "factors")):
        rows = np.array(block, dtype=np.int64)
        builder.add_factors(rows[:, 1:], rows[:, 0])
    for block in runs(_rows(content.get("clauses", []), len(tables), source, "clauses")):
        rows = np.array(block, dtype=np.int64)
        if rows.shape[1] % 2 == 0:
            raise InputError("clauses: expected a table number, then pairs of variable and value")
        builder.add_clauses(rows[:, 1::2], rows[:, 2::2], rows[:, 0])
    return builder.build()


def _table(content: object, source: str, number: int) -> list[float]:
    field = f"tables[{number}]"
    return [
        entry if type(entry) is float and entry < math.inf else _log_weight(entry, source, field)
        for entry in items(content, source, field)
    ]


def _log_weight(content: object, source: str, field: str) -> float:
    if content == ZERO:
        return -math.inf
    number = finite(content)
    if number is None:
        raise wrong(source, field, f'a finite number or "{ZERO}"', content)
    return number


def _rows(content: object, tables: int, source: str, field: str) -> Iterator[list[int]]:
    for number, entry in enumerate(items(content, source, field)):
        row = integers(entry, source, f"{field}[{number}]")
        if not row or row[0] >= tables:
            table = row[0] if row else None
            raise wrong(source, f"{field}[{number}]", f"a table number below {tables}", table)
        yield row


def write_json_model(model: Model, path: str | Path) -> None:
    """Write a model in our own format, which holds all of it."""
    graph = model.graph
    free = ({"name": n, "values": v} for n, v in zip(model.names, model.values, strict=True))
    observed = (
        {"name": n, "values": observation.values, "value": observation.value}
        for n, observation in model.observed.items()
    )
    parts = {
        "format": f'"{MODEL_FORMAT}"',
        "version": "1",
        "variables": _json_lines(free),
        "tables": _json_lines(_table_row(graph, t) for t in range(len(graph.table_start) - 1)),
        "factors": _json_lines(_factor_row(graph, f) for f in range(graph.first_clause)),
        "clauses": _json_lines(
            _clause_row(graph, c) for c in range(graph.first_clause, graph.factors)
        ),
        "constant": json.dumps(_logs([graph.constant])[0]),
        "observed": _json_lines(observed),
    }
    if model.order != model.names:
        parts["order"] = json.dumps(model.order)
    if model.helpers:
        parts["helpers"] = json.dumps([name for name in model.names if name in model.helpers])
    if model.precision is not None:
        parts["precision"] = _precision_text(model.precision)
    body = ",\n".join(f'"{key}": {part}' for key, part in parts.items())
    write_text(path, "{" + body + "}\n")


def _precision_text(precision: TablePrecision) -> str:
    fields = {
        "rows": json.dumps(precision.rows),
        "same_as": json.dumps(precision.same_as),
        "counts": _json_lines(row.tolist() for row in precision.counts),
    }
    if precision.information is not None:
        rows = precision.information.tolist()
        fields["information"] = _json_lines(row[: k + 1] for k, row in enumerate(rows))
    return "{" + ",\n".join(f'"{key}": {part}' for key, part in fields.items()) + "}"


def _json_lines(rows: Iterable[object]) -> str:
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
