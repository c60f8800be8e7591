"""Read Markov logic programs: every statement by itself, all errors together."""

import gc
import math
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from orbitmc._util.text import MEMORY, Text, quoted, suggestion
from orbitmc.errors import InputError, LimitError, ManyInputError
from orbitmc.logic.language.formulas.conversion import Conversion, conversions, rule
from orbitmc.logic.language.formulas.terms import Vocabulary
from orbitmc.logic.language.gathering import Gathering
from orbitmc.logic.language.grammar import parse_sentence
from orbitmc.logic.language.notation import Dialect
from orbitmc.logic.language.projects import read_source, resolved
from orbitmc.logic.language.scanner import Statement
from orbitmc.logic.language.statements.cardinalities import Cardinality, counted
from orbitmc.logic.language.statements.definite_clauses import Completion, DefiniteClause
from orbitmc.logic.language.statements.probabilities import Demand
from orbitmc.logic.language.syntax import Constraint, Program, Rule
from orbitmc.logic.language.trees import Sentence
from orbitmc.logic.language.weights import Weighing

MOST_COPIES = 2**14  # of formulas with stars
DIALECTS = ("alchemy", "pracmln", "tuffy", "lomrf")
NO_WEIGHT = (
    "the formula has no weight; put one in front, or a full stop at the end to make it hard (what "
    "is known for certain belongs in a database), or learn weights, or set what such formulas weigh"
)


Given = ParamSpec("Given")


def _uncollected(reading: Callable[Given, Program]) -> Callable[Given, Program]:
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


@_uncollected
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
    gathered = _gathering(dialect, memory)
    gathered.read(Text(source, text), ())
    return _Meaning(gathered, learning, unweighted).program()


@_uncollected
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
    gathered = _gathering(dialect, memory)
    gathered.marked = marked
    for path in [paths] if isinstance(paths, str | Path) else paths:
        gathered.read(read_source(path, memory=memory), (resolved(path),))
    return _Meaning(gathered, learning, unweighted).program()


def _gathering(dialect: Dialect, memory: int) -> Gathering:
    if dialect not in DIALECTS:
        raise InputError(f"there is no dialect {quoted(dialect)}{suggestion(dialect, DIALECTS)}")
    return Gathering(dialect, memory)


class _Meaning:
    """What the formulas of a program mean, all names looked up."""

    def __init__(self, gathered: Gathering, learning: bool, unweighted: float | None) -> None:
        self.gathered, self.notes, self.notation = gathered, gathered.notes, gathered.notation
        self.learning, self.unweighted = learning, None if learning else unweighted
        self.rules: list[Rule] = []
        self.constraints: list[Constraint] = []
        self.copies = 0
        self.places: dict[object, int] | None = None

    def program(self) -> Program:
        found = self.gathered
        for step, pieces in (
            (self._formula, found.formulas),
            (self._definite, found.definite),
            (self._cardinality, found.cardinalities),
            (self._constraint, found.demands),
        ):
            for piece in pieces:
                self.notes.attempt(lambda: step(*piece))  # noqa: B023
        for name in found.fuzzy if self.learning else ():
            wrong = "degrees of truth (#fuzzy) cannot be learned from"
            self.notes.errors.append(found.predicates[name].place.error(wrong))
        if not self.notes.errors:
            self._complete()
        if self.notes.errors:
            raise ManyInputError(_in_order(self.notes.errors), unread=self.notes.hopeless)
        return Program(
            {kind: tuple(names) for kind, names in found.constants.items()},
            found.predicates,
            tuple(self.rules),
            found.functions,
            found.dialect,
            tuple(f"{place}: {warning}" for warning, place in self.notes.warnings.items()),
            found.marked,
            frozenset(found.fuzzy),
            tuple(self.constraints),
        )

    def _definite(self, order: int, weighed: Weighing, clause: DefiniteClause) -> None:
        self._rules(order, clause.implication(), weighed)

    def _formula(self, order: int, weighed: Weighing, unique: tuple[str, ...]) -> None:
        if weighed.utility:
            self.notes.warn(weighed.formula.place(0), "utilities are ignored")
            if weighed.weight is None:
                return
        self._rules(order, parse_sentence(weighed.formula, self.notation), weighed, unique)

    def _rules(
        self, order: int, sentence: Sentence, weighed: Weighing, unique: tuple[str, ...] = ()
    ) -> None:
        found = self._conversions(order, sentence)
        if weighed.weight is None and not self.learning:
            if self.unweighted is None:
                raise weighed.formula.error(0, NO_WEIGHT)
            weighed = weighed._replace(weight=self.unweighted)
        for name in (*unique, *([weighed.variable] if weighed.variable else ())):
            if name not in found[0].types:
                raise weighed.formula.error(0, f"{name} is no variable of this formula")
        self.rules += [rule(conversion, weighed, unique) for conversion in found]

    def _conversions(self, order: int, sentence: Sentence) -> list[Conversion]:
        """Look all names of a formula up."""
        vocabulary = Vocabulary(
            self.gathered.predicates,
            self.gathered.functions,
            self.gathered.meanings,
            order,
            self.notation,
        )
        found = conversions(sentence, vocabulary)
        if found[0].terms.errors:
            raise ManyInputError(found[0].terms.errors)
        for offset, remark in sentence.remarks:
            self.notes.warn(sentence.statement.place(offset), remark)
        self.copies += len(found) - 1
        if self.copies > MOST_COPIES:
            place = sentence.statement.place(0)
            raise LimitError(
                f"{place}: atoms with * make more than {MOST_COPIES:,} copies of formulas so far"
            )
        for conversion in found:
            for kind, name in conversion.terms.constants:
                self.gathered.constants[kind][name] = None
        return found

    def _cardinality(self, order: int, statement: Statement, wanted: Cardinality) -> None:
        (found,) = self._conversions(order, parse_sentence(wanted.clause, self.notation))[:1]
        found.formula = counted(found, wanted, self.gathered.predicates)
        if found.terms.errors:
            raise ManyInputError(found.terms.errors)
        self.rules.append(rule(found, Weighing(math.inf, True, False, statement)))

    def _constraint(self, order: int, wanted: Demand) -> None:
        """Find the rule that a probability is about, or add it without weight."""
        if self.learning:
            raise wanted.formula.error(
                0,
                "a probability constraint determines a weight: leave it out in learning",
            )
        (found,) = self._conversions(order, parse_sentence(wanted.formula, self.notation))[:1]
        own = rule(found, Weighing(0.0, True, False, wanted.formula))
        known = self._soft_rules()
        number = known.get(_key(own), len(self.rules))
        if number == len(self.rules):
            self.rules.append(own)
            known[_key(own)] = number
        self.constraints.append(
            Constraint(number, wanted.probability, wanted.posterior, wanted.text)
        )

    def _soft_rules(self) -> dict[object, int]:
        """Where each formula stands that may be given another weight, the first of equal ones."""
        if self.places is None:
            soft = [(n, one) for n, one in enumerate(self.rules) if one.weight != math.inf]
            self.places = {_key(one): number for number, one in reversed(soft)}
        return self.places

    def _complete(self) -> None:
        """Say that heads of definite clauses are true only where a body is."""
        clauses = [clause for _, _, clause in self.gathered.definite]
        completion = Completion(
            clauses, self.notation, self.gathered.predicates, self.gathered.functions
        )
        for sentence in completion.sentences():
            hard = Weighing(math.inf, True, False, sentence.statement)
            self.notes.attempt(lambda: self._rules(self.gathered.order + 1, sentence, hard))  # noqa: B023


def _key(one: Rule) -> object:
    return one.formula, tuple(one.types.items())


def _in_order(errors: Sequence[InputError]) -> list[InputError]:
    sources = {name: number for number, name in enumerate(dict.fromkeys(e.source for e in errors))}
    return sorted(errors, key=lambda one: (sources[one.source], one.line, one.column))
