"""Read Markov logic programs: every statement by itself, all errors together."""

import gc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from orbitmc._util.text import MEMORY, Text, quote, suggestion
from orbitmc.errors import MOST_ERRORS, InputError, LimitError, ManyInputError
from orbitmc.mln.language.declarations import Declaration, constants, declaration
from orbitmc.mln.language.grammar import Sentence, parse_sentence
from orbitmc.mln.language.projects import has_marks, included_path, read_source, resolve_path
from orbitmc.mln.language.resolution import Conversion, Vocabulary, conversions, rule
from orbitmc.mln.language.scanner import (
    Dialect,
    Notation,
    Place,
    Source,
    Statement,
    statements,
    without_comments,
)
from orbitmc.mln.language.statements import (
    IF,
    Cardinality,
    Completion,
    DefiniteClause,
    PendingDirective,
    cardinality,
    count_atoms,
    definite_clause,
    directive,
    included_file,
)
from orbitmc.mln.language.syntax import Constraint, Predicate, Program, Rule
from orbitmc.mln.language.weights import (
    ProbabilityConstraint,
    WeightedText,
    is_probability_constraint,
    probability_constraint,
    split_weight,
)

# Gather the statements of a program: declarations at once, formulas for later.


@dataclass
class ParserOptions:
    """What is wrong, and what is worth a warning, while a program is read."""

    errors: list[InputError] = field(default_factory=list)
    warnings: dict[str, Place] = field(default_factory=dict)

    @property
    def has_too_many_errors(self) -> bool:
        """Say whether so much is wrong that reading on helps no one."""
        return len(self.errors) >= MOST_ERRORS

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step, unless it helps no one any more; note what is wrong."""
        if self.has_too_many_errors:
            return
        try:
            step()
        except ManyInputError as error:
            self.errors += error.errors
        except InputError as error:
            self.errors.append(error)

    def warn(self, place: Place, warning: str) -> None:
        self.warnings.setdefault(warning, place)


class StatementCollector:
    """The statements of a program.

    Each formula has its number, as names have meanings from their declarations on.
    """

    def __init__(self, dialect: Dialect, memory: int) -> None:
        self.dialect, self.memory, self.notes = dialect, memory, ParserOptions()
        self.constants: dict[str, dict[str, None]] = {}
        self.predicates: dict[str, Predicate] = {}
        self.functions: dict[str, str] = {}
        self.meanings: dict[str, tuple[str, int]] = {}
        self.fuzzy: set[str] = set()
        self.formulas: list[tuple[int, WeightedText, tuple[str, ...]]] = []
        self.definite: list[tuple[int, WeightedText, DefiniteClause]] = []
        self.cardinalities: list[tuple[int, Statement, Cardinality]] = []
        self.demands: list[tuple[int, ProbabilityConstraint]] = []
        self.order = self.listed = 0
        self.ahead, self.marked = PendingDirective(), False

    @property
    def notation(self) -> Notation:
        return Notation(self.dialect, self.marked)

    def read(self, text: Text, including: tuple[Path, ...]) -> None:
        """Gather the statements of a text, and of what it includes."""
        source = without_comments(text)
        if self.dialect == "pracmln" and has_marks(source.content):
            self.marked = True
        for statement in statements(source):
            if self.notes.has_too_many_errors:
                return
            self.order += 1
            self.notes.attempt(lambda: self._statement(statement, including))  # noqa: B023

    def _statement(self, statement: Statement, including: tuple[Path, ...]) -> None:
        if statement.text.startswith("#"):
            self._directive(statement, including)
            return
        if self._read_constants(statement):
            return
        declared = declaration(statement, self.dialect)
        if declared and self._is_new(declared):
            self._declare(declared)
            return
        if self._is_special(statement):
            return
        weighed = split_weight(statement, self.dialect)
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
        self.ahead = PendingDirective()

    def _read_constants(self, statement: Statement) -> bool:
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
        self._set_meaning(kind, "type")
        self.constants.setdefault(kind, {}).update(dict.fromkeys(names))
        return True

    def _is_special(self, statement: Statement) -> bool:
        """Take what only some dialects have in, if the statement is that."""
        if statement.text.startswith("$"):
            raise statement.error(
                0, "variables with $ (ProbCog) are not supported; write their values"
            )
        if "P" not in self.predicates and is_probability_constraint(statement):
            if self.dialect != "pracmln":
                raise statement.error(
                    0, "probability constraints are pracmln's and ProbCog's; see dialect pracmln"
                )
            self.demands.append((self.order, probability_constraint(statement)))
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
        self._set_meaning(declared.name, "function" if declared.value else "predicate")
        for kind in predicate.types:
            self._set_meaning(kind, "type")
            self.constants.setdefault(kind, {})
        if "?" in declared.marks:
            hard = WeightedText(math.inf, True, False, declared.at_most_one())
            self.formulas.append((self.order, hard, ()))

    def _set_meaning(self, name: str, meaning: str) -> None:
        self.meanings.setdefault(name, (meaning, self.order))

    def _directive(self, statement: Statement, including: tuple[Path, ...]) -> None:
        file = included_file(statement)
        if file is None:
            remark = directive(statement, self.dialect, self.ahead)
            if remark:
                self.notes.warn(statement.place(0), remark)
            return
        name, packed = file
        try:
            path = included_path(statement.source.name, name, packed=packed)
            if resolve_path(path) in including:
                raise InputError(f"{name} includes itself")
            text = read_source(path, memory=self.memory)
        except InputError as error:
            raise statement.error(statement.text.index(name) - 1, str(error)) from None
        self.read(text, (*including, resolve_path(path)))


MOST_STAR_COPIES = 2**14  # of formulas with stars
DIALECTS = ("alchemy", "pracmln", "tuffy", "lomrf")
NO_WEIGHT = (
    "the formula has no weight; put one in front, or a full stop at the end to make it hard (what "
    "is known for certain belongs in a database), or learn weights, or set what such formulas weigh"
)


Given = ParamSpec("Given")


def _without_garbage_collection(reading: Callable[Given, Program]) -> Callable[Given, Program]:
    """Switch Python's search for unreachable objects off while a program is read.

    All that is read stays; to search it again and again took a quarter of the time.
    """

    @wraps(reading)
    def read(*values: Given.args, **options: Given.kwargs) -> Program:
        usual = gc.isenabled()
        gc.disable()
        try:
            return reading(*values, **options)
        finally:
            if usual:
                gc.enable()

    return read


@_without_garbage_collection
def parse(
    text: str,
    *,
    source: str = "<text>",
    dialect: Dialect = "alchemy",
    learning: bool = False,
    unweighted: float | None = None,
    memory: int = MEMORY,
) -> Program:
    """Read a program; in learning, formulas may go without weights.

    `unweighted` says what formulas without weights weigh; else they are refused.
    """
    gathered = _new_collector(dialect, memory)
    gathered.read(Text(source, text), ())
    return _Meaning(gathered, learning, unweighted).program()


@_without_garbage_collection
def read_program(
    paths: str | Path | Sequence[str | Path],
    *,
    dialect: Dialect = "alchemy",
    learning: bool = False,
    unweighted: float | None = None,
    memory: int = MEMORY,
    marked: bool = False,
) -> Program:
    """Read a program from a file, or from several as if they were one.

    A file of a project is named as in `a.pracmln:b.mln`. In dialect pracmln variables are `marked`
    by ? if any is, or if that is said.
    """
    gathered = _new_collector(dialect, memory)
    gathered.marked = marked
    for path in [paths] if isinstance(paths, str | Path) else paths:
        gathered.read(read_source(path, memory=memory), (resolve_path(path),))
    return _Meaning(gathered, learning, unweighted).program()


def read_formula(text: str, program: Program, *, source: str) -> Rule:
    """Read one formula in the words of a program, as a rule that weighs nothing."""
    if not isinstance(text, str):
        raise InputError(f"{source}: a formula is text such as Smokes(x), not {quote(text)}")
    statement = Statement(Source(source, text), 0, text)
    sentence = parse_sentence(statement, program.notation)
    vocabulary = Vocabulary(program.predicates, program.functions, {}, 0, program.notation)
    readings = conversions(sentence, vocabulary)
    if readings[0].terms.errors:
        raise ManyInputError(readings[0].terms.errors)
    if len(readings) > 1:
        raise statement.error(0, "atoms with * stand for several formulas; write one")
    return rule(readings[0], WeightedText(0.0, True, False, statement))


def _new_collector(dialect: Dialect, memory: int) -> StatementCollector:
    if dialect not in DIALECTS:
        raise InputError(f"there is no dialect {quote(dialect)}{suggestion(dialect, DIALECTS)}")
    return StatementCollector(dialect, memory)


class _Meaning:
    """What the formulas of a program mean, all names looked up."""

    def __init__(
        self, gathered: StatementCollector, learning: bool, unweighted: float | None
    ) -> None:
        self.gathered, self.notes, self.notation = gathered, gathered.notes, gathered.notation
        self.learning, self.unweighted = learning, None if learning else unweighted
        self.rules: list[Rule] = []
        self.constraints: list[Constraint] = []
        self.copies = 0
        self.places: dict[object, int] | None = None

    def program(self) -> Program:
        gathered = self.gathered
        for step, pieces in (
            (self._formula, gathered.formulas),
            (self._definite, gathered.definite),
            (self._cardinality, gathered.cardinalities),
            (self._constraint, gathered.demands),
        ):
            for piece in pieces:
                self.notes.attempt(lambda: step(*piece))  # noqa: B023
        for name in gathered.fuzzy if self.learning else ():
            wrong = "degrees of truth (#fuzzy) cannot be learned from"
            self.notes.errors.append(gathered.predicates[name].place.error(wrong))
        if not self.notes.errors:
            self._complete()
        if self.notes.errors:
            raise ManyInputError(
                _in_order(self.notes.errors), unread=self.notes.has_too_many_errors
            )
        return Program(
            {kind: tuple(names) for kind, names in gathered.constants.items()},
            gathered.predicates,
            tuple(self.rules),
            gathered.functions,
            gathered.dialect,
            tuple(f"{place}: {warning}" for warning, place in self.notes.warnings.items()),
            gathered.marked,
            frozenset(gathered.fuzzy),
            tuple(self.constraints),
        )

    def _definite(self, order: int, weighed: WeightedText, clause: DefiniteClause) -> None:
        self._rules(order, clause.implication(), weighed)

    def _formula(self, order: int, weighed: WeightedText, unique: tuple[str, ...]) -> None:
        if weighed.utility:
            self.notes.warn(weighed.formula.place(0), "utilities are ignored")
            if weighed.weight is None:
                return
        self._rules(order, parse_sentence(weighed.formula, self.notation), weighed, unique)

    def _rules(
        self, order: int, sentence: Sentence, weighed: WeightedText, unique: tuple[str, ...] = ()
    ) -> None:
        conversions = self._conversions(order, sentence)
        if weighed.weight is None and not self.learning:
            if self.unweighted is None:
                raise weighed.formula.error(0, NO_WEIGHT)
            weighed = weighed._replace(weight=self.unweighted)
        for name in (*unique, *([weighed.variable] if weighed.variable else ())):
            if name not in conversions[0].types:
                raise weighed.formula.error(0, f"{name} is no variable of this formula")
        self.rules += [rule(conversion, weighed, unique) for conversion in conversions]

    def _conversions(self, order: int, sentence: Sentence) -> list[Conversion]:
        """Look all names of a formula up."""
        vocabulary = Vocabulary(
            self.gathered.predicates,
            self.gathered.functions,
            self.gathered.meanings,
            order,
            self.notation,
        )
        converted = conversions(sentence, vocabulary)
        if converted[0].terms.errors:
            raise ManyInputError(converted[0].terms.errors)
        for offset, remark in sentence.remarks:
            self.notes.warn(sentence.statement.place(offset), remark)
        self.copies += len(converted) - 1
        if self.copies > MOST_STAR_COPIES:
            place = sentence.statement.place(0)
            raise LimitError(
                f"{place}: atoms with * make more than {MOST_STAR_COPIES:,} copies of formulas "
                "so far"
            )
        for conversion in converted:
            for kind, name in conversion.terms.constants:
                self.gathered.constants[kind][name] = None
        return converted

    def _cardinality(self, order: int, statement: Statement, wanted: Cardinality) -> None:
        (conversion,) = self._conversions(order, parse_sentence(wanted.clause, self.notation))[:1]
        conversion.formula = count_atoms(conversion, wanted, self.gathered.predicates)
        if conversion.terms.errors:
            raise ManyInputError(conversion.terms.errors)
        self.rules.append(rule(conversion, WeightedText(math.inf, True, False, statement)))

    def _constraint(self, order: int, wanted: ProbabilityConstraint) -> None:
        """Find the rule that a probability is about, or add it without weight."""
        if self.learning:
            raise wanted.formula.error(
                0,
                "a probability constraint determines a weight: leave it out in learning",
            )
        (conversion,) = self._conversions(order, parse_sentence(wanted.formula, self.notation))[:1]
        required = rule(conversion, WeightedText(0.0, True, False, wanted.formula))
        known = self._soft_rules()
        number = known.get(_key(required), len(self.rules))
        if number == len(self.rules):
            self.rules.append(required)
            known[_key(required)] = number
        self.constraints.append(
            Constraint(number, wanted.probability, wanted.posterior, wanted.text)
        )

    def _soft_rules(self) -> dict[object, int]:
        """Where each formula stands that may be given another weight, the first of equal ones."""
        if self.places is None:
            soft = [
                (n, rule_at) for n, rule_at in enumerate(self.rules) if rule_at.weight != math.inf
            ]
            self.places = {_key(rule_at): number for number, rule_at in reversed(soft)}
        return self.places

    def _complete(self) -> None:
        """Say that heads of definite clauses are true only where a body is."""
        clauses = [clause for _, _, clause in self.gathered.definite]
        completion = Completion(
            clauses, self.notation, self.gathered.predicates, self.gathered.functions
        )
        for sentence in completion.sentences():
            hard = WeightedText(math.inf, True, False, sentence.statement)
            self.notes.attempt(lambda: self._rules(self.gathered.order + 1, sentence, hard))  # noqa: B023


def _key(rule_at: Rule) -> object:
    return rule_at.formula, tuple(rule_at.types.items())


def _in_order(errors: Sequence[InputError]) -> list[InputError]:
    sources = {name: number for number, name in enumerate(dict.fromkeys(e.source for e in errors))}
    return sorted(errors, key=lambda error: (sources[error.source], error.line, error.column))
