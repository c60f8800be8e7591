"""Many tables are looked at together, and nothing changes but the time."""

import numpy as np
import pytest

from orbitmc.formats import assembly
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model


def random_model(rng):
    """Factors that share tables, some over children of different sizes; a third is no row of 1s."""
    sizes = rng.choice([1, 2, 3, 4, 6], 12)
    builder = Builder(sizes)
    known = {}
    for _ in range(30):
        scope = rng.permutation(12)[: rng.integers(0, 4)]
        entries = int(np.prod(sizes[scope]))
        if entries not in known or rng.random() < 0.5:
            rows = rng.dirichlet(np.ones(sizes[scope[-1]] if len(scope) else 1), entries).reshape(
                -1
            )
            known[entries] = builder.add_table(np.log(rows[:entries] * rng.choice([1, 1, 1.01])))
        builder.add_factors([scope.tolist()], known[entries])
    graph = builder.build()
    names = tuple(f"v{k}" for k in range(12))
    return Model(graph, names, tuple(tuple(f"s{k}" for k in range(size)) for size in sizes))


@pytest.mark.parametrize("at_once", [1, 7, 2**16])
def test_wrong_rows_are_those_of_each_factor(monkeypatch, at_once):
    monkeypatch.setattr(assembly, "ENTRIES_AT_ONCE", at_once)
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(50):
        model = random_model(rng)
        graph = model.graph
        expected = [
            factor
            for factor in range(graph.factors)
            if graph.scope_of(factor).size
            and (np.abs(np.exp(graph.table_values(factor)).sum(axis=-1) - 1) > 2e-3).any()
        ]
        assert assembly._wrong_factors(graph).tolist() == expected
        wrong += len(expected)
    assert 100 < wrong < 1400


@pytest.mark.parametrize("at_once", [1, 7, 2**16])
def test_tables_that_are_normalised_together_are_those_of_each(monkeypatch, at_once):
    monkeypatch.setattr(assembly, "ENTRIES_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    for _ in range(50):
        tables = [
            np.round(rng.dirichlet(np.ones(size), rng.integers(1, 5)), int(rng.integers(1, 9)))
            for size in rng.integers(1, 5, 20)
        ]
        logs = assembly.log_conditionals(tables)
        for table, log_table in zip(tables, logs, strict=True):
            with np.errstate(divide="ignore"):
                alone = np.log(assembly.normalise_rounded_rows(table))
            np.testing.assert_array_equal(log_table, alone)
