"""What a race has found: a recipe, why, and what each family was worth."""

from dataclasses import dataclass

from orbitmc.graph.model import Model
from orbitmc.sampling.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.families.families import FAMILIES, FORWARD
from orbitmc.tuning.recipe import Recipe


@dataclass(frozen=True)
class TrialResult:
    """What a family of jumps was worth beside the chain without it, and what became of it.

    There is no `gain` where jumps from a few states were enough to see that they hardly ever
    succeed, or where no time was left to try.
    """

    family: str
    gain: float | None
    acceptance: float | None
    verdict: str


@dataclass(frozen=True)
class Choice:
    """The outcome of a race."""

    recipe: Recipe
    about: str
    prices: tuple[TrialResult, ...] = ()
    seconds: float = 0.0


def drawn_anew(model: Model, acceptance: float) -> Choice:
    """Draw all variables anew for each state that a run records: many are independent then."""
    about = f"{FAMILIES[FORWARD].words}, {acceptance:.0%} of the draws"
    price = TrialResult(FORWARD, None, acceptance, "chosen")
    period = SWEEPS_PER_SAMPLE * model.graph.variables
    return Choice(Recipe((FORWARD,), period), about, (price,))
