"""What stands before and after a formula: its weight, or the full stop that makes it hard."""

import ast
import math
import operator
import re
import warnings
from typing import NamedTuple

from orbitmc.errors import InputError
from orbitmc.logic.language.scanner import Statement
from orbitmc.logic.language.syntax import Dialect
from orbitmc.machine.text import quoted

NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WEIGHT = re.compile(rf"(?P<frozen>@)?(?P<weight>{NUMBER})(?P<stop>\.(?!\d))?(?![\w'])")
UTILITY = re.compile(rf"\s*:\s*(?P<utility>{NUMBER})(?![\w'.])")
TERM_GOES_ON = re.compile(r"\s*(?:[=<>/%]|!=|\+\s*\d|-\s*\d)")
EXPRESSION = re.compile(r"[-+]?[(\w.][^\s!^]*(?=\s)")
EXPRESSION_LIKE = re.compile(r"(?:log|logx|exp|sqrt)\(\s*[\d.]")
WEIGHT_VARIABLE = re.compile(r"[a-z_]\w*\s*:(?![-=])")
LABEL = re.compile(r'\[Label\]\s*"[^"\n]*"', re.IGNORECASE)

FUNCTIONS = {"log": math.log, "logx": math.log, "exp": math.exp, "sqrt": math.sqrt}
CONSTANTS = {"pi": math.pi, "e": math.e}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
MOST_CHARACTERS = 200


class Weighing(NamedTuple):
    """A weight (None if there is none, infinite if hard), and the formula that it belongs to."""

    weight: float | None
    fixed: bool
    utility: bool
    formula: Statement
    remark: str = ""


def weighing(statement: Statement, dialect: Dialect) -> Weighing:
    """Take the weight off a formula."""
    label = LABEL.match(statement.text) if dialect == "tuffy" else None
    rest = statement.after(label.end()) if label else statement
    found = _prefix(rest, dialect)
    hard = found.formula.text.endswith(".")
    if not hard:
        return found
    if found.weight is not None:
        raise rest.error(
            len(rest.text) - 1,
            "a full stop makes a formula hard, so it cannot have a weight; remove one of them",
        )
    formula = found.formula.before(len(found.formula.text) - 1)
    return Weighing(math.inf, found.fixed, found.utility, formula)


def _prefix(statement: Statement, dialect: Dialect) -> Weighing:
    text = statement.text
    number = WEIGHT.match(text)
    calculated = dialect == "pracmln" and not (
        number and text[number.end() : number.end() + 1].isspace()
    )
    if number and not calculated and not TERM_GOES_ON.match(text, number.end()):
        return _numbered(statement, number, dialect)
    utility = UTILITY.match(text)
    if utility:
        return Weighing(None, False, True, statement.after(utility.end()))
    if calculated:
        return _calculated(statement)
    _refuse(statement, dialect)
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


def _refuse(statement: Statement, dialect: Dialect) -> None:
    if dialect == "tuffy" and WEIGHT_VARIABLE.match(statement.text):
        raise statement.error(
            0, "a weight taken from a variable is not supported; write +x and learn the weights"
        )
    if EXPRESSION_LIKE.match(statement.text):
        raise statement.error(0, "weights that are calculated need dialect pracmln")


def _calculated(statement: Statement) -> Weighing:
    """Read a weight that is an expression: all up to the first blank."""
    expression = EXPRESSION.match(statement.text)
    if expression and re.search(r"\d", expression[0]) and not re.search(r"[,=>]", expression[0]):
        value = _try(expression[0])
        if value is not None:
            if not math.isfinite(value):
                raise statement.error(0, f"the weight {quoted(expression[0])} is not finite")
            return Weighing(value, False, False, statement.after(expression.end()))
    if EXPRESSION_LIKE.match(statement.text):
        raise statement.error(0, "expected a weight: numbers, + - * / ** ( ), log, exp or sqrt")
    return Weighing(None, False, False, statement)


def _try(expression: str) -> float | None:
    if len(expression) > MOST_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what looks odd in Python is no one's concern here
            return _evaluate(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, InputError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr) -> float:
    """Calculate with numbers and a few functions; nothing else has a meaning."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluate(operand)
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in OPERATORS:
            return float(OPERATORS[type(symbol)](_evaluate(left), _evaluate(right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            (argument,) = arguments
            return FUNCTIONS[name](_evaluate(argument))
    raise InputError("not a number")
