"""The conformance snippets are read as they are meant; their probabilities are tested elsewhere."""

import pytest

from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.mln.shown import shown
from tests.mln.snippets import SNIPPETS


@pytest.mark.parametrize("name", SNIPPETS)
def test_formulas_and_evidence(name):
    snippet = SNIPPETS[name]
    program = parse(snippet.program)
    assert tuple(shown(rule.formula) for rule in program.rules) == snippet.formulas
    assert program.warnings == ()
    database = parse_database(snippet.evidence, program)
    listed = sum(len(facts.truth) for facts in database.facts.values())
    assert listed == len(snippet.evidence.splitlines())


@pytest.mark.parametrize("name", SNIPPETS)
def test_atoms_with_a_known_probability_exist(name):
    snippet = SNIPPETS[name]
    program = parse(snippet.program)
    queries = parse_database("\n".join(snippet.marginals), program)
    for predicate, facts in queries.facts.items():
        for kind, column in zip(program.predicates[predicate].types, facts.columns, strict=True):
            assert set(column) <= set(program.constants[kind])


def test_contradictions_are_read_and_left_to_others():
    program = parse("p={A}\nX(p)\nX(x).\n!X(x).\n")
    assert [shown(rule.formula) for rule in program.rules] == ["X(x)", "!X(x)"]
