"""The words of formulas in all dialects, and how tightly connectives bind."""

import re
from dataclasses import dataclass
from functools import cache

from orbitmc.logic.language.notation import Dialect, Notation
from orbitmc.logic.language.scanner import STRING

LETTERS: dict[Dialect, str] = {"lomrf": r"\w'"}  # where - is always an operator
USUAL_LETTERS = r"\w'-"
MARKED_LETTERS = r"\w'.:;$~\\/-"  # of constants where variables are marked
OPERATORS = {
    "iff": "<=>",
    "implies": "=>",
    "comparison": "=/=|!=|<>|==|<=|>=|<|>|=",
    "comma": ",",
    "close": r"[)\]]",
    "step": r"(?:\+\+|--)(?!\s*\w)",
    "sum": r"[+-]",
    "product": "[*/%]",
    "end": r"\Z",
}
QUANTIFIER = r"(?i:EXIST|FORALL)(?![\w'-])"
COUNT = r"(?i:COUNT)(?=\s*\()"

# How tightly what waits for an operand binds; an open bracket holds until it is closed.
OPEN, QUANTIFIER_POWER, NOT_POWER, TIGHTEST = -1, 0, 5, 9
LOOSE = {"iff": 1, "implies": 2}
TIGHT = {"comparison": 6, "sum": 7, "product": 8}
AND_TIGHT = {"or": 3, "and": 4}
OR_TIGHT = {"and": 3, "or": 4}
KEYWORDS = {"exist", "forall", "not"}

CALL = re.compile(r"\s*\((\s*\))?")
COMMA = re.compile(r"\s*,")
BRACKET = re.compile(r"\s*\(")
CLOSE = re.compile(r"\s*\)")
BAR = re.compile(r"\s*\|")
COMPARED = re.compile(r"\s*(==|=|<=|>=)\s*(\d{1,9})(?!\w)")


@dataclass(frozen=True)
class Words:
    """What can stand for an operand of connectives, of terms, and between operands.

    An `atom` has nothing but plain words between its brackets, each an `argument`.
    """

    operand: re.Pattern[str]
    term: re.Pattern[str]
    operator: re.Pattern[str]
    atom: re.Pattern[str]
    argument: re.Pattern[str]
    variable: re.Pattern[str]
    power: dict[str, int]


@cache
def words(notation: Notation) -> Words:
    """Give the words of a notation."""
    dialect, marked = notation
    connectives = {"and": r"\^", "or": r"v(?![\w'-])|\|"}
    negation, middle = "!", AND_TIGHT
    if dialect == "pracmln":
        connectives["or"], middle = r"v|\|", AND_TIGHT if marked else OR_TIGHT
    if dialect == "tuffy":
        connectives = {"and": r"\^|AND(?!\w)", "or": r"(?:v|OR)(?![\w'-])|\|"}
        negation = r"!|NOT(?!\w)"
    letters = MARKED_LETTERS if marked else LETTERS.get(dialect, USUAL_LETTERS)
    name = rf"\??-?[\w:;~](?:[{letters}]|!(?!=))*" if marked else rf"-?\w[{letters}]*"
    word = rf"(?:\?\w|[^\W\d]|[:;~])(?:[{letters}]|!(?!=))*" if marked else rf"[^\W\d][{letters}]*"
    operands = _operands(name, letters, marked)
    first = {"quantifier": QUANTIFIER, "not": negation}
    if dialect == "pracmln":
        first["count"] = COUNT
    return Words(
        operand=_one_of({**first, **operands}),
        term=_one_of(operands),
        operator=_one_of({**connectives, **OPERATORS}),
        atom=re.compile(rf"\s*({word})\s*\(\s*{word}(?:\s*,\s*{word})*\s*\)"),
        argument=re.compile(word),
        variable=re.compile(rf"\s*({name})"),
        power=LOOSE | middle | TIGHT,
    )


def _operands(name: str, letters: str, marked: bool) -> dict[str, str]:
    group = {"group": rf"{name}(?:\s*\|\s*{name}){{1,32}}+(?=\s*\()"} if marked else {}
    after = letters if marked else r"\w'"
    return {
        "number": rf"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![{after}])",
        **group,
        "name": name,
        "string": STRING,
        "open": r"[(\[]",
        "plus": r"\+",
        "star": r"\*",
    }


def _one_of(named: dict[str, str]) -> re.Pattern[str]:
    pieces = [f"(?P<{name}>{pattern})" for name, pattern in named.items()]
    return re.compile(rf"\s*(?:{'|'.join(pieces)})")
