"""Types without constants, as pracmln and Tuffy allow them: nothing about them is ground."""

from dataclasses import replace

from orbitmc.logic.databases.database import Database
from orbitmc.logic.databases.universe import empty_types
from orbitmc.logic.language.declarations import SMALL
from orbitmc.logic.language.syntax import Program, atoms_of, free_variables


def without_empty_types(
    program: Program, known: Database, asked: frozenset[str]
) -> tuple[Program, tuple[str, ...]]:
    """Leave out what has no groundings, and say so; in other dialects types must have constants."""
    empty = empty_types(program, [known]) if program.dialect in SMALL else frozenset[str]()
    kept = [
        number
        for number, rule in enumerate(program.rules)
        if not any(rule.types[name] in empty for name in free_variables(rule.formula))
    ]
    used = asked | {atom.predicate for n in kept for atom in atoms_of(program.rules[n].formula)}
    idle = [n for n, own in program.predicates.items() if {*own.types} & empty and n not in used]
    if not idle or len(idle) == len(program.predicates) or program.constraints:
        return program, ()
    remark = (
        f"no constant of type {', '.join(sorted(empty))} is known, so {', '.join(idle)} and "
        f"{len(program.rules) - len(kept)} formulas have no groundings"
    )
    predicates = {name: own for name, own in program.predicates.items() if name not in idle}
    rules = tuple(program.rules[number] for number in kept)
    return replace(program, predicates=predicates, rules=rules), (remark,)
