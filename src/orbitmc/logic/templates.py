"""From a formula with its weight to rules: one, or two for every atom with a star."""

import itertools
import re
from collections.abc import Iterator

from lark import Token

from orbitmc.logic.conversion import Conversion
from orbitmc.logic.grammar import Sentence
from orbitmc.logic.syntax import Rule
from orbitmc.logic.terms import Vocabulary
from orbitmc.logic.weights import Weighing

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
        re.sub(r"\s+", " ", formula.text),
    )


def remarks(sentence: Sentence, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """Say what other readers of this dialect would not accept, and where."""
    text, dialect = sentence.statement.text, vocabulary.dialect
    for token in sentence.tree.scan_values(lambda value: isinstance(value, Token)):
        start, end = token.start_pos or 0, token.end_pos or 0
        if token == "v" and token.type == "OR" and dialect == "alchemy":
            if not (text[start - 1].isspace() and text[end : end + 1].isspace()):
                yield start, "put blanks around v; other readers need them"
        elif token.type == "QUANTIFIER" and dialect == "pracmln" and token.upper() == "FORALL":
            yield start, "FORALL is Alchemy's; see dialect alchemy"
    for tree in sentence.tree.find_data("and"):
        for between in tree.children[1::2]:
            if isinstance(between, Token) and between.type == "COMMA" and dialect != "tuffy":
                yield between.start_pos or 0, "commas between atoms are Tuffy's; see dialect tuffy"
