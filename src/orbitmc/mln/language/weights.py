"""What stands before and after a formula: its weight, or the full stop that makes it hard."""

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import NamedTuple

from orbitmc._util.text import quote
from orbitmc.errors import InputError
from orbitmc.mln.language.scanner import Dialect, Statement

# Weights that are calculated, as in pracmln: `log(0.3/0.7)`, `logx(0)`, `-float('inf')`.
#
# An expression is parsed and its tree is walked: numbers, operators and a few functions have a
# meaning, and nothing is executed.

LOGARITHM_OF_ZERO = -100.0  # what pracmln and ProbCog take for logx(0)
MOST_CHARACTERS = 200


def evaluate(expression: str) -> float | None:
    """Give the number that an expression is, perhaps infinite, or None if it is none.

    >>> evaluate("log(4)/2") == math.log(2), evaluate("-float('inf')"), evaluate("f(1)")
    (True, -inf, None)
    """
    if len(expression) > MOST_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what looks odd in Python is no one's concern here
            value = _evaluate(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, InputError, RecursionError, MemoryError):
        return None
    return None if math.isnan(value) else value


def _evaluate(node: ast.expr) -> float:
    """Calculate with numbers and a few functions; nothing else has a meaning."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name) if name in WEIGHT_CONSTANTS:
            return WEIGHT_CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluate(operand)
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in WEIGHT_OPERATORS:
            return float(WEIGHT_OPERATORS[type(symbol)](_evaluate(left), _evaluate(right)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
            return (
                INFINITIES[word.strip().lower()]
                if word.strip().lower() in INFINITIES
                else _refuse()
            )
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
            name in WEIGHT_FUNCTIONS
        ):
            return WEIGHT_FUNCTIONS[name](_evaluate(argument))
    return _refuse()


def _refuse() -> float:
    raise InputError("not a number")


def _logx(number: float) -> float:
    return LOGARITHM_OF_ZERO if number == 0 else math.log(number)


WEIGHT_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "logx": _logx,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "float": float,
}
WEIGHT_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
INFINITIES = {"inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
WEIGHT_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}


NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WRITTEN_WEIGHT = re.compile(rf"(?P<frozen>@)?(?P<weight>{NUMBER})(?P<stop>\.(?!\d))?(?![\w'])")
UTILITY = re.compile(rf"\s*:\s*(?P<utility>{NUMBER})(?![\w'.])")
TERM_GOES_ON = re.compile(r"\s*(?:[=<>/%]|!=|\+\s*\d|-\s*\d)")
EXPRESSION = re.compile(r"[-+]?[(\w.][^\s!^]*(?=\s)")
EXPRESSION_LIKE = re.compile(r"-?(?:log|logx|exp|sqrt|float)\(\s*['\d.]")
DOMAIN_SIZE = re.compile(r"\S*\bdomSize\(")
WEIGHT_VARIABLE = re.compile(r"(?P<name>[a-z_]\w*)\s*:(?![-=])")
LABEL = re.compile(r'\[Label\]\s*"[^"\n]*"', re.IGNORECASE)


class WeightedText(NamedTuple):
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


def split_weight(statement: Statement, dialect: Dialect) -> WeightedText:
    """Take the weight off a formula."""
    label = LABEL.match(statement.text)
    if label and dialect != "tuffy":
        raise statement.error(0, "labels of rules are Tuffy's; see dialect tuffy")
    rest = statement.after(label.end()) if label else statement
    weighted = _prefix(rest, dialect)
    hard = weighted.formula.text.endswith(".")
    if not hard:
        return weighted
    if weighted.weight is not None:
        if weighted.variable:
            formula = weighted.formula.before(len(weighted.formula.text) - 1)
            return weighted._replace(formula=formula)  # as in RockIt, the full stop adds nothing
        raise rest.error(
            len(rest.text) - 1,
            "a full stop makes a formula hard, so it cannot have a weight; remove one of them",
        )
    formula = weighted.formula.before(len(weighted.formula.text) - 1)
    return WeightedText(math.inf, weighted.fixed, weighted.utility, formula)


def _prefix(statement: Statement, dialect: Dialect) -> WeightedText:
    text = statement.text
    number = WRITTEN_WEIGHT.match(text)
    expression = dialect == "pracmln" and not (
        number and text[number.end() : number.end() + 1].isspace()
    )
    if number and not expression and not TERM_GOES_ON.match(text, number.end()):
        return _numeric_weight(statement, number, dialect)
    utility = UTILITY.match(text)
    if utility:
        return WeightedText(None, False, True, statement.after(utility.end()))
    variable = WEIGHT_VARIABLE.match(text)
    if variable and (not expression or text[variable.end() : variable.end() + 1].isspace()):
        return _from_data(statement, variable, dialect)
    if expression:
        return _expression_weight(statement)
    if EXPRESSION_LIKE.match(text):
        raise statement.error(0, "a weight that is calculated is pracmln's; see dialect pracmln")
    return WeightedText(None, False, False, statement)


def _numeric_weight(statement: Statement, number: re.Match[str], dialect: Dialect) -> WeightedText:
    if number["frozen"] and dialect != "tuffy":
        raise statement.error(0, "@ before a weight belongs to Tuffy; say dialect tuffy")
    weight = float(number["weight"])
    if not math.isfinite(weight):
        raise statement.error(number.start("weight"), f"the weight {number['weight']} is too large")
    utility = UTILITY.match(statement.text, number.end())
    end = utility.end() if utility else number.end()
    fixed = bool(number["frozen"] or number["stop"])
    foreign = dialect == "alchemy" and not PLAIN_NUMBER.fullmatch(number["weight"])
    remark = f"Alchemy cannot read weights like {number['weight']}" if foreign else ""
    return WeightedText(weight, fixed, utility is not None, statement.after(end), remark)


def _from_data(statement: Statement, match: re.Match[str], dialect: Dialect) -> WeightedText:
    if dialect != "tuffy":
        raise statement.error(
            0, "a weight taken from a variable is Tuffy's and RockIt's; see dialect tuffy"
        )
    return WeightedText(0.0, True, False, statement.after(match.end()), variable=match["name"])


def _expression_weight(statement: Statement) -> WeightedText:
    """Read a weight that is an expression: all up to the first blank."""
    text = statement.text
    expression = EXPRESSION.match(text)
    if expression and re.search(r"\d|inf", expression[0]) and not re.search("[,=>]", expression[0]):
        value = evaluate(expression[0])
        if value is not None:
            formula = statement.after(expression.end())
            if math.isinf(value) and "inf" not in expression[0]:
                raise statement.error(0, f"the weight {quote(expression[0])} is not finite")
            denied = value == -math.inf
            return WeightedText(
                abs(value) if denied else value, False, False, formula, denied=denied
            )
    if DOMAIN_SIZE.match(text):
        raise statement.error(0, "weights that depend on domSize(...) (ProbCog) are not supported")
    if EXPRESSION_LIKE.match(text):
        raise statement.error(
            0, "expected a weight: numbers, + - * / ** ( ), log, logx, exp, sqrt or float('inf')"
        )
    return WeightedText(None, False, False, statement)


# Probabilities that formulas must have: `P(f) = 0.1` before evidence, `R(f) = 0.8` with it.

CONSTRAINT = re.compile(
    r"(?P<kind>P|R|SE)\((?P<formula>.*)\)\s*=\s*(?P<number>[^\s=(]+)", re.DOTALL
)


class ProbabilityConstraint(NamedTuple):
    """A formula and the probability that it must have, given the evidence (posterior) or not."""

    formula: Statement
    probability: float
    posterior: bool
    text: str


def is_probability_constraint(statement: Statement) -> bool:
    """Whether a statement has the form of a probability constraint."""
    match = CONSTRAINT.fullmatch(statement.text)
    return match is not None and evaluate(match["number"]) is not None


def probability_constraint(statement: Statement) -> ProbabilityConstraint:
    """Read a statement that looks like a demand."""
    match = CONSTRAINT.fullmatch(statement.text)
    assert match
    start, end = match.span("formula")
    probability = evaluate(match["number"])
    if probability is None or not 0 < probability < 1:
        raise statement.error(
            match.start("number"),
            f"expected a probability between 0 and 1, found {quote(match['number'])}; what is "
            "certain is a hard formula, with a full stop at its end",
        )
    formula = statement.before(end).after(start)
    return ProbabilityConstraint(
        formula, probability, match["kind"] != "P", " ".join(statement.text.split())
    )
