"""A graph exists only when it is valid; what is refused is named."""

import time

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from tests.oracle import brute_force


def test_factors_keep_their_order_and_share_tables():
    builder = Builder([2, 3, 2])
    builder.add_factor([2, 1], np.arange(6.0).reshape(2, 3))
    number = builder.add_table(np.arange(4.0))
    builder.add_factors([[0, 2], [2, 0]], number)
    builder.add_clause([0, 1], [1, 2], 1.5)
    graph = builder.build()
    assert graph.factors == 4
    assert graph.scope_of(0).tolist() == [2, 1]
    assert graph.table_of[1] == graph.table_of[2]
    assert graph.first_clause == 3
    incident = graph.incident[graph.incident_start[2] : graph.incident_start[3]]
    assert incident.tolist() == [0, 1, 2]


def test_tables_run_last_variable_fastest():
    builder = Builder([2, 3])
    builder.add_factor([0, 1], [[0, 1, 2], [3, 4, 5]])
    graph = builder.build()
    assert graph.stride.tolist() == [3, 1]
    assert brute_force.log_weight(graph, (1, 2)) == 5


def test_a_clause_expands_to_its_table():
    builder = Builder([2, 3])
    builder.add_clause([0, 1], [1, 2], 1.5)
    graph = builder.build()
    expected = [[0, 0, 1.5], [1.5, 1.5, 1.5]]
    assert graph.full_table(0).tolist() == expected


def test_a_hard_clause_forbids():
    builder = Builder([2, 2])
    builder.add_clause([0, 1], [1, 1], np.inf)
    graph = builder.build()
    assert graph.has_zeros()
    assert brute_force.log_weight(graph, (0, 0)) == -np.inf
    assert brute_force.log_weight(graph, (1, 0)) == 0


def test_zeros_in_unused_tables_do_not_count():
    builder = Builder([2])
    builder.add_table([-np.inf, 0.0])
    builder.add_factor([0], [0.0, 1.0])
    assert not builder.build().has_zeros()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda b: b.add_factor([0, 5], np.zeros(4)), r"factor 0 reads \[0, 5\].*0 to 2"),
        (lambda b: b.add_factor([0, 0], np.zeros(4)), "factor 0 reads a variable twice"),
        (lambda b: b.add_factor([0, 1], np.zeros(4)), r"factor 0 over \[0, 1\] needs 6"),
        (lambda b: b.add_factor([0, 1], np.zeros((3, 2))), r"shape \(2, 3\), got \(3, 2\)"),
        (lambda b: b.add_factor([0], [np.nan, 0]), "not a number"),
        (lambda b: b.add_factor([0], [np.inf, 0]), "plus infinity"),
        (lambda b: b.add_clause([0], [2], 1.0), "wants value 2 of variable 0"),
        (lambda b: b.add_clause([0, 1], [1], 1.0), "satisfying value for each"),
        (lambda b: b.add_clauses([[0]], [[1]], b.add_table([0, 1, 2])), "two entries"),
    ],
)
def test_what_is_wrong_is_named(act, message):
    with pytest.raises(InputError, match=message):
        act(Builder([2, 3, 2]))


@pytest.mark.parametrize("sizes", [[0], [2, -1], [2**40]])
def test_impossible_cardinalities_are_refused(sizes):
    with pytest.raises(InputError, match=f"variable {len(sizes) - 1} has"):
        Builder(sizes)


def test_compiled_code_cannot_write_to_a_graph():
    builder = Builder([2])
    builder.add_factor([0], [0.0, 1.0])
    graph = builder.build()
    arrays = [field for field in graph if isinstance(field, np.ndarray)]
    assert not any(array.flags.writeable for array in arrays)


def test_factors_are_added_in_time_that_does_not_grow():
    """Where each addition looks at all sizes so far, this takes a minute."""
    builder = Builder([2] * 2)
    begun = time.process_time()
    for _ in range(60_000):
        builder.add_factor([0, 1], [0.0, 1.0, 1.0, 0.0])
    assert builder.build().factors == 60_000
    assert time.process_time() - begun < 20.0
