import itertools
import time

import numpy as np
import pytest

from orbitmc._util.arrays import float_classes
from orbitmc.graph.builder import Builder
from orbitmc.symmetry._automorphisms import automorphisms
from orbitmc.symmetry.terms import anova_term, energy_form, terms_of
from tests.oracle.random_models import random_graph


def test_numbers_that_straddle_a_rounding_boundary_are_one_class():
    close = np.array([0.1 + 0.2, 0.3, 0.5e-9 - 1e-16, 0.5e-9 + 1e-16, 1.0])
    assert np.round(close[2], 9) != np.round(close[3], 9)
    classes = float_classes(close)
    assert classes[0] == classes[1]
    assert classes[2] == classes[3]
    assert len(set(classes.tolist())) == 3


def test_numbers_that_differ_are_different_classes():
    assert float_classes([1.0, 1.0 + 1e-8, -np.inf, 1e6, 1e6 + 1e-5]).tolist() == [1, 2, 0, 3, 3]


@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2, 2), (2, 2, 2, 2)])
def test_anova_terms_add_up_to_the_table_and_average_out(shape):
    table = np.random.default_rng(0).normal(size=(1, *shape))
    total = np.full(shape, table.mean())
    for size in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), size):
            term = anova_term(table, axes)[0]
            for axis in range(term.ndim):
                assert np.allclose(term.mean(axis=axis), 0)
            total += term.reshape([shape[k] if k in axes else 1 for k in range(len(shape))])
    assert np.allclose(total, table[0])


@pytest.mark.parametrize("seed", range(20))
def test_every_set_of_variables_has_one_term(seed):
    form = energy_form(random_graph(seed, zeros=0.2 if seed % 2 else 0.0))
    for terms in form.terms:
        rows = {tuple(sorted(row)) for row in terms.scopes.tolist()}
        assert len(rows) == len(terms.scopes)
        assert (form.cardinality[terms.scopes] == np.array(terms.shape)).all()


def test_long_clauses_are_not_expanded():
    builder = Builder(np.full(200, 2))
    builder.add_clauses([np.arange(200)], [np.ones(200, dtype=int)], builder.add_table([0.0, 1.0]))
    builder.add_clauses([np.arange(200)], [np.ones(200, dtype=int)], builder.add_table([0.0, 0.5]))
    form = energy_form(builder.build())
    assert form.terms == ()
    assert [clauses.scopes.shape for clauses in form.clauses] == [(1, 200)]


def test_wide_tables_that_differ_by_a_constant_are_equal():
    table = np.random.default_rng(0).normal(size=(2,) * 7)
    builder = Builder(np.full(14, 2))
    builder.add_factor(range(7), table)
    builder.add_factor(range(7, 14), table + 5.0)
    assert automorphisms(builder.build()).order == 2  # the halves trade places


def test_shapes_of_many_kinds_are_told_apart_in_linear_time():
    """Variables of 1 to 150 values in pairs: each pair has a shape of its own."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 151, 6_000)
    builder = Builder(sizes)
    for first in range(0, 6_000, 2):
        table = rng.normal(size=sizes[first] * sizes[first + 1])
        builder.add_factor([first, first + 1], table)
    begun = time.process_time()
    shapes = [terms.shape for terms in terms_of(builder.build(), most_split=1)]
    assert time.process_time() - begun < 60.0
    pairs = {tuple(sorted(pair)) for pair in sizes.reshape(-1, 2).tolist()}
    assert set(shapes) == {pair for pair in pairs if pair != (1, 1)}
