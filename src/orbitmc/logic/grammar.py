"""The grammar of formulas in three dialects, and what to say where a text does not follow it."""

import re
from dataclasses import dataclass
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from orbitmc.errors import InputError
from orbitmc.logic.scanner import STRING, Statement
from orbitmc.logic.syntax import Dialect
from orbitmc.text import quoted

# A quantifier reaches as far as it can: where the parser could stop or go on, it goes on.
GRAMMAR = r"""
?sentence: implication | implication (IFF implication)+ -> iff
?implication: {loose} | {loose} (IMPLIES {loose})+ -> implies
?disjunction: {under_or} | {under_or} (OR {under_or})+ -> or
?conjunction: {under_and} | {under_and} ((AND | COMMA) {under_and})+ -> and
?unary: NOT unary -> not
      | QUANTIFIER variables {scope} -> quantified
      | comparison
variables: NAME (COMMA NAME)*
?comparison: sum | sum COMPARE sum -> comparison
?sum: product | product ((PLUS | MINUS) product)+ -> sum
?product: operand | operand ((STAR | OVER | MOD) operand)+ -> product
?operand: NUMBER -> number
        | STRING -> string
        | atom
        | PLUS NAME -> per_constant
        | STAR atom -> starred
        | "(" sentence ")"
        | "[" sentence "]"
?atom: NAME -> name
     | NAME "(" ")" -> application
     | NAME "(" sum (COMMA sum)* ")" -> application

IFF.4: "<=>"
IMPLIES.3: "=>"
COMPARE.2: /=\/=|!=|<>|<=|>=|<|>|=/
QUANTIFIER.2: {quantifier}
AND.2: {and_}
OR.2: {or_}
NOT.2: {not_}
NUMBER.1: /-?\d+(\.\d+)?([eE][-+]?\d+)?(?![\w'])/
NAME: /-?\w[\w'-]*/
STRING: /{string}/
COMMA: ","
PLUS: "+"
MINUS: "-"
STAR: "*"
OVER: "/"
MOD: "%"
%ignore /\s+/
"""

TIGHT_AND = {"loose": "disjunction", "under_or": "conjunction", "under_and": "unary"}
TIGHT_OR = {"loose": "conjunction", "under_and": "disjunction", "under_or": "unary"}
SYMBOLS = {"and_": r"/\^/", "or_": r"/v(?![\w'-])|\|/", "not_": "/!/"}
QUANTIFIER = {"scope": "sentence", "quantifier": r"/(?i:EXIST|FORALL)(?![\w'-])/"}
DIALECTS = {
    "alchemy": TIGHT_AND | SYMBOLS | QUANTIFIER,
    "pracmln": TIGHT_OR | SYMBOLS | QUANTIFIER | {"scope": '"(" sentence ")"', "or_": r"/v|\|/"},
    "tuffy": TIGHT_AND
    | QUANTIFIER
    | {"and_": r"/\^|AND(?!\w)/", "or_": r"/(?:v|OR)(?![\w'-])|\|/", "not_": r"/!|NOT(?!\w)/"},
}

WORDS = {
    "COMMA": "a comma",
    "RPAR": "')'",
    "RSQB": "']'",
    "LPAR": "'('",
    "$END": "the end of the formula",
    "NAME": "a name",
}
HINTS = {
    "&": "'and' is written ^",
    "->": "'implies' is written =>",
    "<->": "'if and only if' is written <=>",
    "~": "'not' is written !",
    "?": "variables with a question mark belong to a grammar of pracmln that is not supported",
    ":-": "rules that derive evidence are not supported",
    ":=": "rules that restrict groundings are not supported",
    "@": "@ is reserved",
    "$": "$ is reserved",
    '"': "a string ends on the line on which it begins",
}
FOUND = re.compile(rf"{STRING}|<->|->|:-|:=|<=>|=>|-?\w[\w'.-]*|.", re.DOTALL)
ARROW = re.compile(r"<?->")  # its parts could stand for themselves
STARTS = {"NAME", "STRING", "NUMBER"}
CONNECTIVES = {"IFF", "IMPLIES", "OR", "AND"}


@dataclass(frozen=True)
class Sentence:
    """A formula as a tree of its tokens, and the statement that it stands in."""

    statement: Statement
    tree: Tree[Token]


def tree_of(child: Tree[Token] | Token) -> Tree[Token]:
    assert isinstance(child, Tree)
    return child


def token_of(child: Tree[Token] | Token) -> Token:
    assert isinstance(child, Token)
    return child


def start_of(piece: Tree[Token] | Token) -> int:
    """Give where a piece of a tree begins; asking the tokens is faster than noting it always."""
    while isinstance(piece, Tree):
        piece = piece.children[0]
    return piece.start_pos or 0


def trees_of(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


@cache
def _parser(dialect: Dialect) -> Lark:
    grammar = GRAMMAR.format(string=STRING, **DIALECTS[dialect])
    return Lark(
        grammar,
        parser="lalr",
        start="sentence",
        maybe_placeholders=False,
    )


def parse_sentence(statement: Statement, dialect: Dialect) -> Sentence:
    """Read one formula without its weight, or say where it goes wrong."""
    try:
        return Sentence(statement, _parser(dialect).parse(statement.text))
    except UnexpectedInput as error:
        raise _complaint(statement, error) from None


def _complaint(statement: Statement, error: UnexpectedInput) -> InputError:
    text = statement.text
    token = getattr(error, "token", None)
    at_end = token is not None and token.type == "$END"
    offset = len(text) if at_end else error.pos_in_stream
    offset = len(text) if offset is None else offset
    arrow = ARROW.search(text, max(offset - 2, 0))
    offset = arrow.start() if arrow and arrow.start() <= offset < arrow.end() else offset
    piece = FOUND.match(text, offset)
    found = quoted(piece[0]) if piece else "the end of the formula"
    message = f"expected {_expected(error)}, found {found}"
    return statement.error(offset, message + _hint(offset, piece))


def _expected(error: UnexpectedInput) -> str:
    parser = getattr(error, "interactive_parser", None)
    wanted = parser.accepts() if parser else set()
    if wanted >= STARTS:
        return "an atom or a term"
    if wanted & CONNECTIVES:
        wanted -= {"COMMA"}
    words = ["a connective (^, v, =>, <=>)"] if wanted & CONNECTIVES else []
    words += [word for name, word in WORDS.items() if name in wanted]
    return " or ".join(words) or "the end of the formula"


def _hint(offset: int, piece: re.Match[str] | None) -> str:
    found = piece[0] if piece else ""
    if offset == 0 and found in ("=>", "<=>", "^", "v"):
        return f"; a formula goes on in the next line only if {found} stands at the end of the line"
    if found in HINTS:
        return f"; {HINTS[found]}"
    if found == ".":
        return "; only a full stop at the very end makes a formula hard"
    return ""
