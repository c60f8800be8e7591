"""Declarations of types, predicates and functions, as they stand in a program."""

import re
from dataclasses import dataclass
from functools import lru_cache

from orbitmc._util.text import quote, require_memory
from orbitmc.errors import MOST_ERRORS, ManyInputError
from orbitmc.mln.language.scanner import STRING, Dialect, Place, Statement, unquote
from orbitmc.mln.language.syntax import Predicate

TYPE_NAME = r"-?[^\W\d][\w'-]*"
TYPE = rf"\+?\s*+{TYPE_NAME}(?:\s++{TYPE_NAME})?\s*+[!?]?"
DECLARATION = re.compile(
    rf"(?P<prefix>\*\*|[*@+])?\s*+(?:(?P<value>{TYPE_NAME})\s++)?(?P<name>{TYPE_NAME})\s*+"
    rf"(?P<arguments>\((?P<types>\s*+(?:{TYPE}\s*+(?:,\s*+{TYPE}\s*+)*+)?)\))?"
)
ARGUMENT = re.compile(
    rf"\s*(?P<plus>\+)?\s*(?P<type>{TYPE_NAME})(?:\s+(?P<named>{TYPE_NAME}))?\s*(?P<mark>[!?])?\s*"
)
QUANTIFIER_WORDS = {"exist", "forall"}
CONSTANT_LIST = re.compile(rf"(?P<type>{TYPE_NAME})\s*=\s*\{{")
CONSTANT_PIECE = re.compile(rf"{STRING}|\"[^\n]*|\.\.\.|,|[^\s,{{}}\"]+|.", re.DOTALL)
QUOTED = re.compile(STRING)
WHOLE_NUMBER = re.compile(r"-?\d{1,18}")
CONSTANT = re.compile(r"-?\d+|[^\W_][\w'-]*")
SMALL_LETTER_DIALECTS = (
    "tuffy",
    "pracmln",
)  # dialects whose constants may begin with small letters
ANY_CONSTANT = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|[\w:;~][\w'.:;$~\\/!-]*")
BYTES_PER_CONSTANT = 500  # until its atoms are numbered


@dataclass(frozen=True)
class Declaration:
    """A predicate, or a function if it has a type of values; `marks` holds ! or ? or nothing."""

    name: str
    types: tuple[str, ...]
    marks: tuple[str, ...]
    prefix: str
    value: str | None
    remarks: tuple[str, ...]
    statement: Statement
    offset: int

    def predicate(self) -> Predicate:
        """Give the predicate that is declared; a function's has its value as first argument."""
        if self.value is not None:
            types = (self.value, *self.types)
            name = f"{self.name}="  # as no predicate in a file can be named
            return Predicate(name, types, (False,) * len(types), True, self.place)
        exclusive = tuple(mark == "!" for mark in self.marks)
        closed = True if self.prefix.startswith("*") else None
        return Predicate(self.name, self.types, exclusive, closed, self.place)

    def at_most_one(self) -> Statement:
        """Say in a formula that arguments marked ? have at most one value for all the others."""
        ones = [f"first_{place}" for place in range(len(self.types))]
        others = [
            f"other_{place}" if mark == "?" else ones[place]
            for place, mark in enumerate(self.marks)
        ]
        pairs = [pair for pair in zip(ones, others, strict=True) if pair[0] != pair[1]]
        same = " ^ ".join(f"({left} = {right})" for left, right in pairs)
        text = f"!{self.name}({','.join(ones)}) v !{self.name}({','.join(others)}) v ({same})"
        return Statement(self.statement.source, self.statement.start, text)

    @property
    def place(self) -> Place:
        return self.statement.place(self.offset)


def declaration(statement: Statement, dialect: Dialect) -> Declaration | None:
    """Read a statement as a declaration if it has the looks of one."""
    match = DECLARATION.fullmatch(statement.text)
    if not match or {match["name"].lower(), (match["value"] or "").lower()} & QUANTIFIER_WORDS:
        return None
    if match["value"] and not match["arguments"]:
        return None
    arguments = [ARGUMENT.fullmatch(piece) for piece in (match["types"] or "").split(",")]
    matched = [argument for argument in arguments if argument]
    named = [argument["named"] for argument in matched if argument["named"]]
    if dialect != "tuffy" and named:
        where = re.compile(rf"(?<=\s){re.escape(named[0])}(?![\w'-])")
        begun = where.search(statement.text, match.start("types"))
        raise statement.error(
            begun.start() if begun else 0,
            f"expected a comma or ')', found {quote(named[0])}; names of arguments are Tuffy's; "
            "see dialect tuffy",
        )
    remarks = (
        ["+ before a type has no meaning"] if any(marked["plus"] for marked in matched) else []
    )
    if dialect != "tuffy" and match["prefix"]:
        remarks.append(f"{match['prefix']} before a declaration is Tuffy's; see dialect tuffy")
    if match["prefix"] in ("@", "+") and dialect != "tuffy":
        return None
    return Declaration(
        match["name"],
        tuple(argument["type"] for argument in matched),
        tuple(argument["mark"] or "" for argument in matched),
        match["prefix"] or "",
        match["value"],
        tuple(remarks),
        statement,
        match.start("name"),
    )


def constants(
    statement: Statement, dialect: Dialect, memory: int, known: int = 0
) -> tuple[str, tuple[str, ...]] | None:
    """Read a statement as a list of a type's constants if it has the looks of one.

    `known` constants are there already, which count as ranges are weighed against memory.
    """
    match = CONSTANT_LIST.match(statement.text)
    if not match:
        return None
    pieces = [
        piece for piece in CONSTANT_PIECE.finditer(statement.text, match.end()) if piece[0].strip()
    ]
    if not pieces or pieces[-1][0] != "}":
        raise statement.error(len(statement.text), "expected '}' at the end of the constants")
    names: dict[str, None] = {}
    errors = []
    words = [piece for piece in pieces[:-1] if piece[0] != ","]
    for index, word in enumerate(words):
        if word[0] == "...":
            ends = words[index - 1 : index] + words[index + 1 : index + 2]
            low, high = _range(statement, word.start(), ends)
            needed = BYTES_PER_CONSTANT * (known + len(names) + high - low + 1)
            require_memory(str(statement.place(word.start())), needed, memory)
            names.update(dict.fromkeys(map(str, range(low, high + 1))))
        elif not QUOTED.match(word[0]) and (complaint := explain_bad_constant(word[0], dialect)):
            errors.append(statement.error(word.start(), complaint))
            if len(errors) >= MOST_ERRORS:
                break
        else:
            names[unquote(word[0])] = None
    if errors:
        raise ManyInputError(errors)
    return match["type"], tuple(names)


@lru_cache(maxsize=2**16)
def explain_bad_constant(word: str, dialect: Dialect) -> str:
    """Say why a word without quotes cannot be a constant, or nothing."""
    if not (ANY_CONSTANT if dialect in SMALL_LETTER_DIALECTS else CONSTANT).fullmatch(word):
        return f"expected a constant, found {quote(word)}; quote names with other characters"
    if dialect not in SMALL_LETTER_DIALECTS and not (
        word[0].isupper() or word[0].isdigit() or word[0] == "-"
    ):
        return (
            f"the constant {quote(word)} starts with a small letter, as only variables do; "
            f'write {word[0].upper() + word[1:]} or "{word}"'
        )
    return ""


def _range(statement: Statement, offset: int, ends: list[re.Match[str]]) -> tuple[int, int]:
    """Give the first and the last of the whole numbers that ... stands for."""
    if len(ends) != 2 or not all(WHOLE_NUMBER.fullmatch(end[0]) for end in ends):
        raise statement.error(offset, "... stands between two whole numbers, as in {1, ..., 20}")
    low, high = (int(end[0]) for end in ends)
    if low > high:
        raise statement.error(offset, f"the range from {low} to {high} is empty")
    return low, high
