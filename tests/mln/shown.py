"""Formulas as text with all parentheses, written apart from the parser, to compare by eye."""

from orbitmc.mln.language.syntax import (
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Truth,
    Variable,
)


def shown(formula: Formula) -> str:
    match formula:
        case Atom(predicate, arguments):
            terms = ",".join(map(shown_term, arguments))
            return f"{predicate}({terms})" if arguments else predicate
        case Comparison(operator, left, right):
            return f"({shown_term(left)} {operator} {shown_term(right)})"
        case Truth(holds):
            return str(holds)
        case Not(body):
            return f"!{shown(body)}"
        case And(parts):
            return "(" + " ^ ".join(map(shown, parts)) + ")"
        case Or(parts):
            return "(" + " v ".join(map(shown, parts)) + ")"
        case Implies(left, right):
            return f"({shown(left)} => {shown(right)})"
        case Iff(left, right):
            return f"({shown(left)} <=> {shown(right)})"
        case Exist(variables, body):
            return f"EXIST {','.join(variables)} {shown(body)}"
        case Forall(variables, body):
            return f"FORALL {','.join(variables)} {shown(body)}"
    raise TypeError(formula)


def shown_term(term: Term) -> str:
    match term:
        case Constant(name):
            return repr(name)
        case Variable(name):
            return name
        case Arithmetic(function, arguments):
            return f"{function}({','.join(map(shown_term, arguments))})"
    raise TypeError(term)
