"""What learned weights count for: whole formulas, or their clauses as in Alchemy."""

from collections.abc import Sequence
from typing import Literal

from orbitmc.errors import InputError
from orbitmc.logic.databases.database import Database
from orbitmc.logic.databases.universe import universe
from orbitmc.logic.grounding.clausal_form import quantified_types, split_into_clauses
from orbitmc.logic.language.syntax import Program

Meaning = Literal["formula", "alchemy"]


def with_meaning(program: Program, databases: Sequence[Database], meaning: Meaning) -> Program:
    """The program whose formulas have a weight each: its own, or the clauses of its formulas.

    Clauses name the constants that EXIST stands for, so these must be the same everywhere.
    """
    if meaning == "formula":
        return program
    everything = universe(program, databases)
    own = [universe(program, [database]) for database in databases]
    for rule in program.rules:
        for kind in sorted(quantified_types(rule)):
            if any(one.size(kind) < everything.size(kind) for one in own):
                raise InputError(
                    f"{rule.place}: to split this formula into clauses, as Alchemy does, all "
                    f"databases must have the same constants of type {kind}; list them in the "
                    "program, or learn weights of whole formulas"
                )
    return split_into_clauses(program, everything)
