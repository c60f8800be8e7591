"""What a file of evidence says, in JSON or UAI, checked against the names of a model."""

from collections.abc import Mapping, Sequence

from orbitmc.errors import ContradictionError, said_of
from orbitmc.formats.json.fields import finite, name, wrong
from orbitmc.formats.json.strict_json import parse_json
from orbitmc.formats.uai.words import Words
from orbitmc.graph.evidence import Evidence, resolve
from orbitmc.machine.text import Text, quoted

Domains = Mapping[str, Sequence[str]]


def evidence_in(text: Text, domains: Domains, memory: int) -> Evidence:
    """Read evidence as JSON if it begins like that, otherwise as UAI."""
    if text.content.lstrip()[:1] in ("{", "["):
        evidence = _from_json(parse_json(text, memory=memory), text.source)
        with said_of(text.source):
            resolve(evidence, domains)
        return evidence
    return _from_uai(Words(text, memory=memory), domains)


def _from_json(held: object, source: str) -> Evidence:
    if not isinstance(held, dict):
        raise wrong(source, "", "an object of variables", held)
    return {name(one, source, "a variable"): _seen(held[one], source, one) for one in held}


def _seen(held: object, source: str, variable: str) -> str | int | dict[str, float] | list[float]:
    if isinstance(held, str):
        return name(held, source, variable)
    if isinstance(held, int):  # true and false among them
        return held
    if isinstance(held, dict):
        return {one: _weight(weight, source, f"{variable}.{one}") for one, weight in held.items()}
    if isinstance(held, list):
        listed = enumerate(held)
        return [_weight(weight, source, f"{variable}[{place}]") for place, weight in listed]
    raise wrong(source, variable, "a value or weights of values", held)


def _weight(held: object, source: str, field: str) -> float:
    weight = finite(held)
    if weight is None or weight < 0:
        which = " (finite, not negative)" if type(held) in (int, float) else ""
        raise wrong(source, field, f"a weight{which}", held)
    return weight


def _from_uai(words: Words, domains: Domains) -> Evidence:
    _skip_sample_count(words)
    count = words.integer("the number of observed variables")
    if words.left != 2 * count:
        raise words.error(
            words.taken - 1,
            f"{count} observed variables take {2 * count} words, but {words.left} follow",
        )
    names, evidence = list(domains), dict[str, str]()
    for _ in range(count):
        variable = _below(words, "a variable", len(names))
        values = domains[names[variable]]
        value = values[_below(words, f"a value of variable {variable}", len(values))]
        first = evidence.setdefault(names[variable], value)
        if first != value:
            known = values.index(first), values.index(value)
            raise contradiction(names[variable], values, *known)
    return evidence


def _skip_sample_count(words: Words) -> None:
    """Skip a leading `1` (one sample follows): then, and only then, the count of words is even."""
    samples = words.words[0] if words.words else ""
    if len(words.words) % 2 == 0 and samples:
        if samples != "1":
            raise words.error(
                0,
                f"expected the number of observed variables and as many pairs (or one sample of "
                f"them), found {quoted(samples)} and {len(words.words) - 1} more words",
            )
        words.taken = 1


def _below(words: Words, what: str, bound: int) -> int:
    number = words.integer(what)
    if number >= bound:
        raise words.error(words.taken - 1, f"expected {what} from 0 to {bound - 1}, found {number}")
    return number


def contradiction(
    variable: str, values: Sequence[str], first: int, second: int
) -> ContradictionError:
    return ContradictionError(
        f"the evidence says that {variable!r} is {values[first]!r} and also {values[second]!r}"
    )
