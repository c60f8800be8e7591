"""Bayesian networks, as BIF and XMLBIF hold them: one conditional probability per variable.

A factor is a conditional probability when its last variable is the child and its table sums to one
over the child for all values of the parents (up to the rounding found in files).
"""

import graphlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from orbitmc.errors import InputError
from orbitmc.formats.assembly import Assembly
from orbitmc.graph.model import Model
from orbitmc.machine.arrays import Floats
from orbitmc.machine.text import Text, quoted

ROUNDING = 0.02
"""How far from one the probabilities in published files add up, for want of digits."""


@dataclass(frozen=True)
class Conditional:
    """The probability of a child given its parents, as logarithms, child fastest."""

    child: int
    parents: tuple[int, ...]
    log_probabilities: Floats


class Block(NamedTuple):
    """What a file says of a child: its parents, and probabilities in rows for their values."""

    parents: list[str]
    table: Floats


@dataclass
class Network:
    """What has been read so far, and where; `entries` counts those of all tables."""

    domains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    entries: int = 0

    def model(self, text: Text) -> Model:
        """The model of a network whose children stand at their places in a text."""
        place = self.places.__getitem__
        return network_model(
            self.domains, self.blocks, text.source, lambda child, why: text.error(place(child), why)
        )


def network_model(
    domains: Mapping[str, tuple[str, ...]],
    blocks: Mapping[str, Block],
    source: str,
    error: Callable[[str, str], InputError] | None = None,
) -> Model:
    """The model of a network that was read: a factor for each child, in the order of the file.

    `error` says what is wrong with a child, and where.
    """
    cycle = find_cycle({child: block.parents for child, block in blocks.items()})
    if cycle:
        why = f"the parents form a cycle: {' <- '.join(map(quoted, cycle))}"
        raise InputError(why, source=source) if error is None else error(cycle[0], why)
    number = {name: variable for variable, name in enumerate(domains)}
    assembly = Assembly([len(values) for values in domains.values()], source)
    for child, block in blocks.items():
        scope = [number[name] for name in [*block.parents, child]]
        assembly.add_factor(scope, assembly.table(block.table))
    return Model(assembly.build(), tuple(domains), tuple(domains.values()))


def conditionals(model: Model, format_name: str) -> list[Conditional]:
    """Take a model as a Bayesian network, or say why it is none."""
    graph = model.graph
    reason = _reason(model)
    if reason:
        raise InputError(
            f"{format_name} holds Bayesian networks only, and {reason}; write .uai or .json instead"
        )
    scopes = [graph.scope_of(factor).tolist() for factor in range(graph.factors)]
    return [
        Conditional(scope[-1], tuple(scope[:-1]), graph.table_values(factor))
        for factor, scope in enumerate(scopes)
    ]


def find_cycle(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Find variables that are each other's ancestors, or nothing."""
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def _reason(model: Model) -> str:
    graph = model.graph
    if model.observed:
        return f"{next(iter(model.observed))!r} is observed"
    if graph.first_clause != graph.factors or graph.constant != 0:
        return "this model has clauses or a constant"
    scopes = [tuple(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    if sorted(scope[-1:] for scope in scopes) != [(v,) for v in range(graph.variables)]:
        return "not every variable is the last one of exactly one factor"
    names = model.names
    parents = {names[scope[-1]]: [names[v] for v in scope[:-1]] for scope in scopes}
    if find_cycle(parents):
        return f"the parents of {find_cycle(parents)[0]!r} form a cycle"
    for factor, scope in enumerate(scopes):
        with np.errstate(over="ignore"):
            sums = np.exp(graph.table_values(factor)).sum(axis=-1)
        if (np.abs(sums - 1) > ROUNDING).any():
            return f"the factor of {names[scope[-1]]!r} does not sum to one"
    return ""
