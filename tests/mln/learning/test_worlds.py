"""Training worlds: what is data, what is evidence, and which data make no sense."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, InputError
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.worlds import predicates_to_explain
from tests.mln.learning.programs import FIRST_PAGES, PAGES, SECOND_PAGES, worlds_of


def test_atoms_of_other_predicates_are_evidence_and_unlisted_atoms_are_false():
    (world,) = worlds_of(PAGES, [FIRST_PAGES], {"Topic"})
    assert world.ground.cardinality.tolist() == [3, 3, 3]
    assert world.values.tolist() == [0, 1, 2]
    (everything,) = worlds_of(PAGES, [FIRST_PAGES])
    assert len(everything.values) == 3 + 2 * 3 + 3 * 3
    assert everything.values[3:].sum() == 3 + 2  # words on pages, links


def test_weights_have_the_same_numbers_in_all_worlds():
    first, second = worlds_of(PAGES, [FIRST_PAGES, SECOND_PAGES], {"Topic"})
    for kind in ("word", "class"):
        assert first.ground.universe.constants[kind] == second.ground.universe.constants[kind]
    assert first.ground.universe.constants["page"] == ("P1", "P2", "P3")
    assert (first.ground.first_weight == second.ground.first_weight).all()
    assert np.diff(first.ground.first_weight).tolist() == [9, 9, 1, 1]


def test_given_predicates_are_not_explained():
    program = parse("P(t)\nQ(t)\nR(t)\nt f(t)\nP(x) v Q(f(x))\n", learning=True)
    assert predicates_to_explain(program) == {"P", "Q"}


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("Topic(P1,B)\n", r"Topic\(P1,_\) must be true, but the database has 2"),
        ("Linkto(P1,P4)\n", r"Topic\(P4,_\) must be true, but the database has none"),
    ],
)
def test_a_block_without_exactly_one_value_is_refused(more, complaint):
    with pytest.raises(ContradictionError, match=complaint):
        worlds_of(PAGES, [FIRST_PAGES + more], {"Topic"})


def test_a_given_block_without_a_value_is_refused():
    with pytest.raises(ContradictionError, match=r"no atom true in the block Topic\(P4,_\)"):
        worlds_of(PAGES, [FIRST_PAGES + "Linkto(P1,P4)\n"], {"Linkto"})


def test_uncertain_data_and_unknown_names_are_refused():
    with pytest.raises(
        InputError, match="atoms of Linkto unknown, which is given and not explained"
    ):
        worlds_of(PAGES, [FIRST_PAGES + "?Linkto(P3,P1)\n"], {"Topic"})
    with pytest.raises(InputError, match="atoms of Linkto uncertain"):
        worlds_of(PAGES, [FIRST_PAGES + "0.7 Linkto(P3,P1)\n"], {"Topic"})
    with pytest.raises(InputError, match="did you mean 'Topic'"):
        worlds_of(PAGES, [FIRST_PAGES], {"Topics"})
    with pytest.raises(InputError, match="needs a database"):
        worlds_of(PAGES, [], {"Topic"})


def test_a_block_of_a_single_atom_leaves_nothing_to_explain():
    (world,) = worlds_of(PAGES, ["Topic(P1,A)\nHas(Foo,P2)\nTopic(P2,A)\n"], {"Topic"})
    assert len(world.values) == 0
