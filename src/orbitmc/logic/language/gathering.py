"""Gather the statements of a program: declarations at once, formulas for later."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from orbitmc._util.text import Text
from orbitmc.errors import MOST_ERRORS, InputError, ManyInputError
from orbitmc.logic.language.declarations import Declaration, constants, declaration
from orbitmc.logic.language.notation import Dialect, Notation, Place
from orbitmc.logic.language.projects import beside, has_marks, read_source, resolved
from orbitmc.logic.language.scanner import Statement, statements, without_comments
from orbitmc.logic.language.statements.cardinalities import Cardinality, cardinality
from orbitmc.logic.language.statements.definite_clauses import IF, DefiniteClause, definite_clause
from orbitmc.logic.language.statements.directives import Ahead, directive, included
from orbitmc.logic.language.statements.probabilities import Demand, demand, looks_like_demand
from orbitmc.logic.language.syntax import Predicate
from orbitmc.logic.language.weights import Weighing, weighing


@dataclass
class Notes:
    """What is wrong, and what is worth a warning, while a program is read."""

    errors: list[InputError] = field(default_factory=list)
    warnings: dict[str, Place] = field(default_factory=dict)

    @property
    def hopeless(self) -> bool:
        """Say whether so much is wrong that reading on helps no one."""
        return len(self.errors) >= MOST_ERRORS

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step, unless it helps no one any more; note what is wrong."""
        if self.hopeless:
            return
        try:
            step()
        except ManyInputError as error:
            self.errors += error.errors
        except InputError as error:
            self.errors.append(error)

    def warn(self, place: Place, warning: str) -> None:
        self.warnings.setdefault(warning, place)


class Gathering:
    """The statements of a program.

    Each formula has its number, as names have meanings from their declarations on.
    """

    def __init__(self, dialect: Dialect, memory: int) -> None:
        self.dialect, self.memory, self.notes = dialect, memory, Notes()
        self.constants: dict[str, dict[str, None]] = {}
        self.predicates: dict[str, Predicate] = {}
        self.functions: dict[str, str] = {}
        self.meanings: dict[str, tuple[str, int]] = {}
        self.fuzzy: set[str] = set()
        self.formulas: list[tuple[int, Weighing, tuple[str, ...]]] = []
        self.definite: list[tuple[int, Weighing, DefiniteClause]] = []
        self.cardinalities: list[tuple[int, Statement, Cardinality]] = []
        self.demands: list[tuple[int, Demand]] = []
        self.order = self.listed = 0
        self.ahead, self.marked = Ahead(), False

    @property
    def notation(self) -> Notation:
        return Notation(self.dialect, self.marked)

    def read(self, text: Text, including: tuple[Path, ...]) -> None:
        """Gather the statements of a text, and of what it includes."""
        source = without_comments(text)
        if self.dialect == "pracmln" and has_marks(source.content):
            self.marked = True
        for statement in statements(source):
            if self.notes.hopeless:
                return
            self.order += 1
            self.notes.attempt(lambda: self._statement(statement, including))  # noqa: B023

    def _statement(self, statement: Statement, including: tuple[Path, ...]) -> None:
        if statement.text.startswith("#"):
            self._directive(statement, including)
            return
        if self._lists(statement):
            return
        declared = declaration(statement, self.dialect)
        if declared and self._is_new(declared):
            self._declare(declared)
            return
        if self._is_special(statement):
            return
        weighed = weighing(statement, self.dialect)
        if self.ahead.fixed:
            weighed = weighed._replace(fixed=True)
        if weighed.remark:
            self.notes.warn(statement.place(0), weighed.remark)
        self._no_declaration(statement)
        if self.dialect == "lomrf" and IF in weighed.formula.text:
            clause = definite_clause(weighed.formula, self.notation)
            self.definite.append((self.order, weighed, clause))
        else:
            self.formulas.append((self.order, weighed, self.ahead.unique))
        self.ahead = Ahead()

    def _lists(self, statement: Statement) -> bool:
        """Take a list of constants in, if the statement is one."""
        listed = constants(statement, self.dialect, self.memory, self.listed)
        if not listed:
            return False
        kind, names = listed
        self.listed += len(names)
        if self.dialect == "tuffy":
            self.notes.warn(
                statement.place(0), "lists of constants are Alchemy's; see dialect alchemy"
            )
        self._mean(kind, "type")
        self.constants.setdefault(kind, {}).update(dict.fromkeys(names))
        return True

    def _is_special(self, statement: Statement) -> bool:
        """Take what only some dialects have in, if the statement is that."""
        if statement.text.startswith("$"):
            raise statement.error(
                0, "variables with $ (ProbCog) are not supported; write their values"
            )
        if "P" not in self.predicates and looks_like_demand(statement):
            if self.dialect != "pracmln":
                raise statement.error(
                    0, "probability constraints are pracmln's and ProbCog's; see dialect pracmln"
                )
            self.demands.append((self.order, demand(statement)))
            return True
        wanted = cardinality(statement) if statement.text.startswith("|") else None
        if wanted and self.dialect != "tuffy":
            raise statement.error(0, "cardinalities |x| are RockIt's; see dialect tuffy")
        if wanted:
            self.cardinalities.append((self.order, statement, wanted))
        return wanted is not None

    def _no_declaration(self, statement: Statement) -> None:
        if self.ahead.fuzzy:
            raise statement.error(0, "expected the declaration of a predicate after #fuzzy")

    def _is_new(self, declared: Declaration) -> bool:
        """Say whether a statement declares something, and not only looks like it."""
        name = declared.name
        if name not in self.predicates and name not in self.functions:
            return True
        kinds = [kind for kind in declared.types if kind in self.constants]
        if declared.value or declared.prefix or any(declared.marks) or kinds:
            known = self.predicates[self.functions.get(name, name)]
            raise declared.statement.error(
                declared.offset, f"{name} is declared already, in line {known.place.line}"
            )
        return False

    def _declare(self, declared: Declaration) -> None:
        predicate = declared.predicate()
        if declared.value and any(declared.marks):
            raise declared.statement.error(0, "! has no meaning in the declaration of a function")
        if "?" in declared.marks and self.dialect != "pracmln":
            raise declared.statement.error(0, "? after a type is pracmln's; see dialect pracmln")
        for remark in declared.remarks:
            self.notes.warn(declared.place, remark)
        if self.ahead.fuzzy:
            if any(declared.marks):
                raise declared.statement.error(0, "a fuzzy predicate cannot have ! or ?")
            predicate = replace(predicate, closed=True)
            self.fuzzy.add(predicate.name)
            self.ahead.fuzzy = None
        self.predicates[predicate.name] = predicate
        if declared.value:
            self.functions[declared.name] = predicate.name
        self._mean(declared.name, "function" if declared.value else "predicate")
        for kind in predicate.types:
            self._mean(kind, "type")
            self.constants.setdefault(kind, {})
        if "?" in declared.marks:
            hard = Weighing(math.inf, True, False, declared.at_most_one())
            self.formulas.append((self.order, hard, ()))

    def _mean(self, name: str, meaning: str) -> None:
        self.meanings.setdefault(name, (meaning, self.order))

    def _directive(self, statement: Statement, including: tuple[Path, ...]) -> None:
        file = included(statement)
        if file is None:
            remark = directive(statement, self.dialect, self.ahead)
            if remark:
                self.notes.warn(statement.place(0), remark)
            return
        name, packed = file
        try:
            path = beside(statement.source.name, name, packed=packed)
            if resolved(path) in including:
                raise InputError(f"{name} includes itself")
            text = read_source(path, memory=self.memory)
        except InputError as error:
            raise statement.error(statement.text.index(name) - 1, str(error)) from None
        self.read(text, (*including, resolved(path)))
