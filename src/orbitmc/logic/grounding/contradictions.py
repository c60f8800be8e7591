"""Which hard formulas cannot be satisfied together, given evidence."""

import numpy as np

from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.feasibility import possible_states
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.language.syntax import Rule

MOST_NAMED = 5


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


def in_words(rules: list[Rule]) -> str:
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
