"""What a page finds out by itself: symmetries, and the exact answer where it is affordable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orbitmc.errors import OrbitError
from orbitmc.inference.answer import carry_out
from orbitmc.inference.plan import Decision, exact_plan
from orbitmc.inference.settings import Settings

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.symmetry._automorphisms import SymmetryReport

EXACT_SECONDS = 5.0  # that an exact answer may take beside a sampled one
SYMMETRY_SECONDS = 2.0
MOST_VARIABLES = 20_000  # in which symmetries are looked for


@dataclass(frozen=True)
class Checks:
    """Symmetries and exact marginals, or why there are none."""

    symmetries: SymmetryReport | None
    no_symmetries: str
    exact: Marginals | None
    no_exact: str


def checks(answer: Marginals) -> Checks:
    """Look for what a page shows beside an answer."""
    return Checks(*_symmetries(answer), *_exact(answer))


def _symmetries(answer: Marginals) -> tuple[SymmetryReport | None, str]:
    assert answer.asked is not None
    graph = answer.asked.seen.graph
    if graph.variables > MOST_VARIABLES:
        return None, f"Not looked for: the model has more than {MOST_VARIABLES:,} variables."
    from orbitmc.symmetry._automorphisms import automorphisms

    try:
        return automorphisms(graph, seconds=SYMMETRY_SECONDS), ""
    except OrbitError as error:
        return None, f"Not found: {error}."


def _exact(answer: Marginals) -> tuple[Marginals | None, str]:
    asked = answer.asked
    assert asked is not None
    if answer.about.method == "exact":
        return None, "The answer is exact."
    try:
        settings = Settings(seconds=EXACT_SECONDS)
        plan, reason = exact_plan(asked.seen.graph, settings)
        if plan is None:
            return None, f"There is no exact answer to compare with: {reason}."
        found = carry_out(Decision(asked.seen, settings, reason, plan))
    except OrbitError as error:
        return None, f"There is no exact answer to compare with: {error}."
    in_words = found if asked.in_atoms is None else asked.in_atoms(found)
    return in_words.only(list(answer)), ""
