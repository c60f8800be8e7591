"""What to say about a program: before it is ground, and where its formulas contradict."""

from collections.abc import Iterable

import numpy as np

from orbitmc._util.text import MOST_NAMED
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.feasibility import possible_states
from orbitmc.mln.data.database import Database
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import Ground, World, is_closed
from orbitmc.mln.language.syntax import Program, Rule, atoms_of

# Which hard formulas cannot be satisfied together, given evidence.


def contradicting_rules(ground: Ground) -> list[Rule]:
    """Hard rules that contradict each other, none of which can be left out; empty if none do."""
    hard = [number for number, rule in enumerate(ground.program.rules) if rule.weight == np.inf]
    if _possible(ground, hard):
        return []
    for number in list(hard):
        fewer = [other for other in hard if other != number]
        if not _possible(ground, fewer):
            hard = fewer
    return [ground.program.rules[number] for number in hard]


def describe_contradiction(rules: list[Rule]) -> str:
    """Say which formulas contradict each other, and where they stand."""
    named = [f"{rule.place}: {rule.text.strip()}" for rule in rules[:MOST_NAMED]]
    more = [f"and {len(rules) - MOST_NAMED} more"] if len(rules) > MOST_NAMED else []
    lines = "\n  ".join([*named, *more])
    return f"no state satisfies the evidence and these hard formulas together:\n  {lines}"


def _possible(ground: Ground, hard: list[int]) -> bool:
    """Whether some state satisfies these rules; a search without end counts as yes."""
    weights = np.zeros(len(ground.weights))
    for number in hard:
        weights[ground.first_weight[number] : ground.first_weight[number + 1]] = np.inf
    try:
        possible_states(graph_of(ground, weights), 1, np.random.SeedSequence(0))
    except ContradictionError:
        return False
    except LimitError:
        return True
    return True


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


def describe_weight_semantics(meaning: str, place: str, count: int) -> str:
    """What weights count for, where that makes a difference."""
    others = f" and {count - 1} more" if count > 1 else ""
    sentence = (
        "weights count for whole formulas; in Alchemy they count for clauses"
        if meaning == "formula"
        else "weights are divided among the clauses of a formula, as in Alchemy"
    )
    return f"{place}{others}: {sentence}, which differs here"
