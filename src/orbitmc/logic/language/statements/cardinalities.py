"""How many atoms may be true, as in RockIt: `|y| !Person(y) v Friend(x,y) <= 3`."""

import itertools
import re
from typing import NamedTuple

from orbitmc.logic.language.formulas.conversion import Conversion
from orbitmc.logic.language.scanner import Statement
from orbitmc.logic.language.syntax import (
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

CARDINALITY = re.compile(
    r"\|\s*(?P<names>\w+(?:\s*,\s*\w+)*)\s*\|(?P<clause>.*?)"
    r"(?P<operator><=|>=|(?<![<>=!/])=)\s*(?P<number>\d{1,9})\s*\.?",
    re.DOTALL,
)
BEGUN = re.compile(r"\|\s*\w+[\s\w,]*\|")


class Cardinality(NamedTuple):
    """Variables that are counted over, a clause, and what the count is compared with."""

    names: tuple[str, ...]
    clause: Statement
    operator: str
    number: int


def cardinality(statement: Statement) -> Cardinality | None:
    """Read a statement as a cardinality if it begins like one."""
    if not BEGUN.match(statement.text):
        return None
    found = CARDINALITY.fullmatch(statement.text)
    if not found:
        raise statement.error(
            len(statement.text), "expected <= or >= and a whole number after what is counted"
        )
    start, end = found.span("clause")
    names = tuple(name.strip() for name in found["names"].split(","))
    clause = statement.before(end).after(start)
    return Cardinality(names, clause, found["operator"], int(found["number"]))


def counted(
    conversion: Conversion, wanted: Cardinality, predicates: dict[str, Predicate]
) -> Formula:
    """Count the atoms of a clause that are not observed, where its observed part is violated."""
    formula = conversion.formula
    literals = formula.parts if isinstance(formula, Or) else (formula,)
    free = set(free_variables(formula))
    for name in wanted.names:
        if name not in free:
            conversion.terms.complain(0, f"{name} does not occur in what is counted")
    seen = [_is_observed(part, predicates) for part in literals]
    observed = list(itertools.compress(literals, seen))
    hidden = [part for part, known in zip(literals, seen, strict=True) if not known]
    if not hidden:
        conversion.terms.complain(0, "nothing is counted: all predicates are observed (*)")
    names = set(wanted.names)
    inside = [part for part in observed if names & set(free_variables(part))]
    outside = [part for part in observed if not names & set(free_variables(part))]
    conditions = tuple(map(_denied, inside))
    parts = tuple(And((*conditions, part)) if conditions else part for part in hidden)
    count = Count(wanted.names, parts, wanted.operator, wanted.number)
    return Implies(And(tuple(map(_denied, outside))), count) if outside else count


def _is_observed(part: Formula, predicates: dict[str, Predicate]) -> bool:
    body = part.body if isinstance(part, Not) else part
    return isinstance(body, Comparison) or all(
        predicates[atom.predicate].closed is True for atom in atoms_of(body)
    )


def _denied(part: Formula) -> Formula:
    return part.body if isinstance(part, Not) else Not(part)
