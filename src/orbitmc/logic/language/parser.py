"""Read Markov logic programs: every statement by itself, all errors together."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from orbitmc.errors import MOST_ERRORS, InputError, LimitError, ManyInputError
from orbitmc.logic.language.declarations import Declaration, constants, declaration
from orbitmc.logic.language.formulas.conversion import conversions, rule
from orbitmc.logic.language.formulas.terms import Vocabulary
from orbitmc.logic.language.grammar import parse_sentence
from orbitmc.logic.language.scanner import Statement, statements, without_comments
from orbitmc.logic.language.syntax import Dialect, Place, Predicate, Program, Rule
from orbitmc.logic.language.weights import Weighing, weighing
from orbitmc.machine.text import MEMORY, Text, read_text, suggestion

DIRECTIVE = re.compile(r"#\s*(?P<word>\w*)\s*(?P<rest>.*)", re.DOTALL)
QUOTED_NAME = re.compile(r'"(?P<name>[^"\n]+)"|<(?P<packed>[^>\n]+)>')
PRACMLN_DIRECTIVES = {"fixweight", "group", "unique", "fuzzy", "fixUnitClause"}
MOST_COPIES = 2**14  # of formulas with stars
DIALECTS = ("alchemy", "pracmln", "tuffy")


def parse(
    text: str,
    *,
    source: str = "<text>",
    dialect: Dialect = "alchemy",
    learning: bool = False,
    memory: int = MEMORY,
) -> Program:
    """Read a program; in learning, formulas may go without weights."""
    reading = _Reading(dialect, learning, memory)
    reading.read(Text(source, text), ())
    return reading.program()


def read_program(
    paths: str | Path | Sequence[str | Path],
    *,
    dialect: Dialect = "alchemy",
    learning: bool = False,
    memory: int = MEMORY,
) -> Program:
    """Read a program from a file, or from several as if they were one."""
    reading = _Reading(dialect, learning, memory)
    for path in [paths] if isinstance(paths, str | Path) else paths:
        reading.read(read_text(path, memory=memory), (_resolved(path),))
    return reading.program()


class _Reading:
    """A program while it is read: first all statements, then the formulas' names."""

    def __init__(self, dialect: Dialect, learning: bool, memory: int) -> None:
        if dialect not in DIALECTS:
            raise InputError(f"there is no dialect {dialect!r}{suggestion(dialect, DIALECTS)}")
        self.dialect, self.learning, self.memory = dialect, learning, memory
        self.errors: list[InputError] = []
        self.warnings: dict[str, Place] = {}
        self.constants: dict[str, dict[str, None]] = {}
        self.predicates: dict[str, Predicate] = {}
        self.functions: dict[str, str] = {}
        self.meanings: dict[str, tuple[str, int]] = {}
        self.formulas: list[tuple[int, Weighing]] = []
        self.rules: list[Rule] = []
        self.order = self.listed = self.copies = 0
        self.fix_next = False

    def read(self, text: Text, including: tuple[Path, ...]) -> None:
        source = without_comments(text)
        for statement in statements(source):
            if self._hopeless:
                return
            self.order += 1
            try:
                self._statement(statement, including)
            except InputError as error:
                self._note(error)

    def program(self) -> Program:
        for order, weighed in self.formulas:
            if self._hopeless:
                break
            try:
                self._formula(order, weighed)
            except InputError as error:
                self._note(error)
        if self.errors:
            raise ManyInputError(_in_order(self.errors), unread=self._hopeless)
        return Program(
            {kind: tuple(names) for kind, names in self.constants.items()},
            self.predicates,
            tuple(self.rules),
            self.functions,
            self.dialect,
            tuple(f"{place}: {warning}" for warning, place in self.warnings.items()),
        )

    @property
    def _hopeless(self) -> bool:
        """Say whether so much is wrong that reading on helps no one."""
        return len(self.errors) >= MOST_ERRORS

    def _note(self, error: InputError) -> None:
        self.errors += error.errors if isinstance(error, ManyInputError) else [error]

    def _statement(self, statement: Statement, including: tuple[Path, ...]) -> None:
        if statement.text.startswith("#"):
            self._directive(statement, including)
            return
        listed = constants(statement, self.dialect, self.memory, self.listed)
        if listed:
            kind, names = listed
            self.listed += len(names)
            if self.dialect == "tuffy":
                self._warn(
                    statement.place(0), "lists of constants are Alchemy's; see dialect alchemy"
                )
            self._mean(kind, "type")
            self.constants.setdefault(kind, {}).update(dict.fromkeys(names))
            return
        declared = declaration(statement, self.dialect)
        if declared and self._is_new(declared):
            self._declare(declared)
            return
        weighed = weighing(statement, self.dialect)
        if self.fix_next:
            weighed = weighed._replace(fixed=True)
            self.fix_next = False
        if weighed.remark:
            self._warn(statement.place(0), weighed.remark)
        self.formulas.append((self.order, weighed))

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
            self._warn(declared.place, remark)
        self.predicates[predicate.name] = predicate
        if declared.value:
            self.functions[declared.name] = predicate.name
        self._mean(declared.name, "function" if declared.value else "predicate")
        for kind in predicate.types:
            self._mean(kind, "type")
            self.constants.setdefault(kind, {})
        if "?" in declared.marks:
            hard = Weighing(math.inf, True, False, declared.at_most_one())
            self.formulas.append((self.order, hard))

    def _mean(self, name: str, meaning: str) -> None:
        self.meanings.setdefault(name, (meaning, self.order))

    def _formula(self, order: int, weighed: Weighing) -> None:
        if weighed.utility:
            self._warn(weighed.formula.place(0), "utilities are ignored")
            if weighed.weight is None:
                return
        vocabulary = Vocabulary(self.predicates, self.functions, self.meanings, order, self.dialect)
        sentence = parse_sentence(weighed.formula, self.dialect)
        found = conversions(sentence, vocabulary)
        if found[0].terms.errors:
            raise ManyInputError(found[0].terms.errors)
        if weighed.weight is None and not self.learning:
            raise weighed.formula.error(
                0,
                "the formula has no weight; put one in front, or a full stop at the end to make it "
                "hard (what is known for certain belongs in a database)",
            )
        for offset, remark in sentence.remarks:
            self._warn(weighed.formula.place(offset), remark)
        self.copies += len(found) - 1
        if self.copies > MOST_COPIES:
            place = weighed.formula.place(0)
            raise LimitError(
                f"{place}: atoms with * make more than {MOST_COPIES:,} copies of formulas so far"
            )
        for conversion in found:
            self.rules.append(rule(conversion, weighed))
            for kind, name in conversion.terms.constants:
                self.constants[kind][name] = None

    def _directive(self, statement: Statement, including: tuple[Path, ...]) -> None:
        found = DIRECTIVE.match(statement.text)
        assert found
        word = found["word"]
        if word == "include":
            self._include(statement.after(found.start("rest")), including)
        elif self.dialect == "pracmln" and word.lower() == "fixweight":
            self.fix_next = True
        elif self.dialect == "pracmln" and word == "group":
            self._warn(statement.place(0), "#group is ignored")
        elif self.dialect != "pracmln" and word in PRACMLN_DIRECTIVES:
            raise statement.error(0, f"#{word} is pracmln's; see dialect pracmln")
        else:
            raise statement.error(
                0, f"#{word} is not supported{suggestion(word, ['include', 'fixweight'])}"
            )

    def _include(self, statement: Statement, including: tuple[Path, ...]) -> None:
        found = QUOTED_NAME.fullmatch(statement.text)
        if not found:
            raise statement.error(0, 'expected the name of a file, as in #include "file.mln"')
        if found["packed"]:
            raise statement.error(0, "files inside a project archive are not supported")
        name = found["name"]
        if name.endswith((".cpp", ".cc", ".h")):
            raise statement.error(0, "functions in C++ are not supported; nothing is executed")
        if re.search(r"\.db(\.gz)?$", name):
            raise statement.error(0, "a database is no part of a program; give it as evidence")
        path = Path(statement.source.name).parent / name
        if _resolved(path) in including:
            raise statement.error(0, f"{name} includes itself")
        try:
            text = read_text(path, memory=self.memory)
        except InputError as error:
            raise statement.error(0, str(error)) from None
        self.read(text, (*including, _resolved(path)))

    def _warn(self, place: Place, warning: str) -> None:
        self.warnings.setdefault(warning, place)


def _resolved(path: str | Path) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, ValueError):
        return Path(path)


def _in_order(errors: Sequence[InputError]) -> list[InputError]:
    sources = {name: number for number, name in enumerate(dict.fromkeys(e.source for e in errors))}
    return sorted(errors, key=lambda one: (sources[one.source], one.line, one.column))
