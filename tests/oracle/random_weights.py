"""Small models and programs whose weights range over all doubles."""

import itertools
import random

import numpy as np

from orbitmc.graph.builder import Builder

USUAL = (-2.0, 1.5)
ANY = (-300.0, 308.0)


def weight(draw, exponents):
    """A number of either sign; its size is anything between two powers of ten."""
    size = 10.0 ** draw.uniform(*exponents)
    return draw.choice([-1, 1]) * min(size, 1.7e308)


def random_graph(seed):
    """Draw two to four variables, tables and clauses; about one table in three is of any size."""
    draw = random.Random(seed)
    sizes = [draw.choice([2, 2, 3]) for _ in range(draw.randint(2, 4))]
    builder = Builder(sizes)
    for _ in range(draw.randint(2, 6)):
        scope = draw.sample(range(len(sizes)), draw.randint(1, min(3, len(sizes))))
        exponents = ANY if draw.random() < 0.35 else USUAL
        if draw.random() < 0.3:
            wanted = [draw.randrange(sizes[variable]) for variable in scope]
            builder.add_clause(scope, wanted, weight(draw, exponents))
        else:
            builder.add_factor(scope, _table(draw, [sizes[v] for v in scope], exponents))
    return builder.build()


def _table(draw, shape, exponents):
    """One large step or one for each entry, sometimes far from 0, sometimes with zeros."""
    entries = int(np.prod(shape))
    step = weight(draw, exponents)
    kind = draw.random()
    if kind < 0.6:
        table = [step * draw.choice([0, 1]) + weight(draw, USUAL) for _ in range(entries)]
    elif kind < 0.8:
        table = [weight(draw, exponents) for _ in range(entries)]
    else:
        table = [step] * entries
    zeros = draw.random() < 0.2
    return np.reshape([-np.inf if zeros and draw.random() < 0.3 else x for x in table], shape)


ATOMS = ("P", "Q", "R")


def random_program(seed):
    """Draw the text of a program on three atoms, and its formulas as (weight, truth) pairs."""
    draw = random.Random(seed)
    rules = []
    for _ in range(draw.randint(2, 5)):
        text, truth = _formula(draw, draw.randint(0, 2))
        chosen = weight(draw, ANY if draw.random() < 0.5 else USUAL)
        rules.append((chosen, text, truth))
    lines = [f"{chosen!r} {text}" for chosen, text, _ in rules]
    head = "t = {A}\n" + "".join(f"{name}(t)\n" for name in ATOMS)
    return head + "\n".join(lines) + "\n", [(chosen, truth) for chosen, _, truth in rules]


def _formula(draw, depth):
    """A formula of distinct atoms as text, and as a function of the set of true atoms."""
    names = draw.sample(ATOMS, depth + 1)
    text, truth = _literal(draw, names[0])
    for name in names[1:]:
        other, holds = _literal(draw, name)
        sign, operation = draw.choice(OPERATIONS)
        text = f"({text}) {sign} {other}"
        truth = _joined(operation, truth, holds)
    return text, truth


OPERATIONS = (
    ("v", lambda one, other: one or other),
    ("^", lambda one, other: one and other),
    ("=>", lambda one, other: not one or other),
    ("<=>", lambda one, other: one == other),
)


def _joined(operation, one, other):
    return lambda world: operation(one(world), other(world))


def _literal(draw, name):
    if draw.random() < 0.5:
        return f"!{name}(x)", lambda world: name not in world
    return f"{name}(x)", lambda world: name in world


def worlds():
    """All sets of true atoms."""
    for number in range(len(ATOMS) + 1):
        yield from (frozenset(some) for some in itertools.combinations(ATOMS, number))
