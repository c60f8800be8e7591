"""Weights that are calculated, as in pracmln: `log(0.3/0.7)`, `logx(0)`, `-float('inf')`.

An expression is parsed and its tree is walked: numbers, operators and a few functions have a
meaning, and nothing is executed.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable

from orbitmc.errors import InputError

LOGARITHM_OF_ZERO = -100.0  # what pracmln and ProbCog take for logx(0)
MOST_CHARACTERS = 200


def calculated(expression: str) -> float | None:
    """Give the number that an expression is, perhaps infinite, or None if it is none.

    >>> calculated("log(4)/2") == math.log(2), calculated("-float('inf')"), calculated("f(1)")
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
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluate(operand)
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in OPERATORS:
            return float(OPERATORS[type(symbol)](_evaluate(left), _evaluate(right)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
            return INFINITIES[word.strip().lower()] if word.strip().lower() in INFINITIES else _no()
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](_evaluate(argument))
    return _no()


def _no() -> float:
    raise InputError("not a number")


def _logx(number: float) -> float:
    return LOGARITHM_OF_ZERO if number == 0 else math.log(number)


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "logx": _logx,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "float": float,
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
INFINITIES = {"inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
