"""UAI models: `MARKOV` or `BAYES`, cardinalities, scopes, then tables of weights.

White space of any kind separates the words. Tables list weights (not logarithms), last variable of
the scope fastest. A factor over no variables multiplies all weights.

Variables are called "0", "1", ... and so are their values, because UAI holds no names. When a file
`X.uai.json` stands beside `X.uai` (or `X.uai.gz`), it gives the names; see `names`.
"""

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import Floats, floats
from orbitmc._util.files import write_pieces, write_text
from orbitmc._util.text import (
    MEMORY,
    MOST_DIGITS,
    Text,
    number_in,
    quote,
    read_text,
    require_memory,
    strip_gz,
)
from orbitmc.errors import ContradictionError, InputError
from orbitmc.formats.assembly import Assembly, network_of_rows, weight_texts
from orbitmc.formats.json_model import read_json, require_header, variables
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model

# Names that UAI cannot hold, in a JSON file beside the model.
#
# `X.uai.json` beside `X.uai` (or `X.uai.gz`) has one entry per variable, in the order of the
# model:
#
#     {"format": "orbitmc-names", "version": 1,
#      "variables": [{"name": "Rain", "values": ["no", "yes"]}, ...]}
#
# A JSON file of that name that says to be something else is left alone: neither read as names nor
# overwritten.

NAMES_FORMAT = "orbitmc-names"

Names = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def names_path(path: str | Path) -> Path:
    """Where the names of a UAI model are kept.

    >>> str(names_path("grid.uai.gz"))
    'grid.uai.json'
    """
    plain = strip_gz(path)
    return plain.with_name(plain.name + ".json")


def read_names(path: str | Path, sizes: Sequence[int], *, memory: int = MEMORY) -> Names:
    """Read the names beside a model, or number its variables and values."""
    source = str(names_path(path))
    content = _read_names_file(names_path(path), memory)
    if content is None:
        return default_names(sizes)
    content = require_header(content, NAMES_FORMAT, source)
    names, values = variables(content.get("variables"), source)
    if [len(domain) for domain in values] != list(sizes):
        raise InputError(
            f"the names here are not those of {Path(path).name}: expected {len(sizes)} variables "
            "with as many values as there",
            source=source,
        )
    return names, values


def write_names(model: Model, path: str | Path) -> None:
    """Write names beside a model if they are not plain numbers, or if old ones are there."""
    beside = names_path(path)
    domains = model.domains()
    plain = default_names([len(values) for values in domains.values()])
    old = _read_names_file(beside, MEMORY)
    if (tuple(domains), tuple(domains.values())) == plain and old is None:
        return
    if beside.exists() and old is None:
        raise InputError(
            "this is no file of names, and theirs would replace it", source=str(beside)
        )
    lines = [json.dumps({"name": name, "values": domain}) for name, domain in domains.items()]
    head = f'{{"format": "{NAMES_FORMAT}", "version": 1,\n"variables": [\n'
    write_text(beside, head + ",\n".join(lines) + "\n]}\n")


def _read_names_file(beside: Path, memory: int) -> object:
    """What a file of names holds; nothing if there is none, or if it is of another kind."""
    if not beside.is_file():
        return None
    content = read_json(beside, memory=memory)
    return content if isinstance(content, dict) and content.get("format") == NAMES_FORMAT else None


def default_names(sizes: Sequence[int]) -> Names:
    """Count from zero, in words; variables of one cardinality share their value names."""
    shared = {size: _count_names(size) for size in set(sizes)}
    return _count_names(len(sizes)), tuple(shared[size] for size in sizes)


def _count_names(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


# Words between white space, read in order; where one stands is found again only for errors.

BYTES_PER_WORD = 100  # what a word takes in memory, as text and then as a number in a model


class Words:
    """The words of a text, taken one after the other.

    `what` says, in errors, what was expected; `{}` in it is filled from `about` only then.
    """

    def __init__(self, text: Text, *, memory: int) -> None:
        self.text = text = _without_comments(text)
        _require_ascii(text)
        require_memory(text.source, BYTES_PER_WORD * _count(text.content), memory)
        self.words = text.content.split()
        self.has_underscore = "_" in text.content  # which Python allows inside numbers
        self.taken = 0

    @property
    def left(self) -> int:
        return len(self.words) - self.taken

    def word(self, what: str) -> str:
        (word,) = self.take(1, what)
        return word

    def take(self, count: int, what: str, *about: object) -> Sequence[str]:
        """Take the next few words, all of which must be there."""
        if count > self.left:
            token = "the end of the file" if not self.left else f"only {self.left} more words"
            raise self.error(len(self.words), f"expected {what.format(*about)}, found {token}")
        self.taken += count
        return self.words[self.taken - count : self.taken]

    def integer(self, what: str, *about: object) -> int:
        word = self.words[self.taken] if self.left else ""
        if not word.isdigit() or len(word) > MOST_DIGITS:
            token = quote(word) if word else "the end of the file"
            raise self.error(self.taken, f"expected {what.format(*about)}, found {token}")
        self.taken += 1
        return int(word)

    def integers(self, count: int, what: str, *about: object) -> list[int]:
        words = self.take(count, what, *about)
        for place, word in enumerate(words, self.taken - count):
            if not word.isdigit() or len(word) > MOST_DIGITS:
                raise self.error(place, f"expected a whole number, found {quote(word)}")
        return list(map(int, words))

    def weights(self, count: int, what: str, *about: object) -> list[float]:
        """Take numbers that are finite and not negative."""
        words = self.take(count, what, *about)
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [number_in(word) for word in words]
        if not self.has_underscore and min(numbers, default=0.0) >= 0 and sum(numbers) < math.inf:
            return numbers
        for place, number in enumerate(numbers):
            if not 0 <= number < math.inf or "_" in words[place]:
                raise self.error(
                    self.taken - count + place,
                    f"expected a weight (finite, not negative), found {quote(words[place])}",
                )
        return numbers

    def end(self) -> None:
        if self.left:
            token = quote(self.words[self.taken])
            raise self.error(self.taken, f"expected the end of the file, found {token}")

    def error(self, place: int, message: str) -> InputError:
        """Give an error at the word number `place`, or at the end of the text."""
        matches = itertools.islice(re.finditer(r"\S+", self.text.content), place, None)
        match = next(matches, None)
        return self.text.error(match.start() if match else len(self.text.content), message)


def _without_comments(text: Text) -> Text:
    """Blank what follows a `#`, as pyAgrum writes it; places stay true."""
    if "#" not in text.content:
        return text
    return Text(text.source, re.sub(r"#[^\n]*", lambda match: " " * len(match[0]), text.content))


def _require_ascii(text: Text) -> None:
    if not text.content.isascii():
        match = re.search(r"[^\x00-\x7f]", text.content)
        assert match
        raise text.error(match.start(), f"expected words and numbers, found {match.group()!r}")


def _count(content: str) -> int:
    ink = np.frombuffer(content.encode(), dtype=np.uint8) > ord(" ")
    return int(np.count_nonzero(ink[1:] & ~ink[:-1])) + 1


BYTES_PER_NAME = 64
LEAST_SIZE_LIMIT = 256  # a variable may have so many values without any table that could list them
COUNTABLE = 10**18  # where we stop multiplying cardinalities: no file holds so many weights


def read_uai(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a UAI model, with the names beside it if there are any."""
    words = Words(read_text(path, memory=memory), memory=memory)
    kind = words.word("MARKOV or BAYES")
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise words.error(0, f"expected MARKOV or BAYES, found {quote(kind)}")
    sizes = _cardinalities(words, memory)
    assembly = Assembly(sizes, words.text.source)
    _read_factors(words, sizes, assembly)
    words.end()
    names, values = read_names(path, sizes, memory=memory)
    model = Model(assembly.build(), names, values)
    if kind.upper() == "MARKOV":
        return model
    return network_of_rows(model)


def _cardinalities(words: Words, memory: int) -> list[int]:
    count = words.integer("the number of variables")
    first = words.taken
    sizes = words.integers(count, "{} cardinalities", count)
    most = max(LEAST_SIZE_LIMIT, len(words.text.content))
    for variable, size in enumerate(sizes):
        if not 1 <= size <= most:
            raise words.error(
                first + variable,
                f"variable {variable} has {size} values, expected 1 to {most} in a file of "
                f"{len(words.text.content)} characters",
            )
    require_memory(words.text.source, BYTES_PER_NAME * (count + sum(set(sizes))), memory)
    return sizes


def _read_factors(words: Words, sizes: Sequence[int], assembly: Assembly) -> None:
    count = words.integer("the number of factors")
    if 2 * count > words.left:
        raise words.error(
            words.taken - 1, f"{count} factors are announced, but only {words.left} words follow"
        )
    scopes = [_scope(words, factor, sizes) for factor in range(count)]
    known: dict[tuple[str, ...], int] = {}
    for factor, scope in enumerate(scopes):
        entries = _entries(words, factor, [sizes[variable] for variable in scope])
        if scope:
            assembly.add_factor(scope, _table(words, factor, entries, assembly, known))
        else:
            _add_constant(words, factor, assembly)


def _table(
    words: Words, factor: int, entries: int, assembly: Assembly, known: dict[tuple[str, ...], int]
) -> int:
    """Give the number of the table that follows; one written like another is not read again."""
    words_of_table = tuple(words.words[words.taken : words.taken + entries])
    if len(words_of_table) == entries and words_of_table in known:
        words.taken += entries
    else:
        weights = words.weights(entries, "{} weights of factor {}", entries, factor)
        known[words_of_table] = assembly.table(weights)
    return known[words_of_table]


def _add_constant(words: Words, factor: int, assembly: Assembly) -> None:
    (weight,) = words.weights(1, "the weight of factor {}", factor)
    if weight == 0:
        raise ContradictionError(
            f"{words.text.source}: factor {factor} reads no variable and has weight 0, so no state "
            "is possible"
        )
    assembly.add_constant(weight)


def _scope(words: Words, factor: int, sizes: Sequence[int]) -> list[int]:
    arity = words.integer("the number of variables of factor {}", factor)
    first = words.taken
    scope = words.integers(arity, "{} variables of factor {}", arity, factor)
    for place, variable in enumerate(scope, first):
        if variable >= len(sizes):
            raise words.error(
                place, f"expected a variable from 0 to {len(sizes) - 1}, found {variable}"
            )
    if len(set(scope)) != arity:
        raise words.error(first, f"factor {factor} reads a variable twice")
    return scope


def _entries(words: Words, factor: int, sizes: Sequence[int]) -> int:
    """Read how many weights follow: as many as the variables have states, and as the file holds."""
    entries = words.integer("the number of weights of factor {}", factor)
    states = 1
    for size in sizes:
        states *= size
        if states > COUNTABLE:
            break
    if states != entries:
        wanted = f"{states}" if states <= COUNTABLE else "more than 10^18"
        raise words.error(
            words.taken - 1,
            f"factor {factor} over {len(sizes)} variables needs {wanted} weights, found {entries}",
        )
    return entries


# Write UAI models: always `MARKOV`, variables in the author's order.
#
# An observed variable stays, with a factor that allows only its value, so that the numbering
# survives. A clause becomes a table, if it is short. What evidence has already decided
# (`constant`)
# becomes a factor over no variables.

LONGEST_TABLE_BITS = 16  # a clause is written out as a table of at most 2^16 weights


def write_uai(model: Model, path: str | Path) -> None:
    """Write a model as UAI, and its names beside it unless they are plain numbers."""
    try:
        content = "\n".join(_lines(model))
    except InputError as error:
        raise InputError(f"{error.message}; write .json instead", source=str(path)) from None
    write_names(model, path)
    write_text(path, content + "\n")


def _lines(model: Model) -> Iterator[str]:
    graph, domains = model.graph, model.domains()
    number = {name: variable for variable, name in enumerate(model.order)}
    observed = [(number[name], observation) for name, observation in model.observed.items()]
    renamed = np.array([number[name] for name in model.names], dtype=np.int64)
    yield "MARKOV"
    yield str(len(domains))
    yield _join_words(len(values) for values in domains.values())
    yield str(graph.factors + len(observed) + (graph.constant != 0))
    for factor in range(graph.factors):
        scope = renamed[graph.scope_of(factor)].tolist()
        yield _join_words([len(scope), *scope])
    yield from (f"1 {variable}" for variable, _ in observed)
    yield from ["0"] * (graph.constant != 0)
    yield from _tables(graph)
    for _, observation in observed:
        yield _join_words(
            [
                len(observation.values),
                *np.eye(len(observation.values), dtype=int)[observation.value],
            ]
        )
    yield from [_weights(np.array([graph.constant]))] * (graph.constant != 0)


def _tables(graph: FactorGraph) -> Iterator[str]:
    lines: dict[int, str] = {}
    for factor in range(graph.first_clause):
        table = int(graph.table_of[factor])
        if table not in lines:
            lines[table] = _weights(graph.table_values(factor))
        yield lines[table]
    for clause in range(graph.first_clause, graph.factors):
        bits = np.log2(graph.cardinality[graph.scope_of(clause)]).sum()
        if bits > LONGEST_TABLE_BITS:
            raise InputError(
                f"UAI holds tables, and clause {clause} would need one of 2^{bits:.0f} weights"
            )
        yield _weights(graph.full_table(clause))


def _weights(log_weights: Floats) -> str:
    return _join_words([log_weights.size, *weight_texts(log_weights)])


def _join_words(words: Iterable[object]) -> str:
    return " ".join(map(str, words))


# UAI results: `MAR` (a probability for each value of each variable) and `PR` (log10 of Z).

BEGIN = "-BEGIN-"
VARIABLES_PER_LINE_BLOCK = 4096  # variables that are turned into words at a time


def read_mar(path: str | Path, *, memory: int = MEMORY) -> list[Floats]:
    r"""Read marginals: for each variable, in order, the probabilities of its values.

    Some programs write how many answers follow before the number of variables; one is accepted.
    Of a program that improves its answer (-BEGIN-), the last one counts.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "coin.MAR"
    >>> _ = path.write_text("MAR\n1 2 0.25 0.75\n")
    >>> [probability.tolist() for probability in read_mar(path)]
    [[0.25, 0.75]]
    """
    words = _last_answer(path, "MAR", memory)
    if _starts_with_answer_count(words):
        words.taken += 1
    count = words.integer("the number of variables")
    if 2 * count > words.left:
        raise words.error(
            words.taken - 1, f"{count} variables are announced, but only {words.left} words follow"
        )
    marginals = [_probabilities(words, variable) for variable in range(count)]
    words.end()
    return marginals


def _probabilities(words: Words, variable: int) -> Floats:
    size = words.integer("the number of values of variable {}", variable)
    first = words.taken
    numbers = words.weights(size, "{} probabilities of variable {}", size, variable)
    for place, number in enumerate(numbers, first):
        if number > 1:
            raise words.error(place, f"expected a probability, found {number}")
    return floats(numbers)


def _starts_with_answer_count(words: Words) -> bool:
    """Whether the words only fit together when the first one counts answers, not variables."""
    first = words.taken
    counted = words.words[first : first + 1] == ["1"]
    return counted and not _fits(words.words, first) and _fits(words.words, first + 1)


def _fits(words: Sequence[str], place: int) -> bool:
    """Whether a number of variables stands here, followed by exactly their probabilities."""
    sizes = words[place : place + 1]
    if not sizes or not sizes[0].isdigit() or len(sizes[0]) > len(str(len(words))):
        return False
    end = place + 1
    for _ in range(int(sizes[0])):
        if end >= len(words) or not words[end].isdigit() or len(words[end]) > 9:
            return False
        end += 1 + int(words[end])
    return end == len(words)


def write_mar(path: str | Path, marginals: Sequence[ArrayLike]) -> None:
    """Write marginals, one list of probabilities for each variable in the author's order."""
    rows = [floats(row) for row in marginals]
    start = np.cumsum([0, *map(len, rows)])
    write_flat_mar(path, np.concatenate([np.zeros(0), *rows]), start)


def write_flat_mar(path: str | Path, probabilities: Floats, start: NDArray[np.int64]) -> None:
    """Write marginals that stand in one array; those of variable `k` from `start[k]` on."""
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError("marginals to write must be probabilities, 0 to 1", source=str(path))
    write_pieces(path, chain([f"MAR\n{len(start) - 1}"], _words(probabilities, start), ["\n"]))


def _words(probabilities: Floats, start: NDArray[np.int64]) -> Iterator[str]:
    for first in range(0, len(start) - 1, VARIABLES_PER_LINE_BLOCK):
        places = start[first : first + VARIABLES_PER_LINE_BLOCK + 1].tolist()
        numbers = probabilities[places[0] : places[-1]].tolist()
        ends = [place - places[0] for place in places]
        yield "".join(
            f" {last - begin} {' '.join(map(repr, numbers[begin:last]))}"
            for begin, last in pairwise(ends)
        )


def read_pr(path: str | Path, *, memory: int = MEMORY) -> float:
    """Read the logarithm (base 10) of the partition function."""
    words = _last_answer(path, "PR", memory)
    if words.left == 2 and words.words[words.taken] == "1":
        words.taken += 1  # how many answers follow
    word = words.word("log10 of the partition function")
    number = number_in(word)
    if math.isnan(number) or number == math.inf:
        raise words.error(
            words.taken - 1, f"expected log10 of the partition function, found {quote(word)}"
        )
    words.end()
    return number


def write_pr(path: str | Path, log10_z: float) -> None:
    """Write the logarithm (base 10) of the partition function."""
    write_text(path, f"PR\n{float(log10_z)!r}\n")


def _last_answer(path: str | Path, kind: str, memory: int) -> Words:
    """The words of an answer of some kind; of a solver that improves it, those of the last one.

    Such solvers write -BEGIN- before each of their answers.
    """
    words = Words(read_text(path, memory=memory), memory=memory)
    first = words.word(kind)
    if first.upper() != kind:
        raise words.error(0, f"expected {kind}, found {quote(first)}")
    begins = [place for place, word in enumerate(words.words) if word.upper() == BEGIN]
    words.taken = begins[-1] + 1 if begins else words.taken
    again = words.words[words.taken : words.taken + 1]
    if begins and again and again[0].upper() == kind:
        words.taken += 1
    return words
