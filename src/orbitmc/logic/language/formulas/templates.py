"""From a formula with its weight to rules: one, or two for every atom with a star."""

import itertools

from orbitmc.logic.language.formulas.conversion import Conversion
from orbitmc.logic.language.formulas.terms import Vocabulary
from orbitmc.logic.language.grammar import Sentence
from orbitmc.logic.language.syntax import Rule
from orbitmc.logic.language.weights import Weighing

MOST_STARS = 12


def conversions(sentence: Sentence, vocabulary: Vocabulary) -> list[Conversion]:
    """Read a formula once for every way to negate its starred atoms."""
    first = Conversion(sentence, vocabulary)
    if first.stars > MOST_STARS:
        raise sentence.statement.error(
            0, f"{first.stars} atoms with * make 2^{first.stars} formulas; the most is {MOST_STARS}"
        )
    if first.terms.errors or not first.stars:
        return [first]
    return [
        Conversion(sentence, vocabulary, signs)
        for signs in itertools.product((True, False), repeat=first.stars)
    ]


def rule(conversion: Conversion, weighing: Weighing) -> Rule:
    """Put a formula and its weight together."""
    formula = weighing.formula
    return Rule(
        conversion.formula,
        weighing.weight,
        conversion.types,
        tuple(conversion.terms.per_constant),
        weighing.fixed,
        formula.place(0),
        " ".join(formula.text.split()),
    )
