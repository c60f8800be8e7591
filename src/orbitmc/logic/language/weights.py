"""What stands before and after a formula: its weight, or the full stop that makes it hard."""

import math
import re
from typing import NamedTuple

from orbitmc._util.text import quoted
from orbitmc.logic.language.notation import Dialect
from orbitmc.logic.language.scanner import Statement
from orbitmc.logic.language.statements.expressions import calculated

NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WEIGHT = re.compile(rf"(?P<frozen>@)?(?P<weight>{NUMBER})(?P<stop>\.(?!\d))?(?![\w'])")
UTILITY = re.compile(rf"\s*:\s*(?P<utility>{NUMBER})(?![\w'.])")
TERM_GOES_ON = re.compile(r"\s*(?:[=<>/%]|!=|\+\s*\d|-\s*\d)")
EXPRESSION = re.compile(r"[-+]?[(\w.][^\s!^]*(?=\s)")
EXPRESSION_LIKE = re.compile(r"-?(?:log|logx|exp|sqrt|float)\(\s*['\d.]")
DOMAIN_SIZE = re.compile(r"\S*\bdomSize\(")
WEIGHT_VARIABLE = re.compile(r"(?P<name>[a-z_]\w*)\s*:(?![-=])")
LABEL = re.compile(r'\[Label\]\s*"[^"\n]*"', re.IGNORECASE)


class Weighing(NamedTuple):
    """A weight (None if there is none, infinite if hard), and the formula that it belongs to.

    The weight may be the value of a `variable`. What is `denied` must not hold.
    """

    weight: float | None
    fixed: bool
    utility: bool
    formula: Statement
    remark: str = ""
    variable: str = ""
    denied: bool = False


def weighing(statement: Statement, dialect: Dialect) -> Weighing:
    """Take the weight off a formula."""
    label = LABEL.match(statement.text)
    if label and dialect != "tuffy":
        raise statement.error(0, "labels of rules are Tuffy's; see dialect tuffy")
    rest = statement.after(label.end()) if label else statement
    found = _prefix(rest, dialect)
    hard = found.formula.text.endswith(".")
    if not hard:
        return found
    if found.weight is not None:
        if found.variable:
            formula = found.formula.before(len(found.formula.text) - 1)
            return found._replace(formula=formula)  # as in RockIt, the full stop adds nothing
        raise rest.error(
            len(rest.text) - 1,
            "a full stop makes a formula hard, so it cannot have a weight; remove one of them",
        )
    formula = found.formula.before(len(found.formula.text) - 1)
    return Weighing(math.inf, found.fixed, found.utility, formula)


def _prefix(statement: Statement, dialect: Dialect) -> Weighing:
    text = statement.text
    number = WEIGHT.match(text)
    expression = dialect == "pracmln" and not (
        number and text[number.end() : number.end() + 1].isspace()
    )
    if number and not expression and not TERM_GOES_ON.match(text, number.end()):
        return _numbered(statement, number, dialect)
    utility = UTILITY.match(text)
    if utility:
        return Weighing(None, False, True, statement.after(utility.end()))
    variable = WEIGHT_VARIABLE.match(text)
    if variable and (not expression or text[variable.end() : variable.end() + 1].isspace()):
        return _from_data(statement, variable, dialect)
    if expression:
        return _calculated(statement)
    if EXPRESSION_LIKE.match(text):
        raise statement.error(0, "a weight that is calculated is pracmln's; see dialect pracmln")
    return Weighing(None, False, False, statement)


def _numbered(statement: Statement, number: re.Match[str], dialect: Dialect) -> Weighing:
    if number["frozen"] and dialect != "tuffy":
        raise statement.error(0, "@ before a weight belongs to Tuffy; say dialect tuffy")
    weight = float(number["weight"])
    if not math.isfinite(weight):
        raise statement.error(number.start("weight"), f"the weight {number['weight']} is too large")
    utility = UTILITY.match(statement.text, number.end())
    end = utility.end() if utility else number.end()
    fixed = bool(number["frozen"] or number["stop"])
    foreign = dialect == "alchemy" and not PLAIN.fullmatch(number["weight"])
    remark = f"Alchemy cannot read weights like {number['weight']}" if foreign else ""
    return Weighing(weight, fixed, utility is not None, statement.after(end), remark)


def _from_data(statement: Statement, found: re.Match[str], dialect: Dialect) -> Weighing:
    if dialect != "tuffy":
        raise statement.error(
            0, "a weight taken from a variable is Tuffy's and RockIt's; see dialect tuffy"
        )
    return Weighing(0.0, True, False, statement.after(found.end()), variable=found["name"])


def _calculated(statement: Statement) -> Weighing:
    """Read a weight that is an expression: all up to the first blank."""
    text = statement.text
    expression = EXPRESSION.match(text)
    if expression and re.search(r"\d|inf", expression[0]) and not re.search("[,=>]", expression[0]):
        value = calculated(expression[0])
        if value is not None:
            formula = statement.after(expression.end())
            if math.isinf(value) and "inf" not in expression[0]:
                raise statement.error(0, f"the weight {quoted(expression[0])} is not finite")
            denied = value == -math.inf
            return Weighing(abs(value) if denied else value, False, False, formula, denied=denied)
    if DOMAIN_SIZE.match(text):
        raise statement.error(0, "weights that depend on domSize(...) (ProbCog) are not supported")
    if EXPRESSION_LIKE.match(text):
        raise statement.error(
            0, "expected a weight: numbers, + - * / ** ( ), log, logx, exp, sqrt or float('inf')"
        )
    return Weighing(None, False, False, statement)
