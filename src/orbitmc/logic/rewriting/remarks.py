"""What to say about a program before it is ground."""

from collections.abc import Iterable

from orbitmc.logic.databases.database import Database
from orbitmc.logic.grounding.grounding import World, is_closed
from orbitmc.logic.language.syntax import Program, atoms_of


def closed_by_few(program: Program, known: Database, world: World) -> Iterable[str]:
    """Predicates that a single atom of evidence has closed, though formulas would infer them."""
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    for name, facts in known.facts.items():
        predicate = program.predicates[name]
        few = len(facts.truth) == 1 and predicate.closed is None and not predicate.is_block
        if few and name in used and is_closed(name, program, known, world):
            yield (
                f"one atom of evidence makes {name} closed: its other atoms are taken as false; "
                f"open it by name if they are unknown"
            )


def asked_though_closed(world: World) -> Iterable[str]:
    """Predicates that are to be closed, which a question about them prevents."""
    for name in sorted(world.closed & (world.query or frozenset())):
        yield f"{name} is asked about, so its atoms stay unknown though it is to be closed"


def meaning_in_words(meaning: str, place: str, count: int) -> str:
    """What weights count for, where that makes a difference."""
    others = f" and {count - 1} more" if count > 1 else ""
    said = (
        "weights count for whole formulas; in Alchemy they count for clauses"
        if meaning == "formula"
        else "weights are divided among the clauses of a formula, as in Alchemy"
    )
    return f"{place}{others}: {said}, which differs here"
