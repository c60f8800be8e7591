"""Probabilities that formulas must have: `P(f) = 0.1` before evidence, `R(f) = 0.8` with it."""

import re
from typing import NamedTuple

from orbitmc._util.text import quoted
from orbitmc.logic.language.scanner import Statement
from orbitmc.logic.language.statements.expressions import calculated

CONSTRAINT = re.compile(
    r"(?P<kind>P|R|SE)\((?P<formula>.*)\)\s*=\s*(?P<number>[^\s=(]+)", re.DOTALL
)


class Demand(NamedTuple):
    """A formula and the probability that it must have, given the evidence (posterior) or not."""

    formula: Statement
    probability: float
    posterior: bool
    text: str


def looks_like_demand(statement: Statement) -> bool:
    """Whether a statement has the form of a probability constraint."""
    found = CONSTRAINT.fullmatch(statement.text)
    return found is not None and calculated(found["number"]) is not None


def demand(statement: Statement) -> Demand:
    """Read a statement that looks like a demand."""
    found = CONSTRAINT.fullmatch(statement.text)
    assert found
    start, end = found.span("formula")
    probability = calculated(found["number"])
    if probability is None or not 0 < probability < 1:
        raise statement.error(
            found.start("number"),
            f"expected a probability between 0 and 1, found {quoted(found['number'])}; what is "
            "certain is a hard formula, with a full stop at its end",
        )
    formula = statement.before(end).after(start)
    return Demand(formula, probability, found["kind"] != "P", " ".join(statement.text.split()))
