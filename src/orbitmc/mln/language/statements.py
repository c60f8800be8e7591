"""Definite clauses `Head(x) :- Body(x,y)`, as in LoMRF: implications, and their completion.

LoMRF reads a clause as `body => head` with its weight, and adds hard formulas that let a head be
true only where some body is (predicate completion in its decomposed form).
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orbitmc._util.text import suggestion
from orbitmc.mln.language.grammar import Sentence, Tree, parse_sentence
from orbitmc.mln.language.resolution import Conversion
from orbitmc.mln.language.scanner import Dialect, Notation, Statement
from orbitmc.mln.language.syntax import (
    And,
    Comparison,
    Count,
    Formula,
    Implies,
    Not,
    Or,
    Predicate,
    atoms_of,
    free_variables,
)

IF = ":-"
SHARED_VARIABLE = "@"  # begins the variables of heads, as no variable of a program can


@dataclass(frozen=True)
class DefiniteClause:
    """A head, which is an atom, and a body."""

    statement: Statement
    head: Tree
    body: Tree

    def implication(self) -> Sentence:
        return Sentence(self.statement, Tree("implies", 0, "=>", (self.body, self.head)), [])


def definite_clause(statement: Statement, notation: Notation) -> DefiniteClause:
    """Read a clause; both sides keep their columns."""
    at = statement.text.index(IF)
    blanks = " " * (at + len(IF))
    rest = Statement(statement.source, statement.start, blanks + statement.text[len(blanks) :])
    head = parse_sentence(statement.before(at), notation).tree
    if head.kind not in ("application", "name"):
        raise statement.error(head.start, f"expected one atom before {IF}, the head of the clause")
    body = parse_sentence(rest, notation).tree
    for part in body.parts if body.kind == "and" else (body,):
        inner = part.parts[0] if part.kind == "not" else part
        if inner.kind not in ("application", "name", "comparison"):
            raise statement.error(
                part.start, f"expected atoms joined by ^ after {IF}, negated or not"
            )
    return DefiniteClause(statement, head, body)


@dataclass
class _Case:
    """One clause in terms of its group: conditions and body, and the variables of its own."""

    statement: Statement
    head: list[Tree]
    conditions: list[Tree] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)


class Completion:
    """Says for every predicate that is a head that only its clauses make it true."""

    def __init__(
        self,
        clauses: Sequence[DefiniteClause],
        notation: Notation,
        predicates: Mapping[str, Predicate],
        functions: Mapping[str, str],
    ) -> None:
        self.notation, self.predicates, self.functions = notation, predicates, functions
        self.clauses: dict[str, list[DefiniteClause]] = {}
        for clause in clauses:
            self.clauses.setdefault(clause.head.word, []).append(clause)

    def sentences(self) -> Iterator[Sentence]:
        for name, clauses in self.clauses.items():
            yield from self._predicate(name, clauses)

    def _predicate(self, name: str, clauses: list[DefiniteClause]) -> Iterator[Sentence]:
        """Group the clauses by what is no variable in their heads, then complete each group."""
        columns = itertools.zip_longest(*(clause.head.parts for clause in clauses))
        general = [
            any(term is None or self._is_variable(term) for term in column) for column in columns
        ]
        groups: dict[tuple[str, ...], list[tuple[_Case, Tree]]] = {}
        for clause in clauses:
            case = self._case(clause, general)
            key = tuple(
                _text(term) for term, free in zip(case.head, general, strict=True) if not free
            )
            groups.setdefault(key, []).append((case, clause.body))
        for cases in groups.values():
            head = Tree("application", 0, name, tuple(cases[0][0].head))
            bodies = tuple(self._body(case, body) for case, body in cases)
            yield Sentence(cases[0][0].statement, _implies(head, _join("or", bodies)), [])
        if not all(general):
            yield from self._rest(name, general, [cases[0][0] for cases in groups.values()])

    def _case(self, clause: DefiniteClause, general: Sequence[bool]) -> _Case:
        case = _Case(clause.statement, [])
        for place, (term, free) in enumerate(zip(clause.head.parts, general, strict=False)):
            variable = Tree("name", 0, f"{SHARED_VARIABLE}{place}")
            if not free:
                case.head.append(self._generalise(term, place, case))
                continue
            case.head.append(variable)
            if self._is_variable(term) and term.word not in case.renamed:
                case.renamed[term.word] = variable.word
            else:
                case.conditions.append(self._equal(variable, term))
        return case

    def _generalise(self, term: Tree, place: int, case: _Case) -> Tree:
        """A constant, or a function whose arguments get the names that all clauses share."""
        arguments = []
        for number, part in enumerate(term.parts):
            variable = Tree("name", 0, f"{SHARED_VARIABLE}{place}_{number}")
            if self._is_variable(part) and part.word not in case.renamed:
                case.renamed[part.word] = variable.word
                arguments.append(variable)
            elif self._is_variable(part):
                case.conditions.append(self._equal(variable, part))
                arguments.append(variable)
            else:
                arguments.append(part)
        return term._replace(parts=tuple(arguments))

    def _equal(self, variable: Tree, term: Tree) -> Tree:
        if term.kind == "application" and term.word in self.functions:
            return Tree("application", 0, self.functions[term.word], (variable, *term.parts))
        return Tree("comparison", 0, "=", (variable, term))

    def _body(self, case: _Case, body: Tree) -> Tree:
        parts = (*case.conditions, *(body.parts if body.kind == "and" else (body,)))
        whole = _join("and", parts)
        bound = [
            Tree("name", 0, name)
            for name in self._variables(whole)
            if name not in case.renamed and not name.startswith(SHARED_VARIABLE)
        ]
        inner = _rename(whole, case.renamed)
        return Tree("quantified", 0, "EXIST", (*bound, inner)) if bound else inner

    def _rest(
        self, name: str, general: Sequence[bool], cases: Sequence[_Case]
    ) -> Iterator[Sentence]:
        """Say that a head without any clause is false."""
        if self._all_functions(name, general, cases):
            return
        head = tuple(Tree("name", 0, f"{SHARED_VARIABLE}{place}") for place in range(len(general)))
        defined = []
        for case in cases:
            fixed = [place for place, free in enumerate(general) if not free]
            inner = _join("and", [self._equal(head[place], case.head[place]) for place in fixed])
            bound = tuple(
                part
                for place in fixed
                for part in case.head[place].parts
                if self._is_variable(part)
            )
            defined.append(Tree("quantified", 0, "EXIST", (*bound, inner)) if bound else inner)
        only = _implies(Tree("application", 0, name, head), _join("or", defined))
        yield Sentence(cases[0].statement, only, [])

    def _all_functions(self, name: str, general: Sequence[bool], cases: Sequence[_Case]) -> bool:
        """Whether the clauses are about one argument, and about all functions that give its type.

        Then nothing is left, as constants of such a type are values of these functions.
        """
        fixed = [place for place, free in enumerate(general) if not free]
        heads = [case.head[fixed[0]] for case in cases]
        if len(fixed) != 1 or not all(head.word in self.functions for head in heads):
            return False
        kind = self.predicates[name].types[fixed[0]]
        able = [
            f
            for f, predicate in self.functions.items()
            if self.predicates[predicate].types[0] == kind
        ]
        return {head.word for head in heads if all(map(self._is_variable, head.parts))} >= {*able}

    def _is_variable(self, tree: Tree) -> bool:
        return tree.kind == "name" and self.notation.is_variable(tree.word)

    def _variables(self, tree: Tree) -> list[str]:
        words = dict.fromkeys(_words(tree))
        return [name for name in words if self.notation.is_variable(name)]


def _implies(left: Tree, right: Tree) -> Tree:
    return Tree("implies", 0, "=>", (left, right))


def _join(kind: str, parts: Sequence[Tree]) -> Tree:
    return parts[0] if len(parts) == 1 else Tree(kind, 0, "", tuple(parts))


def _words(tree: Tree) -> Iterator[str]:
    if tree.kind == "name":
        yield tree.word
    for part in tree.parts:
        yield from _words(part)


def _rename(tree: Tree, names: Mapping[str, str]) -> Tree:
    word = names.get(tree.word, tree.word) if tree.kind == "name" else tree.word
    return tree._replace(word=word, parts=tuple(_rename(part, names) for part in tree.parts))


def _text(tree: Tree) -> str:
    inner = ",".join(map(_text, tree.parts))
    return f"{tree.kind} {tree.word}({inner})"


# How many atoms may be true, as in RockIt: `|y| !Person(y) v Friend(x,y) <= 3`.

CARDINALITY = re.compile(
    r"\|\s*(?P<names>\w+(?:\s*,\s*\w+)*)\s*\|(?P<clause>.*?)"
    r"(?P<operator><=|>=|(?<![<>=!/])=)\s*(?P<number>\d{1,9})\s*\.?",
    re.DOTALL,
)
PENDING_BARS = re.compile(r"\|\s*\w+[\s\w,]*\|")


class Cardinality(NamedTuple):
    """Variables that are counted over, a clause, and what the count is compared with."""

    names: tuple[str, ...]
    clause: Statement
    operator: str
    number: int


def cardinality(statement: Statement) -> Cardinality | None:
    """Read a statement as a cardinality if it begins like one."""
    if not PENDING_BARS.match(statement.text):
        return None
    match = CARDINALITY.fullmatch(statement.text)
    if not match:
        raise statement.error(
            len(statement.text), "expected <= or >= and a whole number after what is counted"
        )
    start, end = match.span("clause")
    names = tuple(name.strip() for name in match["names"].split(","))
    clause = statement.before(end).after(start)
    return Cardinality(names, clause, match["operator"], int(match["number"]))


def count_atoms(
    conversion: Conversion, wanted: Cardinality, predicates: dict[str, Predicate]
) -> Formula:
    """Count the atoms of a clause that are not observed, where its observed part is violated."""
    formula = conversion.formula
    literals = formula.parts if isinstance(formula, Or) else (formula,)
    free = set(free_variables(formula))
    for name in wanted.names:
        if name not in free:
            conversion.terms.add_error(0, f"{name} does not occur in what is counted")
    is_observed = [_is_observed(part, predicates) for part in literals]
    observed = list(itertools.compress(literals, is_observed))
    hidden = [part for part, known in zip(literals, is_observed, strict=True) if not known]
    if not hidden:
        conversion.terms.add_error(0, "nothing is counted: all predicates are observed (*)")
    names = set(wanted.names)
    inside = [part for part in observed if names & set(free_variables(part))]
    outside = [part for part in observed if not names & set(free_variables(part))]
    conditions = tuple(map(_negate, inside))
    parts = tuple(And((*conditions, part)) if conditions else part for part in hidden)
    count = Count(wanted.names, parts, wanted.operator, wanted.number)
    return Implies(And(tuple(map(_negate, outside))), count) if outside else count


def _is_observed(part: Formula, predicates: dict[str, Predicate]) -> bool:
    body = part.body if isinstance(part, Not) else part
    return isinstance(body, Comparison) or all(
        predicates[atom.predicate].closed is True for atom in atoms_of(body)
    )


def _negate(part: Formula) -> Formula:
    return part.body if isinstance(part, Not) else Not(part)


# Lines that begin with #: what they say about the statement after them, and includes.

DIRECTIVE = re.compile(r"#\s*(?P<word>\w*)\s*(?P<rest>.*)", re.DOTALL)
UNIQUE = re.compile(r"\{\s*(\+?\s*\??\w+(?:\s*,\s*\+?\s*\??\w+)+)\s*\}")
QUOTED_NAME = re.compile(r'"(?P<name>[^"\n]+)"|<(?P<packed>[^>\n]+)>')
PRACMLN = {"fixweight", "group", "unique", "fuzzy", "fixUnitClause", "AdaptiveMLNDependency"}
IGNORED_DIRECTIVES = {"group", "AdaptiveMLNDependency"}


@dataclass
class PendingDirective:
    """What directives say about the next statement."""

    fixed: bool = False
    fuzzy: Statement | None = None
    unique: tuple[str, ...] = ()


def directive(statement: Statement, dialect: Dialect, ahead: PendingDirective) -> str:
    """Take a directive in; give a remark, or nothing. Includes are not for here."""
    match = DIRECTIVE.match(statement.text)
    assert match
    word = match["word"]
    if dialect != "pracmln" and word in PRACMLN:
        raise statement.error(0, f"#{word} is pracmln's; see dialect pracmln")
    if word in IGNORED_DIRECTIVES:
        return f"#{word} is ignored"
    if word.lower() == "fixweight":
        ahead.fixed = True
    elif word == "fuzzy":
        ahead.fuzzy = statement
    elif word == "unique":
        ahead.unique = _unique(statement.after(match.start("rest")))
    else:
        near = suggestion(word, ["include", *sorted(PRACMLN)])
        raise statement.error(0, f"#{word} is not supported{near}")
    return ""


def _unique(statement: Statement) -> tuple[str, ...]:
    match = UNIQUE.fullmatch(statement.text)
    if not match:
        raise statement.error(0, "expected variables of the next formula, as in #unique{+?x,+?y}")
    return tuple(word.strip().lstrip("+").strip() for word in match[1].split(","))


def included_file(statement: Statement) -> tuple[str, bool] | None:
    """Give the file that a statement includes, and whether it is in the project; None if none."""
    match = DIRECTIVE.match(statement.text)
    if not match or match["word"] != "include":
        return None
    rest = statement.after(match.start("rest"))
    named = QUOTED_NAME.fullmatch(rest.text)
    if not named:
        raise rest.error(0, 'expected the name of a file, as in #include "file.mln"')
    name = named["name"] or named["packed"]
    if name.endswith((".cpp", ".cc", ".h")):
        raise rest.error(0, "functions in C++ are not supported; nothing is executed")
    if re.search(r"\.db(\.gz)?$", name):
        raise rest.error(0, "a database is no part of a program; give it as evidence")
    return name, named["packed"] is not None
