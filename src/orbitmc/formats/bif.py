"""BIF: Bayesian networks with named values, as found in the wild.

Comments (`//` and `/* */`) and `property` lines are skipped. Commas between names and numbers are
optional. A name may contain any character except white space and `{}()[]|,;"`, may end in something
in parentheses, or may be quoted and then contain anything but a quote or a line end. Names with
spaces and without quotes, as pgmpy writes them, are understood where commas show where they end.

Probabilities of a child with parents come in rows `(parent values) p, p, ...;` in any order;
`default` fills the rows that are left out. `table` lists all, the child slowest and the last parent
fastest. Numbers are kept as given, also when rounding keeps them from adding up to one.
"""

import itertools
import math
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_text
from orbitmc._util.text import (
    MEMORY,
    MOST_DIGITS,
    Text,
    join_words,
    quote,
    read_text,
    require_memory,
    suggestion,
)
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.formats import assembly as bayes
from orbitmc.formats.assembly import SUM_TOLERANCE, Beginnings, weight_texts
from orbitmc.graph.model import Model

# The words, marks and numbers of a BIF text, with the place of each.

# Possessive (`++`): what was taken is not given back, so no place to go back to takes memory.
BARE = r"""[^\s{}()\[\]|,;"]"""
BIF_WORD = rf"{BARE}++(?:\({BARE}*+\))*+"  # the parentheses that some names end in touch them
BIF_PIECE = re.compile(
    rf"""\s*+(?:(?P<mark>[{{}}()\[\]|,;])|"(?P<quoted>[^"\n]*+)"|(?P<keyword>probability)(?=\s*\()"""
    rf"""|(?P<word>{BIF_WORD}))""",
    re.IGNORECASE,
)
BIF_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|/\*', re.DOTALL)
COMMENTED = re.compile(r"//|/\*")
PROPERTY = re.compile(r'(?:"[^"\n]*+"|[^";{}]++)*+;')
BIF_NUMBERS = re.compile(r'[^;{}()\[\]|"]*')
BIF_WEIGHT = re.compile(r"[+]?(\d+[.]?\d*|[.]\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
BIF_PLAIN = re.compile(rf"{BARE}++")
LISTED = r"""([^;{}()\[\]|"]*+)"""  # words between commas, or numbers
BIF_VARIABLE = re.compile(
    rf"\s*+({BARE}++)\s*+\{{\s*+type\s++discrete\s*+\[\s*+(\d++)\s*+\]\s*+\{{{LISTED}\}}\s*+;\s*+\}}",
    re.IGNORECASE,
)
BIF_SCOPE = re.compile(r"""([^;{}()\[\]"]*+)\)""")
BIF_TABLE = re.compile(rf"\s*+table\b{LISTED};\s*+\}}", re.IGNORECASE)
SPACE = re.compile(r"\s*")
MOST_WORDS = 1000  # of a name without quotes


class Scanner:
    """Takes a BIF text piece by piece; comments are blanked first, so places stay true."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.content = _without_comments(text)
        self.offset = 0
        self.tables: dict[tuple[str, tuple[Sequence[str], ...]], Floats] = {}
        self.rows: dict[tuple[tuple[str, ...], ...], dict[str, int]] = {}

    @property
    def at(self) -> int:
        """Where the next piece stands."""
        match = SPACE.match(self.content, self.offset)
        return match.end() if match else self.offset

    def at_end(self) -> bool:
        return self.at == len(self.content)

    def name(self, what: str) -> str:
        match = BIF_PIECE.match(self.content, self.offset)
        if match is None or match["mark"] is not None:
            raise self._unexpected(what)
        self.offset = match.end()
        return str(match["quoted"] if match["quoted"] is not None else match[match.lastgroup or 0])

    def names(self, closing: str, what: str, count: int) -> list[str]:
        """Take so many names up to a closing mark; commas between them may be left out.

        If that makes too many, they are what stands between commas: some programs write names
        with spaces and without quotes.
        """
        begun, commas = self.offset, 0
        words: list[str] = []
        while not self.accept(closing):
            words.append(self.name(what))
            commas += self.accept(",")
        if not len(words) > count == commas + 1:
            return words
        self.offset = begun
        return self._phrases(closing, what)

    def _phrases(self, closing: str, what: str) -> list[str]:
        """Take what stands between commas, up to a closing mark."""
        phrases: list[str] = []
        words: list[str] = []
        while not self.accept(closing):
            self._require_few(words)
            words.append(self.name(what))
            if self.accept(","):
                phrases.append(" ".join(words))
                words = []
        return [*phrases, " ".join(words)]

    def phrase(self, ends: str, what: str) -> str:
        """Take a name up to a mark, which stays; one without quotes may have spaces."""
        words = [self.name(what)]
        while not self.content.startswith(ends, self.at):
            self._require_few(words)
            words.append(self.name(repr(ends)))
        return " ".join(words)

    def known_name(self, what: str, known: Container[str], beginnings: Beginnings) -> str:
        """Take a name that should be known, and more of its words while one is that begins so."""
        name = self.name(what)
        while name not in known and beginnings.have(name):
            name = f"{name} {self.name(what)}"
        return name

    def _require_few(self, words: Sequence[str]) -> None:
        if len(words) == MOST_WORDS:
            raise self.error(
                self.at,
                f"a name of more than {MOST_WORDS:,} words; put a name with spaces in quotes",
            )

    def accept(self, mark: str) -> bool:
        at = self.at
        matches = self.content.startswith(mark, at)
        self.offset = at + len(mark) if matches else self.offset
        return matches

    def take(self, mark: str) -> None:
        if not self.accept(mark):
            raise self._unexpected(repr(mark))

    def accept_word(self, word: str) -> bool:
        match = BIF_PIECE.match(self.content, self.offset)
        matches = match is not None and (match["word"] or "").lower() == word
        if match and matches:
            self.offset = match.end()
        return matches

    def skip_property(self) -> None:
        if not self.accept_word("property"):
            raise self._unexpected("property or '}'")
        match = PROPERTY.match(self.content, self.offset)
        if match is None:
            raise self._unexpected("';' after the property")
        self.offset = match.end()

    def weights(self, what: str) -> list[float]:
        """Take numbers, finite and not negative, and the semicolon after them."""
        match = BIF_NUMBERS.match(self.content, self.offset)
        assert match  # it may be empty, but it always matches
        words = match.group().replace(",", " ").split()
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [math.nan]
        if not all(0 <= number < math.inf for number in numbers) or "_" in match.group():
            raise self._wrong_weight(what)
        self.offset = match.end()
        self.take(";")
        return numbers

    def rows_of(self, heads: Sequence[str], parents: tuple[tuple[str, ...], ...]) -> list[int]:
        """Numbers of rows that begin with `(` and words for parents; the last parent goes fastest.

        A `KeyError` if there is something else, or a name that only quotes make one word.
        """
        if parents not in self.rows:
            words = [[v if BIF_PLAIN.fullmatch(v) else None for v in domain] for domain in parents]
            self.rows[parents] = {
                f"({', '.join(map(str, row))}": number
                for number, row in enumerate(itertools.product(*words))
                if None not in row
            }
        number_of = self.rows[parents]
        heads = [head.lstrip() for head in heads]
        try:
            return [number_of[head] for head in heads]
        except KeyError:  # with other spaces
            return [number_of[_respace(head)] for head in heads]

    def plain(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here, if it looks as most files write it; whoever wants it takes it."""
        return pattern.match(self.content, self.offset)

    def error(self, at: int, message: str) -> InputError:
        return self.text.error(at, message)

    def _wrong_weight(self, what: str) -> InputError:
        while True:
            at, word = self.at, self.name(what)
            if BIF_WEIGHT.fullmatch(word) is None or float(word) == math.inf:
                token = quote(word)
                return self.error(at, f"expected {what} (finite, not negative), found {token}")
            self.accept(",")

    def _unexpected(self, what: str) -> InputError:
        place = self.at
        match = BIF_PIECE.match(self.content, place)
        rest = match.group() if match else self.content[place : place + 1]
        token = quote(rest) if rest else "the end of the file"
        return self.text.error(place, f"expected {what}, found {token}")


def _respace(head: str) -> str:
    """A mark and words after it with one space after each comma."""
    return head[:1] + ", ".join(map(str.strip, head[1:].split(",")))


def quote_name(name: str) -> str:
    """Write a name so that it reads back, in quotes only where it needs them."""
    if '"' in name or "\n" in name:
        raise InputError(f"BIF cannot hold the name {quote(name)}; write .json instead")
    match = None if COMMENTED.search(name) else BIF_PIECE.fullmatch(name)
    return name if match and match["word"] == name else f'"{name}"'


def _without_comments(text: Text) -> str:
    if "//" not in text.content and "/*" not in text.content:
        return text.content
    for match in BIF_COMMENT.finditer(text.content):
        if match.group() == "/*":
            raise text.error(match.start(), "the comment that begins here never ends")
    return BIF_COMMENT.sub(_blank, text.content)


def _blank(match: re.Match[str]) -> str:
    comment = match.group()
    if comment.startswith('"'):
        return comment
    return "\n".join(" " * len(line) for line in comment.split("\n"))


# The body of a probability block of BIF: rows, a default, or one table.

LONGEST_KNOWN = 2000  # characters of a block that is not read again where the same text comes back
SHORTEST_ROW = 5  # characters, as of `(a)1;`
ROWS_AT_ONCE = 512

BYTES_PER_ENTRY = 32
"""What an entry of a table takes: a weight, its logarithm, and copies while sharing them."""


def read_table(scanner: Scanner, at: int, child: str, values: Sequence[Sequence[str]]) -> Floats:
    """Read a block for parents and, last, a child with these values; gives a row per parents."""
    scanner.take("{")
    end = scanner.content.find("}", scanner.offset, scanner.offset + LONGEST_KNOWN) + 1
    known = scanner.content[scanner.offset : end], tuple(values)
    if (plain := scanner.tables.get(known)) is not None:
        scanner.offset = end
        return plain
    if (plain := _read_plain_rows(scanner, values)) is not None:
        if end:
            scanner.tables[known] = plain
        return plain
    sizes = [len(domain) for domain in values]
    rows, default, table = _read_body(scanner, values)
    if table:
        return _child_last(scanner, at, child, table, sizes[-1])
    count = math.prod(sizes[:-1])
    if len(rows) < count and not default:
        missing = next(row for row in range(count) if row not in rows)
        parent_values = join_words(_parent_values(missing, values[:-1]))
        raise scanner.error(
            at, f"{quote(child)} has no probabilities for ({parent_values}), and no default"
        )
    full = np.empty((count, sizes[-1]))
    full[:] = default or 0.0
    for row, weights in rows.items():
        full[row] = weights
    return full


def _read_plain_rows(scanner: Scanner, values: Sequence[Sequence[str]]) -> Floats | None:
    """Read a block that has all rows and nothing else, as most have; None if it is another one.

    What is wrong with that is found by whoever reads it piece by piece.
    """
    count = math.prod(map(len, values[:-1]))
    if count == 1 and (plain := scanner.plain(BIF_TABLE)):
        return _read_plain_table(scanner, plain, len(values[-1]))
    end = scanner.content.find("}", scanner.offset)
    if count * SHORTEST_ROW > end - scanner.offset:
        return None
    *rows, rest = scanner.content[scanner.offset : end].split(";")
    if len(rows) != count or rest.strip():
        return None
    parents = tuple(map(tuple, values[:-1]))
    table = np.full((count, len(values[-1])), -1.0)
    try:
        for first in range(0, count, ROWS_AT_ONCE):
            some = (row.partition(")") for row in rows[first : first + ROWS_AT_ONCE])
            heads, _, texts = zip(*some, strict=True)
            table[scanner.rows_of(heads, parents)] = _plain_weights(texts, len(values[-1]))
    except (KeyError, ValueError):
        return None
    if not (table >= 0.0).all():
        return None
    scanner.offset = end + 1
    return table


def _read_plain_table(scanner: Scanner, plain: re.Match[str], size: int) -> Floats | None:
    """The only row of a table, if nothing is wrong with it."""
    try:
        table = _plain_weights([plain[1]], size)
    except ValueError:
        return None
    if not (table >= 0.0).all():
        return None
    scanner.offset = plain.end()
    return table


def _plain_weights(rows: Sequence[str], size: int) -> Floats:
    """Numbers of rows, -1 where some are not finite; a `ValueError` if they are not that many."""
    text = " -1 ".join([*rows, ""]).replace(",", " ")
    if "_" in text:
        raise ValueError("Python would skip it")
    numbers = np.array([*map(float, text.split())]).reshape(len(rows), size + 1)
    if (numbers[:, -1] != -1.0).any():
        raise ValueError("a row has too many or too few numbers")
    return np.where(numbers < math.inf, numbers, -1.0)[:, :-1]


def _parent_values(row: int, values: Sequence[Sequence[str]]) -> list[str]:
    """The values of the parents in a row of the table, the last parent fastest."""
    words: list[str] = []
    for domain in reversed(values):
        row, value = divmod(row, len(domain))
        words.append(domain[value])
    return words[::-1]


def _read_body(
    scanner: Scanner, values: Sequence[Sequence[str]]
) -> tuple[dict[int, list[float]], list[float], list[float]]:
    rows: dict[int, list[float]] = {}
    default: list[float] = []
    table: list[float] = []
    numbers = [{value: number for number, value in enumerate(domain)} for domain in values[:-1]]
    beginnings = [Beginnings(domain) for domain in values[:-1]]
    while not scanner.accept("}"):
        at = scanner.at
        if scanner.accept("("):
            row = _read_row(scanner, numbers, beginnings)
            if row in rows:
                raise scanner.error(at, "this row stands there twice")
            rows[row] = _read_weights(scanner, len(values[-1]))
        elif scanner.accept_word("table"):
            table = _read_weights(scanner, math.prod(len(domain) for domain in values))
        elif scanner.accept_word("default"):
            default = _read_weights(scanner, len(values[-1]))
        else:
            scanner.skip_property()
    return rows, default, table


def _read_row(
    scanner: Scanner, numbers: Sequence[dict[str, int]], beginnings: Sequence[Beginnings]
) -> int:
    """Read the values of the parents; gives the number of the row, the last parent fastest."""
    row = 0
    for number_of, begun in zip(numbers, beginnings, strict=True):
        at = scanner.at
        value = scanner.known_name("a value of each parent", number_of, begun)
        if value not in number_of:
            raise scanner.error(
                at,
                f"unknown value {quote(value)}{suggestion(value, number_of)}; expected one of "
                f"{join_words(number_of)}",
            )
        row = row * len(number_of) + number_of[value]
        scanner.accept(",")
    scanner.take(")")
    return row


def _read_weights(scanner: Scanner, count: int) -> list[float]:
    at = scanner.at
    weights = scanner.weights("a probability")
    if len(weights) != count:
        raise scanner.error(at, f"expected {count} probabilities, found {len(weights)}")
    return weights


def _child_last(scanner: Scanner, at: int, child: str, table: Sequence[float], size: int) -> Floats:
    """Bring the child from slowest to fastest; refuse a table that plainly has it fastest."""
    flat = np.array(table)
    slow = flat.reshape(size, -1)
    fast = flat.reshape(-1, size)
    if not _sums_to_one(slow, 0) and _sums_to_one(fast, 1):
        raise scanner.error(
            at,
            f"the table of {quote(child)} must list its first value for all parents, then the next",
        )
    return np.ascontiguousarray(slow.T)


def _sums_to_one(table: Floats, axis: int) -> bool:
    with np.errstate(over="ignore"):
        return bool((np.abs(table.sum(axis=axis) - 1) <= SUM_TOLERANCE).all())


BIF_BYTES_PER_CHARACTER = 32
"""What a character takes while reading, at most: `1,` is two and makes a number in a list."""


def read_bif(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per probability block, in the order of the file."""
    text = read_text(path, memory=memory)
    require_memory(text.source, BIF_BYTES_PER_CHARACTER * len(text.content), memory)
    scanner, network = Scanner(text), bayes.BayesianNetwork()
    if scanner.at_end():
        scanner.name("network, variable or probability")  # an empty file is a mishap, not a model
    while not scanner.at_end():
        at = scanner.at
        word = scanner.name("network, variable or probability").lower()
        if word == "network":
            _skip_network(scanner)
        elif word == "variable":
            _read_variable(scanner, network)
        elif word == "probability":
            _read_probability(scanner, network, memory)
        else:
            raise scanner.error(
                at, f"expected network, variable or probability, found {quote(word)}"
            )
    _require_complete(scanner, network)
    return network.model(text)


def _skip_network(scanner: Scanner) -> None:
    while not scanner.accept("{"):
        scanner.name("the name of the network")
    while not scanner.accept("}"):
        scanner.skip_property()


def _read_variable(scanner: Scanner, network: bayes.BayesianNetwork) -> None:
    at = scanner.at
    if (plain := scanner.plain(BIF_VARIABLE)) and plain[1] not in network.domains:
        words = _words(plain[3])
        if words and len(set(words)) == len(words) == parse_count(plain[2]):
            scanner.offset = plain.end()
            network.declare(plain[1], words)
            return
    name = scanner.phrase("{", "the name of a variable")
    if name in network.domains:
        raise scanner.error(at, f"variable {quote(name)} is declared twice")
    scanner.take("{")
    values: list[str] = []
    while not scanner.accept("}"):
        if scanner.accept_word("type"):
            values = _read_values(scanner)
        else:
            scanner.skip_property()
    if not values:
        raise scanner.error(at, f"variable {quote(name)} has no `type discrete [ n ] {{ ... }};`")
    network.declare(name, values)


def _words(text: str) -> list[str]:
    """Words between commas; none, if something between commas is not one word."""
    words = [piece.split() for piece in text.split(",")]
    return [word for word, *_ in words] if all(len(piece) == 1 for piece in words) else []


def _read_values(scanner: Scanner) -> list[str]:
    at = scanner.at
    kind = scanner.name("discrete")
    if kind.lower() != "discrete":
        raise scanner.error(at, f"expected type discrete, found {quote(kind)}")
    scanner.take("[")
    at = scanner.at
    count = scanner.name("the number of values")
    scanner.take("]")
    scanner.take("{")
    values = scanner.names("}", "a value", parse_count(count))
    scanner.take(";")
    if len(values) != parse_count(count):
        raise scanner.error(at, f"{quote(count)} values are announced, found {len(values)}")
    if len(set(values)) != len(values):
        raise scanner.error(at, "a value stands there twice")
    return values


def parse_count(count: str) -> int:
    """How many values a file says there are, 0 if that is no such number."""
    return int(count) if count.isascii() and count.isdigit() and len(count) < MOST_DIGITS else 0


def _read_probability(scanner: Scanner, network: bayes.BayesianNetwork, memory: int) -> None:
    scanner.take("(")
    at = scanner.at
    scope = _read_scope(scanner, network)
    if not scope:
        raise scanner.error(at, "expected a variable, found ')'")
    child, *parents = scope
    if child in network.blocks:
        raise scanner.error(at, f"a second probability block for {quote(child)}")
    values = [network.domains[name] for name in [*parents, child]]
    network.entries += math.prod(len(domain) for domain in values)
    require_memory(scanner.text.source, BYTES_PER_ENTRY * network.entries, memory)
    network.places[child] = at
    network.blocks[child] = bayes.Block(parents, read_table(scanner, at, child, values))


def _read_scope(scanner: Scanner, network: bayes.BayesianNetwork) -> list[str]:
    scope: list[str] = []
    known = network.domains
    if plain := scanner.plain(BIF_SCOPE):
        names = _words(plain[1].replace("|", ",", 1))
        if names and len({*names} & known.keys()) == len(names):
            scanner.offset = plain.end()
            return names
    while not scanner.accept(")"):
        at = scanner.at
        name = scanner.known_name("a variable", known, network.beginnings)
        if name not in known:
            near = suggestion(name, known)
            raise scanner.error(at, f"unknown variable {quote(name)}{near} (declare it before)")
        if name in scope:
            raise scanner.error(at, f"variable {quote(name)} stands there twice")
        scope.append(name)
        scanner.accept("|") or scanner.accept(",")
    return scope


def _require_complete(scanner: Scanner, network: bayes.BayesianNetwork) -> None:
    for name in network.domains:
        if name not in network.blocks:
            raise scanner.error(scanner.at, f"variable {quote(name)} has no probability block")


def write_bif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    with attribute_to_file(str(path)):
        content = "".join(_pieces(model, bayes.conditionals(model, "BIF")))
    write_text(path, content)


def _pieces(model: Model, network: Sequence[bayes.Conditional]) -> Iterator[str]:
    names = [quote_name(name) for name in model.names]
    values = [[quote_name(value) for value in words] for words in model.values]
    yield "network unknown {\n}\n"
    for name, words in zip(names, values, strict=True):
        listed = ", ".join(words)
        yield f"variable {name} {{\n  type discrete [ {len(words)} ] {{ {listed} }};\n}}\n"
    for conditional in network:
        condition = (
            f" | {', '.join(names[parent] for parent in conditional.parents)}"
            if conditional.parents
            else ""
        )
        yield f"probability ( {names[conditional.child]}{condition} ) {{\n"
        yield from _rows(conditional, values)
        yield "}\n"


def _rows(conditional: bayes.Conditional, values: Sequence[Sequence[str]]) -> Iterator[str]:
    texts = weight_texts(conditional.log_probabilities)
    size = len(values[conditional.child])
    for row, parent_values in enumerate(
        itertools.product(*(values[parent] for parent in conditional.parents))
    ):
        head = f"({', '.join(parent_values)})" if parent_values else "table"
        yield f"  {head} {', '.join(texts[row * size : (row + 1) * size])};\n"
