"""Read formulas into trees of their words: operators wait until looser ones or brackets come.

Every word is looked at once and nothing recurses, so reading takes time in proportion to the text,
however deep brackets are nested.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from orbitmc._util.text import quote
from orbitmc.errors import InputError, LimitError
from orbitmc.mln.language.scanner import STRING, Dialect, Notation, Statement

# The words of formulas in all dialects, and how tightly connectives bind.

LETTERS: dict[Dialect, str] = {"lomrf": r"\w'"}  # where - is always an operator
USUAL_LETTERS = r"\w'-"
MARKED_LETTERS = r"\w'.:;$~\\/-"  # of constants where variables are marked
CONNECTIVES = {
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
COUNT_WORD = r"(?i:COUNT)(?=\s*\()"

# How tightly what waits for an operand binds; an open bracket holds until it is closed.
OPEN, QUANTIFIER_POWER, NOT_POWER, TIGHTEST = -1, 0, 5, 9
LOOSE = {"iff": 1, "implies": 2}
TIGHT = {"comparison": 6, "sum": 7, "product": 8}
AND_TIGHT = {"or": 3, "and": 4}
OR_TIGHT = {"and": 3, "or": 4}
OPERATOR_WORDS = {"exist", "forall", "not"}

CALL = re.compile(r"\s*\((\s*\))?")
COMMA = re.compile(r"\s*,")
BRACKET = re.compile(r"\s*\(")
CLOSE_BRACKET = re.compile(r"\s*\)")
BAR = re.compile(r"\s*\|")
COUNT_BOUND = re.compile(r"\s*(==|=|<=|>=)\s*(\d{1,9})(?!\w)")


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
        first["count"] = COUNT_WORD
    return Words(
        operand=_one_of({**first, **operands}),
        term=_one_of(operands),
        operator=_one_of({**connectives, **CONNECTIVES}),
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


# Formulas as trees of their words, and what waits while one is read.


class Tree(NamedTuple):
    """A word of a formula, where its text begins, and the parts that it joins or is applied to.

    `kind` is iff, implies, or, and, not, quantified (variables, then the body), count (likewise),
    comparison, sum, product, number, string, name, application, group (an application of
    alternative predicates), per_constant or starred. `at` is where the operator between parts
    stands.
    """

    kind: str
    start: int
    word: str = ""
    parts: tuple["Tree", ...] = ()
    at: int = 0


@dataclass(slots=True)
class Pending:
    """What waits for its last operand: an operator, a prefix, or an open bracket.

    `first` is the number of its first operand.
    """

    power: int
    kind: str
    start: int
    first: int
    word: str = ""
    at: int = 0
    variables: tuple[Tree, ...] = ()


class Sentence(NamedTuple):
    """A formula as a tree, the statement that it stands in, and remarks with their places."""

    statement: Statement
    tree: Tree
    remarks: list[tuple[int, str]]


# What to say where a formula does not follow the grammar.

OPERAND = "an atom or a term"
CONNECTIVE = "a connective (^, v, =>, <=>)"
ENDING_WORDS = {
    "(": "')'",
    "[": "']'",
    "call": "a comma or ')'",
    "count": "')'",
    "": "the end of the formula",
}

SYNTAX_HINTS = {
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
WHITE_SPACE = re.compile(r"\s*")
COUNTED = re.compile(r"(?i:\bCOUNT)\s*\([^|]*\Z")
COUNTS_HINT = "counts are pracmln's; see dialect pracmln"


def syntax_error(statement: Statement, offset: int, expected: str) -> InputError:
    """Say what was expected at a place, and what stands there."""
    text = statement.text
    blanks = WHITE_SPACE.match(text, offset)
    offset = blanks.end() if blanks else offset
    arrow = ARROW.search(text, max(offset - 2, 0), offset + 3)
    offset = arrow.start() if arrow and arrow.start() <= offset < arrow.end() else offset
    piece = FOUND.match(text, offset)
    token = quote(piece[0]) if piece else "the end of the formula"
    message = f"expected {expected}, found {token}"
    if token == "'|'" and COUNTED.search(text, 0, offset):
        return statement.error(offset, f"{message}; {COUNTS_HINT}")
    return statement.error(offset, message + _hint(offset, piece))


def expected_after(inside: str, token: str) -> str:
    """Say what may follow an operand inside of a bracket or outside of all."""
    end = ENDING_WORDS[inside]
    return end if inside == "call" or token in ("close", "comma") else f"{CONNECTIVE} or {end}"


def _hint(offset: int, piece: re.Match[str] | None) -> str:
    token = piece[0] if piece else ""
    if offset == 0 and token in ("=>", "<=>", "^", "v"):
        return f"; a formula goes on in the next line only if {token} stands at the end of the line"
    if token in SYNTAX_HINTS:
        return f"; {SYNTAX_HINTS[token]}"
    if re.fullmatch(r"-?\d+(\.\d+)?", token):
        return "; weights stand before formulas (those of predicates are Forclift's, and not read)"
    if token == ".":
        return "; only a full stop at the very end makes a formula hard"
    return ""


MOST_PARTS = 200_000
"""Atoms, negations and brackets of one formula, also after its quantifiers are replaced."""

IN_CALL = {"sum", "product", "comma", "close", "step"}
END_KINDS = {"end", "close"}
CLOSING_BRACKETS = {"(": ")", "[": "]", "call": ")", "count": ")", "": ""}


def parse_sentence(statement: Statement, notation: Notation) -> Sentence:
    """Read one formula without its weight, or say where it goes wrong."""
    return _Parser(statement, notation).sentence()


class _Parser:
    """A formula while it is read: `at` is how far, `operands` wait for what is `pending`."""

    def __init__(self, statement: Statement, notation: Notation) -> None:
        self.statement, self.text, self.notation = statement, statement.text, notation
        self.dialect, self.words = notation.dialect, words(notation)
        self.at = 0
        self.operands: list[Tree] = []
        self.pending = [Pending(OPEN, "", 0, 0)]
        self.brackets = [self.pending[0]]
        self.remarks: list[tuple[int, str]] = []
        self.parts = 0

    def sentence(self) -> Sentence:
        while True:
            while not self._read_operand():
                pass
            while (done := self._read_operator()) is None:
                pass
            if done:
                return Sentence(self.statement, self.operands[0], self.remarks)

    def _read_operand(self) -> bool:
        """Read an operand, or what stands before one; say whether it is whole."""
        top = self.pending[-1]
        if top.power > NOT_POWER or top.kind == "call":
            match = self.words.term.match(self.text, self.at)
        else:
            self._count_part()
            plain = self.words.atom.match(self.text, self.at)
            if plain and plain[1].lower() not in OPERATOR_WORDS:
                return self._plain_atom(plain)
            match = self.words.operand.match(self.text, self.at)
        if not match:
            raise syntax_error(self.statement, self.at, OPERAND)
        kind = match.lastgroup or ""
        self.at = match.end()
        return self._begin(kind, match.start(kind), match[kind])

    def _count_part(self) -> None:
        """Refuse a formula that is too long to be worked with, before all of it is read."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise LimitError(
                f"{self.statement.place(0)}: this formula has more than {MOST_PARTS:,} atoms, "
                "negations and brackets; write several formulas"
            )

    def _plain_atom(self, match: re.Match[str]) -> bool:
        """Take an atom with nothing but names between its brackets."""
        self.at = match.end()
        self.operands.append(self._atom(match))
        return True

    def _atom(self, match: re.Match[str]) -> Tree:
        start, after = match.span(1)
        arguments = [
            Tree("name", argument.start(), argument[0])
            for argument in self.words.argument.finditer(self.text, after, match.end())
        ]
        return Tree("application", start, match[1], tuple(arguments))

    def _begin(self, kind: str, start: int, word: str) -> bool:
        match kind:
            case "name":
                return self._read_name(start, word)
            case "open":
                self._open(word, start)
            case "not":
                self._push_pending(NOT_POWER, "not", start)
            case "quantifier":
                self._quantify(start, word)
            case "count":
                return self._count(start)
            case "group":
                self._open("call", start, "".join(word.split()))
                self.at = self.text.index("(", self.at) + 1
            case "plus":
                self.operands.append(self._variable("per_constant"))
            case "star":
                self._push_pending(TIGHTEST, "starred", start)
                name = self._variable("name")
                return self._read_name(name.start, name.word)
            case _:
                self.operands.append(Tree(kind, start, word))
        return kind in ("plus", "number", "string")

    def _read_name(self, start: int, word: str) -> bool:
        """Take a name, or begin the arguments that follow it."""
        call = CALL.match(self.text, self.at)
        if call and call[1] is None:
            self._open("call", start, word)
        else:
            kind = "application" if call else "name"
            self.operands.append(Tree(kind, start, word))
        self.at = call.end() if call else self.at
        return not call or call[1] is not None

    def _variable(self, kind: str) -> Tree:
        match = self.words.variable.match(self.text, self.at)
        if not match:
            raise syntax_error(self.statement, self.at, "a name")
        self.at = match.end()
        return Tree(kind, match.start(1), match[1])

    def _quantify(self, start: int, word: str) -> None:
        """Begin a quantifier: it reaches as far as it can, or in pracmln over a bracket."""
        named = self._variables()
        if self.dialect != "pracmln":
            self._push_pending(QUANTIFIER_POWER, "quantified", start, word, named)
            return
        if word.upper() == "FORALL":
            self.remarks.append((start, "FORALL is Alchemy's; see dialect alchemy"))
        self._push_pending(TIGHTEST, "quantified", start, word, named)
        bracket = BRACKET.match(self.text, self.at)
        if not bracket:
            raise syntax_error(self.statement, self.at, "'('")
        self._open("(", bracket.end() - 1)
        self.at = bracket.end()

    def _variables(self) -> tuple[Tree, ...]:
        named = [self._variable("name")]
        while comma := COMMA.match(self.text, self.at):
            self.at = comma.end()
            named.append(self._variable("name"))
        return tuple(named)

    def _count(self, start: int) -> bool:
        """Read `COUNT(atom | variables that stay)`, or begin `COUNT(variables | formula)`."""
        bracket = BRACKET.match(self.text, self.at)
        assert bracket
        self.at = bracket.end()
        atom = self.words.atom.match(self.text, self.at)
        if not atom:
            self._open("count", start, named=self._variables())
            self._expect(BAR, "'|' after the variables that are counted")
            return False
        self.at = atom.end()
        counted = self._atom(atom)
        staying = set[str]()
        if bar := BAR.match(self.text, self.at):
            self.at = bar.end()
            staying = {tree.word for tree in self._variables()}
        self._expect(CLOSE_BRACKET, "')' after what is counted")
        names = {tree.word: tree for tree in counted.parts if self.notation.is_variable(tree.word)}
        named = tuple(tree for word, tree in names.items() if word not in staying)
        self.operands.append(self._compare_count(start, named, counted))
        return True

    def _compare_count(self, start: int, named: tuple[Tree, ...], body: Tree) -> Tree:
        """Compare a count with the number that follows."""
        match = self._expect(COUNT_BOUND, "=, <= or >= and a whole number after what is counted")
        word = f"{match[1].replace('==', '=')} {match[2]}"
        return Tree("count", start, word, (*named, body))

    def _expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if not match:
            raise syntax_error(self.statement, self.at, what)
        self.at = match.end()
        return match

    def _open(self, kind: str, start: int, word: str = "", named: tuple[Tree, ...] = ()) -> None:
        first = len(self.operands)
        self.pending.append(Pending(OPEN, kind, start, first, word, variables=named))
        self.brackets.append(self.pending[-1])

    def _push_pending(
        self, power: int, kind: str, start: int, word: str = "", named: tuple[Tree, ...] = ()
    ) -> None:
        first = len(self.operands)
        self.pending.append(Pending(power, kind, start, first, word, start, named))

    def _read_operator(self) -> bool | None:
        """Read what follows an operand: True at the end, False before the next operand."""
        match = self.words.operator.match(self.text, self.at)
        kind = match.lastgroup or "" if match else ""
        inside = self.brackets[-1].kind
        wrong = kind not in IN_CALL if inside == "call" else kind == ("end" if inside else "close")
        if not match or wrong:
            raise syntax_error(self.statement, self.at, expected_after(inside, kind))
        start, self.at = match.start(kind), match.end()
        if kind in END_KINDS:
            return self._end(start, match[kind])
        if kind == "step":
            self._step(start, match[kind])
            return None
        if kind == "comma" and inside == "call":
            self._reduce_to(OPEN)
        else:
            self._join("and" if kind == "comma" else kind, start, match[kind])
        return False

    def _end(self, start: int, word: str) -> bool | None:
        """Finish a bracket or the formula."""
        bracket = self.brackets[-1]
        if word != CLOSING_BRACKETS[bracket.kind]:
            raise syntax_error(self.statement, start, expected_after(bracket.kind, "close"))
        self._reduce_to(OPEN)
        if not word:
            return True
        self.pending.pop()
        self.brackets.pop()
        if bracket.kind == "call":
            self._push_tree("group" if "|" in bracket.word else "application", bracket)
        elif bracket.kind == "count":
            self.operands[-1] = self._compare_count(
                bracket.start, bracket.variables, self.operands[-1]
            )
        return None

    def _step(self, start: int, word: str) -> None:
        """Move the term before ++ or -- by one."""
        if self.dialect != "lomrf":
            raise syntax_error(
                self.statement, start, expected_after(self.brackets[-1].kind, "step")
            )
        term = self.operands[-1]
        unit = Tree("number", start, "1")
        self.operands[-1] = Tree("sum", term.start, word[0], (term, unit), start)

    def _join(self, kind: str, start: int, word: str) -> None:
        """Let an operator wait for its right operand, once tighter ones have theirs."""
        self._remark(kind, start, word)
        power = self.words.power[kind]
        self._reduce_to(power)
        if self.pending[-1].power == power:
            if kind in ("and", "or"):
                return
            self._require_chain(kind, start)
            self._reduce()
        first = len(self.operands) - 1
        begin = self.operands[-1].start
        self.pending.append(Pending(power, kind, begin, first, word, start))

    def _require_chain(self, kind: str, start: int) -> None:
        if kind == "comparison":
            raise syntax_error(self.statement, start, expected_after(self.brackets[-1].kind, kind))
        if self.dialect == "pracmln" and kind in ("implies", "iff"):
            raise self.statement.error(start, "put one of them in parentheses")

    def _remark(self, kind: str, start: int, word: str) -> None:
        if word == "v" and self.dialect == "alchemy":
            around = self.text[start - 1 : start + 2]
            if not (around[0].isspace() and around[2:].isspace()):
                self.remarks.append((start, "put blanks around v; other readers need them"))
        elif word == "," and self.dialect != "tuffy":
            self.remarks.append((start, "commas between atoms are Tuffy's; see dialect tuffy"))

    def _reduce_to(self, power: int) -> None:
        while self.pending[-1].power > power:
            self._reduce()

    def _reduce(self) -> None:
        """Put together what waited last with its operands."""
        last = self.pending.pop()
        self._push_tree(last.kind, last)

    def _push_tree(self, kind: str, last: Pending) -> None:
        parts = (*last.variables, *self.operands[last.first :])
        del self.operands[last.first :]
        self.operands.append(Tree(kind, last.start, last.word, parts, last.at))
