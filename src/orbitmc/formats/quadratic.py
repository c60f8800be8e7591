"""Binary quadratic models as dimod saves them (`bqm.to_file()`, version 2).

A magic word, the version, a line of JSON, then arrays: the offset, for each variable where its
neighbours begin and its bias, for each neighbour its place and its bias; then labels as JSON. Every
coupling stands there twice.
"""

import json
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.files import is_count
from orbitmc._util.text import (
    MEMORY,
    MOST_DIGITS,
    Text,
    format_names,
    number_in,
    quote,
    read_bytes,
    read_text,
    require_memory,
)
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.graph.model import Model
from orbitmc.models._ising import VARTYPE_VALUES, Quadratic, quadratic_model

MAGIC, LABELS = b"DIMODBQM", b"VARS"
FLOATS, INTEGERS = ("float32", "float64"), ("int8", "int16", "int32", "int64")
KEYS = ("dtype", "itype", "ntype", "shape", "vartype", "variables")
BQM_BYTES_PER_BYTE = 40


class Header(NamedTuple):
    """What a file says of itself: types of its arrays, how large they are, and whose they are."""

    vartype: str
    variables: int
    couplings: int
    linear: np.dtype[Any]
    neighbour: np.dtype[Any]
    bias: np.dtype[Any]
    labelled: bool


def read_bqm(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a binary quadratic model; a state weighs exp(-E)."""
    data, source = read_bytes(path, memory=memory), str(path)
    require_memory(source, BQM_BYTES_PER_BYTE * len(data), memory)
    with attribute_to_file(source):
        return quadratic_model(_energy(data))


def _energy(data: bytes) -> Quadratic:
    header, start = _header(data)
    sizes = (
        header.bias.itemsize,
        header.variables * header.linear.itemsize,
        2 * header.couplings * header.neighbour.itemsize,
    )
    if start + sum(sizes) > len(data):
        raise InputError("the file ends before its last coupling")
    offset = np.frombuffer(data, header.bias, 1, start)[0]
    linear = np.frombuffer(data, header.linear, header.variables, start + sizes[0])
    neighbour = np.frombuffer(data, header.neighbour, 2 * header.couplings, start + sum(sizes[:2]))
    pairs, strengths = _couplings(header, linear["start"], neighbour)
    biases = np.asarray(linear["bias"], dtype=np.float64)
    if not all(np.isfinite(numbers).all() for numbers in (offset, biases, strengths)):
        raise InputError("a bias is not a finite number")
    names = _names(header, data[start + sum(sizes) :])
    return Quadratic(header.vartype, names, biases, pairs, strengths, float(offset))


def _header(data: bytes) -> tuple[Header, int]:
    if not data.startswith(MAGIC):
        raise InputError("this is not a binary quadratic model that dimod has saved")
    if len(data) < 14 or data[8] != 2:
        raise InputError("expected version 2 of the format: save it again with a newer dimod")
    length = struct.unpack_from("<I", data, 10)[0]
    header = _json(data[14 : 14 + length], "the header")
    if not isinstance(header, dict) or any(key not in header for key in KEYS):
        raise InputError(f"the header needs {', '.join(KEYS)}")
    for key, known in (("dtype", FLOATS), ("itype", INTEGERS), ("ntype", INTEGERS)):
        if header[key] not in known:
            raise InputError(f"{key} is one of {', '.join(known)} in the header")
    if header["vartype"] not in list(VARTYPE_VALUES):
        raise InputError("vartype is SPIN or BINARY in the header")
    shape = header["shape"]
    if not isinstance(shape, list) or len(shape) != 2 or not all(map(is_count, shape)):
        raise InputError("shape is two whole numbers in the header: variables and couplings")
    bias = np.dtype(header["dtype"]).newbyteorder("<")
    return Header(
        vartype=header["vartype"],
        variables=shape[0],
        couplings=shape[1],
        linear=np.dtype([("start", np.dtype(header["ntype"]).newbyteorder("<")), ("bias", bias)]),
        neighbour=np.dtype(
            [("place", np.dtype(header["itype"]).newbyteorder("<")), ("bias", bias)]
        ),
        bias=bias,
        labelled=bool(header["variables"]),
    ), 14 + length


def _couplings(
    header: Header, start: NDArray[Any], neighbour: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Each coupling once: from the variable that comes later."""
    ends = np.concatenate([start.astype(np.int64), [len(neighbour)]])
    if (len(start) and start[0] != 0) or (np.diff(ends) < 0).any() or (ends < 0).any():
        raise InputError("the neighbours of variables overlap")
    owner = np.repeat(np.arange(header.variables), np.diff(ends))
    place = neighbour["place"].astype(np.int64)
    if len(owner) != len(place) or ((place < 0) | (place >= header.variables)).any():
        raise InputError("a neighbour is no variable")
    later = owner > place
    if (owner == place).any() or later.sum() != header.couplings:
        raise InputError("couplings do not stand there twice, once for each of two variables")
    _require_equal(owner, place, neighbour["bias"], later)
    strengths = neighbour["bias"][later].astype(np.float64)
    return np.stack([place[later], owner[later]], axis=1), strengths


def _require_equal(
    owner: NDArray[np.int64], place: NDArray[np.int64], bias: NDArray[Any], later: NDArray[np.bool]
) -> None:
    """Refuse a coupling that is another one for each of its two variables."""
    there = np.lexsort((owner[later], place[later]))
    back = np.lexsort((place[~later], owner[~later]))
    same = (
        np.array_equal(owner[later][there], place[~later][back])
        and np.array_equal(place[later][there], owner[~later][back])
        and np.array_equal(bias[later][there], bias[~later][back], equal_nan=True)
    )
    if not same:
        raise InputError("a coupling is not the same for both of its variables")


def _names(header: Header, rest: bytes) -> tuple[str, ...]:
    if not header.labelled:
        return tuple(map(str, range(header.variables)))
    if not rest.startswith(LABELS) or len(rest) < 8:
        raise InputError("the labels of the variables are missing")
    length = struct.unpack_from("<I", rest, 4)[0]
    labels = _json(rest[8 : 8 + length], "the list of labels")
    if not isinstance(labels, list) or len(labels) != header.variables:
        raise InputError(f"expected {header.variables} labels of variables")
    return format_names(_plain(label) for label in labels)


def _plain(label: Any) -> Any:
    """A label as dimod has it: what JSON has as a list was a tuple."""
    if isinstance(label, list):
        return tuple(_plain(part) for part in label)
    if isinstance(label, float) and not math.isfinite(label):
        raise InputError("a label is not a finite number")
    return label


def _json(data: bytes, what: str) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"{what} is not JSON") from None


# Couplings as text, a line each: `i j bias`, or `i i bias` for a variable by itself.
#
# dimod writes such files as COO, with a first line `# vartype=SPIN` or `# vartype=BINARY`. Others
# begin with a line of two numbers, how many spins and couplings there are. All hold energies: a
# state weighs exp(-E), and `model.at(beta)` gives other temperatures. What stands twice adds up, as
# in dimod; a list of spins with a pair in both orders is refused.

BYTES_PER_LINE = 600
"""What a line takes: a coupling as Python objects, then as a factor; `1 2 3` is a short one."""

BYTES_PER_SPIN = 200  # what a variable takes that is announced and never named
VARTYPE = re.compile(r"#\s*vartype\s*=\s*(\S+)", re.IGNORECASE)
SPARE = 1000  # spins that a file may announce beyond those that it couples


class Line(NamedTuple):
    """A line that says something: where it begins, and its words."""

    at: int
    words: list[str]


def read_coo(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read COO as dimod writes it; the file must say what its variables are."""
    text = read_text(path, memory=memory)
    match = VARTYPE.search(text.content)
    if match is None:
        raise text.error(0, "expected a first line '# vartype=SPIN' or '# vartype=BINARY'")
    if match[1].upper() not in ("SPIN", "BINARY"):
        raise text.error(match.start(1), f"expected SPIN or BINARY, found {quote(match[1])}")
    return _read(text, match[1].upper(), memory)


def read_ising(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read couplings of spins, with or without a first line of two numbers."""
    return _read(read_text(path, memory=memory), "SPIN", memory, one_order=True)


def _read(text: Text, vartype: str, memory: int, *, one_order: bool = False) -> Model:
    require_memory(text.source, BYTES_PER_LINE * (text.content.count("\n") + 1), memory)
    lines = list(_lines(text))
    head = lines.pop(0) if lines and len(lines[0].words) == 2 else None
    if not lines:
        raise text.error(len(text.content), "expected lines 'i j bias', found none")
    terms = [_term(text, line) for line in lines]
    if one_order:
        _require_one_order(text, lines, terms)
    spins = None
    if head is not None:
        spins = _label(text, head, 0)
        _require_all(text, head, terms)
    labels = _labels(text, terms, spins, memory)
    place = {label: number for number, label in enumerate(labels)}
    linear = np.zeros(len(labels))
    for first, second, bias in terms:
        if first == second:
            linear[place[first]] += bias
    pairs = [(place[first], place[second]) for first, second, _ in terms if first != second]
    strengths = [bias for first, second, bias in terms if first != second]
    names = tuple(str(label) for label in labels)
    energy = Quadratic(vartype, names, linear, np.array(pairs, dtype=np.int64), np.array(strengths))
    return quadratic_model(energy)


def _lines(text: Text) -> Iterator[Line]:
    at = 0
    for line in text.content.split("\n"):
        words = line.split("#")[0].split()
        if words:
            yield Line(at + len(line) - len(line.lstrip()), words)
        at += len(line) + 1


def _term(text: Text, line: Line) -> tuple[int, int, float]:
    if len(line.words) != 3:
        raise text.error(line.at, f"expected 'i j bias', found {len(line.words)} words")
    bias = number_in(line.words[2])
    if not math.isfinite(bias):
        raise text.error(line.at, f"expected a finite bias, found {quote(line.words[2])}")
    return _label(text, line, 0), _label(text, line, 1), bias


def _require_one_order(text: Text, lines: list[Line], terms: list[tuple[int, int, float]]) -> None:
    """Refuse a list of both entries of a symmetric matrix: each coupling would count twice."""
    named = {(first, second) for first, second, _ in terms if first < second}
    for line, (first, second, _) in zip(lines, terms, strict=True):
        if first > second and (second, first) in named:
            raise text.error(
                line.at,
                f"the coupling of {second} and {first} is there in both orders; give it once",
            )


def _label(text: Text, line: Line, place: int) -> int:
    word = line.words[place]
    if not (word.isascii() and word.isdigit()) or len(word) > MOST_DIGITS:
        raise text.error(line.at, f"expected the number of a variable, found {quote(word)}")
    return int(word)


def _require_all(text: Text, head: Line, terms: list[tuple[int, int, float]]) -> None:
    """Refuse a file that was cut off; some count couplings only, others all lines."""
    couplings = sum(first != second for first, second, _ in terms)
    if _label(text, head, 1) not in (couplings, len(terms)):
        raise text.error(
            head.at,
            f"{head.words[1]} couplings are announced, but {couplings} follow: is the file whole?",
        )


def _labels(
    text: Text, terms: list[tuple[int, int, float]], spins: int | None, memory: int
) -> list[int]:
    """All variables in order; those that are announced but never named are free."""
    named = {label for first, second, _ in terms for label in (first, second)}
    if spins is None:
        return sorted(named)
    if spins > len(named) + SPARE * len(terms):
        raise text.error(0, f"{spins} spins are announced, but only {len(terms)} lines follow")
    require_memory(text.source, BYTES_PER_SPIN * spins, memory)
    first = 0 if 0 in named else 1
    if max(named) >= spins + first:
        raise text.error(0, f"{spins} spins are announced, but there is a spin {max(named)}")
    return list(range(first, spins + first))
