"""Write a learned program: declarations, then one formula with its weight per line."""

import itertools
from collections.abc import Iterator

import numpy as np

from orbitmc.logic.databases.names import constant_text
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.language.syntax import Predicate, Program, Rule
from orbitmc.logic.learning.formula_text import rule_text
from orbitmc.machine.arrays import Floats


def program_text(ground: Ground, weights: Floats, *, remarks: str = "") -> str:
    """A program with these weights; rules with `+` are written out, one for each copy."""
    lines = [f"// {line}" for line in remarks.splitlines()]
    lines += [*_declarations(ground.program), ""]
    for number, rule in enumerate(ground.program.rules):
        first, last = ground.first_weight[number : number + 2]
        lines += _rule_lines(ground, rule, weights[first:last])
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


def _rule_lines(ground: Ground, rule: Rule, weights: Floats) -> Iterator[str]:
    if rule.per_constant:
        yield f"// {rule.text or rule_text(rule, ground.program, {})}"
    constants = [ground.universe.constants[rule.types[name]] for name in rule.per_constant]
    for weight, chosen in zip(weights.tolist(), itertools.product(*constants), strict=True):
        binding = dict(zip(rule.per_constant, chosen, strict=True))
        text = rule_text(rule, ground.program, binding)
        if weight == np.inf:
            yield f"{text}."
        else:
            yield f"{weight!r}{'.' if rule.fixed else ''} {text}"
