"""Write a learned program: declarations, then one formula with its weight per line."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from orbitmc.arrays import Floats
from orbitmc.files import write_atomically
from orbitmc.learn.formula_text import rule_text
from orbitmc.logic.grounding import Ground
from orbitmc.logic.names import constant_text
from orbitmc.logic.syntax import Predicate, Program, Rule


def write_program(path: Path, ground: Ground, weights: Floats, *, remarks: str = "") -> None:
    """Write a program with these weights, whole or not at all."""
    write_atomically(path, [program_text(ground, weights, remarks=remarks).encode()])


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
