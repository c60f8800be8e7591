"""The words of formulas in three dialects, and how tightly connectives bind."""

import re
from dataclasses import dataclass
from functools import cache

from orbitmc.logic.language.scanner import STRING
from orbitmc.logic.language.syntax import Dialect

NAME = r"-?\w[\w'-]*"
WORD = r"[^\W\d][\w'-]*"  # a name that is no number
OPERANDS = {
    "number": r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w'])",
    "name": NAME,
    "string": STRING,
    "open": r"[(\[]",
    "plus": r"\+",
    "star": r"\*",
}
OPERATORS = {
    "iff": "<=>",
    "implies": "=>",
    "comparison": "=/=|!=|<>|<=|>=|<|>|=",
    "comma": ",",
    "close": r"[)\]]",
    "sum": r"[+-]",
    "product": "[*/%]",
    "end": r"\Z",
}
QUANTIFIER = r"(?i:EXIST|FORALL)(?![\w'-])"

# How tightly what waits for an operand binds; an open bracket holds until it is closed.
OPEN, QUANTIFIER_POWER, NOT_POWER, TIGHTEST = -1, 0, 5, 9
LOOSE = {"iff": 1, "implies": 2}
TIGHT = {"comparison": 6, "sum": 7, "product": 8}
AND_TIGHT = {"or": 3, "and": 4}
OR_TIGHT = {"and": 3, "or": 4}
KEYWORDS = {"exist", "forall", "not"}

ATOM = re.compile(rf"\s*({WORD})\s*\(\s*{WORD}(?:\s*,\s*{WORD})*\s*\)")
ARGUMENT = re.compile(WORD)
CALL = re.compile(r"\s*\((\s*\))?")
VARIABLE = re.compile(rf"\s*({NAME})")
COMMA = re.compile(r"\s*,")
BRACKET = re.compile(r"\s*\(")


@dataclass(frozen=True)
class Words:
    """What can stand for an operand of connectives, of terms, and between operands."""

    operand: re.Pattern[str]
    term: re.Pattern[str]
    operator: re.Pattern[str]
    power: dict[str, int]


@cache
def words(dialect: Dialect) -> Words:
    """Give the words of a dialect."""
    connectives = {"and": r"\^", "or": r"v(?![\w'-])|\|"}
    negation, middle = "!", AND_TIGHT
    if dialect == "pracmln":
        connectives["or"], middle = r"v|\|", OR_TIGHT
    if dialect == "tuffy":
        connectives = {"and": r"\^|AND(?!\w)", "or": r"(?:v|OR)(?![\w'-])|\|"}
        negation = r"!|NOT(?!\w)"
    first = {"quantifier": QUANTIFIER, "not": negation}
    return Words(
        _one_of({**first, **OPERANDS}),
        _one_of(OPERANDS),
        _one_of({**connectives, **OPERATORS}),
        LOOSE | middle | TIGHT,
    )


def _one_of(named: dict[str, str]) -> re.Pattern[str]:
    pieces = [f"(?P<{name}>{pattern})" for name, pattern in named.items()]
    return re.compile(rf"\s*(?:{'|'.join(pieces)})")
