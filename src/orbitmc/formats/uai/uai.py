"""UAI models: `MARKOV` or `BAYES`, cardinalities, scopes, then tables of weights.

White space of any kind separates the words. Tables list weights (not logarithms), last variable of
the scope fastest. A factor over no variables multiplies all weights.

Variables are called "0", "1", ... and so are their values, because UAI holds no names. When a file
`X.uai.json` stands beside `X.uai` (or `X.uai.gz`), it gives the names; see `names`.
"""

from collections.abc import Sequence
from pathlib import Path

from orbitmc._util.text import MEMORY, quoted, read_text, require_memory
from orbitmc.errors import ContradictionError
from orbitmc.formats.assembly import Assembly
from orbitmc.formats.uai.uai_names import read_names
from orbitmc.formats.uai.words import Words
from orbitmc.graph.model import Model

BYTES_PER_NAME = 64
FEW_VALUES = 256
"""A variable may have so many values without any table that could list them."""

COUNTABLE = 10**18
"""Where we stop multiplying cardinalities: no file holds so many weights."""


def read_uai(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a UAI model, with the names beside it if there are any."""
    words = Words(read_text(path, memory=memory), memory=memory)
    kind = words.word("MARKOV or BAYES")
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise words.error(0, f"expected MARKOV or BAYES, found {quoted(kind)}")
    sizes = _cardinalities(words, memory)
    assembly = Assembly(sizes, words.text.source)
    _read_factors(words, sizes, assembly)
    words.end()
    names, values = read_names(path, sizes, memory=memory)
    found = Model(assembly.build(), names, values)
    if kind.upper() == "MARKOV":
        return found
    from orbitmc.formats.bif.bayes import network_of_rows

    return network_of_rows(found)


def _cardinalities(words: Words, memory: int) -> list[int]:
    count = words.integer("the number of variables")
    first = words.taken
    sizes = words.integers(count, "{} cardinalities", count)
    most = max(FEW_VALUES, len(words.text.content))
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
    written = tuple(words.words[words.taken : words.taken + entries])
    if len(written) == entries and written in known:
        words.taken += entries
    else:
        weights = words.weights(entries, "{} weights of factor {}", entries, factor)
        known[written] = assembly.table(weights)
    return known[written]


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
