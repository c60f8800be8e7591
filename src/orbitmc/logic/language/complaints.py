"""What to say where a formula does not follow the grammar."""

import re

from orbitmc._util.text import quoted
from orbitmc.errors import InputError
from orbitmc.logic.language.scanner import STRING, Statement

OPERAND = "an atom or a term"
CONNECTIVE = "a connective (^, v, =>, <=>)"
ENDING_WORDS = {
    "(": "')'",
    "[": "']'",
    "call": "a comma or ')'",
    "count": "')'",
    "": "the end of the formula",
}

HINTS = {
    "&": "'and' is written ^",
    "->": "'implies' is written =>",
    "<->": "'if and only if' is written <=>",
    "~": "'not' is written !",
    "?": "variables that begin with ? are pracmln's; see dialect pracmln",
    ":-": "that is a definite clause of LoMRF (see dialect lomrf), or a rule of Tuffy that derives "
    "evidence, which is not supported",
    ":=": "rules of Tuffy that restrict groundings, and predicates that RockIt calculates, are not "
    "supported",
    "++": "that is the next time step of LoMRF; see dialect lomrf, or write succ(t) or t + 1",
    "--": "that is the time step before in LoMRF; see dialect lomrf, or write t - 1",
    "@": "@ is reserved",
    "$": "templates and variables with $ (ProbCog) are not supported; write their values",
    "\\": "quantifiers with a backslash belong to WFOMC tools; write EXIST y or FORALL y",
    '"': "a string ends on the line on which it begins",
}
FOUND = re.compile(rf"{STRING}|<->|->|:-|:=|\+\+|--|<=>|=>|-?\w[\w'.-]*|.", re.DOTALL)
ARROW = re.compile(r"<?->")  # its parts could stand for themselves
BLANKS = re.compile(r"\s*")
COUNTED = re.compile(r"(?i:\bCOUNT)\s*\([^|]*\Z")
COUNTS = "counts are pracmln's; see dialect pracmln"


def complaint(statement: Statement, offset: int, expected: str) -> InputError:
    """Say what was expected at a place, and what stands there."""
    text = statement.text
    blanks = BLANKS.match(text, offset)
    offset = blanks.end() if blanks else offset
    arrow = ARROW.search(text, max(offset - 2, 0), offset + 3)
    offset = arrow.start() if arrow and arrow.start() <= offset < arrow.end() else offset
    piece = FOUND.match(text, offset)
    found = quoted(piece[0]) if piece else "the end of the formula"
    message = f"expected {expected}, found {found}"
    if found == "'|'" and COUNTED.search(text, 0, offset):
        return statement.error(offset, f"{message}; {COUNTS}")
    return statement.error(offset, message + _hint(offset, piece))


def expected_after(inside: str, found: str) -> str:
    """Say what may follow an operand inside of a bracket or outside of all."""
    end = ENDING_WORDS[inside]
    return end if inside == "call" or found in ("close", "comma") else f"{CONNECTIVE} or {end}"


def _hint(offset: int, piece: re.Match[str] | None) -> str:
    found = piece[0] if piece else ""
    if offset == 0 and found in ("=>", "<=>", "^", "v"):
        return f"; a formula goes on in the next line only if {found} stands at the end of the line"
    if found in HINTS:
        return f"; {HINTS[found]}"
    if re.fullmatch(r"-?\d+(\.\d+)?", found):
        return "; weights stand before formulas (those of predicates are Forclift's, and not read)"
    if found == ".":
        return "; only a full stop at the very end makes a formula hard"
    return ""
