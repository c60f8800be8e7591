"""Write a learned program: declarations, then one formula with its weight per line."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.mln.data.database import Universe
from orbitmc.mln.grounding.atoms import constant_text
from orbitmc.mln.grounding.grounding import Ground, NumberedWeights
from orbitmc.mln.language.syntax import (
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Program,
    Rule,
    Term,
    Truth,
    Variable,
    atoms_of,
    with_parts,
)


def program_text(
    ground: Ground | NumberedWeights,
    weights: Floats,
    *,
    remarks: str = "",
    errors: Floats | None = None,
) -> str:
    """A program with these weights; rules with `+` are written out, one for each copy.

    Standard errors follow as comments.
    """
    standard_errors = np.zeros(len(weights)) if errors is None else errors
    lines = [f"// {line}" for line in remarks.splitlines()]
    lines += [*_declarations(ground.program), ""]
    for number, rule in enumerate(ground.program.rules):
        first, last = ground.first_weight[number : number + 2]
        lines += _rule_lines(ground, rule, weights[first:last], standard_errors[first:last])
    return "\n".join(lines) + "\n"


def _declarations(program: Program) -> Iterator[str]:
    for kind, names in program.constants.items():
        if names:
            yield f"{kind} = {{{', '.join(map(constant_text, names))}}}"
    functions = {predicate: name for name, predicate in program.functions.items()}
    for name, predicate in program.predicates.items():
        if name in functions:
            value, *kinds = predicate.types
            yield f"{value} {functions[name]}({', '.join(kinds)})"
        else:
            yield _declaration(predicate)


def _declaration(predicate: Predicate) -> str:
    kinds = [
        f"{kind}!" if exclusive else kind
        for kind, exclusive in zip(predicate.types, predicate.exclusive, strict=True)
    ]
    star = "*" if predicate.closed else ""
    return f"{star}{predicate.name}({', '.join(kinds)})" if kinds else f"{star}{predicate.name}"


def _rule_lines(
    ground: Ground | NumberedWeights, rule: Rule, weights: Floats, errors: Floats
) -> Iterator[str]:
    if rule.per_constant:
        yield f"// {rule.text or _rule_text(rule, ground.program, {})}"
    constants = [ground.universe.constants[rule.types[name]] for name in rule.per_constant]
    pairs = zip(weights.tolist(), errors.tolist(), strict=True)
    for (weight, error), chosen in zip(pairs, itertools.product(*constants), strict=True):
        binding = dict(zip(rule.per_constant, chosen, strict=True))
        if not _in_order(rule, binding, ground.universe):
            continue
        text = _rule_text(rule, ground.program, binding)
        if weight == np.inf:
            yield f"{text}."
        else:
            after = f"  // ± {error:.2g}" if error else ""
            yield f"{weight!r}{'.' if rule.fixed else ''} {text}{after}"


def _orders(rule: Rule) -> list[Comparison]:
    """What says in which order constants of variables were named."""
    parts = rule.formula.parts if isinstance(rule.formula, And) else ()
    return [part for part in parts if isinstance(part, Comparison) and part.operator == "precedes"]


def _in_order(rule: Rule, binding: Mapping[str, str], universe: Universe) -> bool:
    """Whether a copy of a rule is one that counts."""
    for order in _orders(rule):
        assert isinstance(order.left, Variable)
        assert isinstance(order.right, Variable)
        numbers = universe.numbers[rule.types[order.left.name]]
        if numbers[binding[order.left.name]] >= numbers[binding[order.right.name]]:
            return False
    return True


def _rule_text(rule: Rule, program: Program, constants: Mapping[str, str]) -> str:
    """The formula of a rule, with constants for some variables."""
    taken = {*program.constants, *program.predicates, *program.functions}
    words = dict(zip(rule.types, _free_names(rule.types, taken), strict=True))
    words |= {name: constant_text(constant) for name, constant in constants.items()}
    functions = {predicate: name for name, predicate in program.functions.items()}
    links = [atom for atom in atoms_of(rule.formula) if atom.predicate in functions]
    values = {
        link.arguments[0].name: link for link in links if isinstance(link.arguments[0], Variable)
    }
    wording = _Wording(words, values, functions)
    formula = rule.formula
    if orders := _orders(rule):
        assert isinstance(formula, And)
        formula = And(tuple(part for part in formula.parts if part not in orders))
    return wording.sentence(_without_links(formula, functions, values))


@dataclass(frozen=True)
class _Wording:
    """What stands for each variable; `values` has those that are values of functions."""

    words: Mapping[str, str]
    values: Mapping[str, Atom]
    functions: Mapping[str, str]

    def sentence(self, formula: Formula) -> str:
        """A formula without parentheses around it."""
        match formula:
            case Atom(predicate, arguments):
                return _application(predicate, map(self.term, arguments))
            case Comparison("substr", left, right):
                return _application("substr", map(self.term, (left, right)))
            case Comparison(operator, left, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case Truth(holds):
                return "(0 = 0)" if holds else "(0 != 0)"
            case Not(body):
                return f"!{self.part(body)}"
            case And(parts):
                return " ^ ".join(map(self.part, parts))
            case Or(parts):
                return " v ".join(map(self.part, parts))
            case Implies(left, right):
                return f"{self.side(left)} => {self.side(right)}"
            case Iff(left, right):
                return f"{self.side(left)} <=> {self.side(right)}"
            case Exist(variables, body):
                return f"EXIST {self.names(variables)} ({self.sentence(body)})"
            case Forall(variables, body):
                return f"FORALL {self.names(variables)} ({self.sentence(body)})"
            case Count(variables, (body,), operator, number):
                return f"COUNT({self.names(variables)} | {self.sentence(body)}) {operator} {number}"
            case Count():
                raise InputError("a cardinality of several predicates cannot be written")

    def part(self, formula: Formula) -> str:
        """A formula as a part of any other."""
        text = self.sentence(formula)
        return text if isinstance(formula, Atom | Comparison | Truth | Not) else f"({text})"

    def side(self, formula: Formula) -> str:
        """A formula on one side of an arrow; and, or bind tighter than arrows do."""
        return self.sentence(formula) if isinstance(formula, And | Or) else self.part(formula)

    def names(self, variables: Iterable[str]) -> str:
        return ",".join(self.words[name] for name in variables)

    def term(self, term: Term) -> str:
        match term:
            case Constant(name):
                return constant_text(name)
            case Variable(name) if name in self.values:
                link = self.values[name]
                return _application(
                    self.functions[link.predicate], map(self.term, link.arguments[1:])
                )
            case Variable(name):
                return self.words[name]
            case Arithmetic(function, arguments):
                return _application(function, map(self.term, arguments))


def _free_names(names: Mapping[str, str], taken: set[str]) -> Iterator[str]:
    """The names of variables, changed where they mean something else in the program."""
    used = {*taken, *names}
    for name in names:
        fresh = _plain_name(name)
        while fresh in taken or (fresh != name and fresh in used):
            fresh += "_"
        used.add(fresh)
        yield fresh


def _plain_name(name: str) -> str:
    """The name of a variable as all dialects can read it."""
    bare = name.lstrip("?@")
    return bare if bare and not (bare[0].isupper() or bare[0].isdigit()) else f"x{bare}"


def _without_links(
    formula: Formula, functions: Mapping[str, str], values: Mapping[str, Atom]
) -> Formula:
    """Leave out the atoms that tie down values: the functions are written in their place."""

    def inside(part: Formula) -> Formula:
        return _without_links(part, functions, values)

    def is_link(part: Formula) -> bool:
        atom = part.body if isinstance(part, Not) else part
        return isinstance(atom, Atom) and atom.predicate in functions

    match formula:
        case And(parts) | Or(parts):
            remaining = tuple(inside(part) for part in parts if not is_link(part))
            return remaining[0] if len(remaining) == 1 else type(formula)(remaining)
        case Exist(variables, body) | Forall(variables, body):
            bound = tuple(name for name in variables if name not in values)
            return type(formula)(bound, inside(body)) if bound else inside(body)
    return with_parts(formula, inside)


def _application(name: str, words: Iterable[str]) -> str:
    arguments = ",".join(words)
    return f"{name}({arguments})" if arguments else name
