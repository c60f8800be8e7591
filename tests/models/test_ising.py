import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.models._ising import grid_edges, ising, ising_grid
from tests.oracle.enumeration import log_weights_of_all


def spins_of_all(count):
    """Every state of `count` spins as -1, +1, last spin fastest."""
    return 2 * ((np.arange(2**count)[:, None] >> np.arange(count)[::-1]) & 1) - 1


def test_the_log_weight_is_the_sum_of_fields_and_couplings():
    rng = np.random.default_rng(1)
    fields, couplings = rng.normal(size=5), rng.normal(size=6)
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 3]])
    spins = spins_of_all(5)
    expected = spins @ fields + (spins[:, edges[:, 0]] * spins[:, edges[:, 1]]) @ couplings
    found = log_weights_of_all(ising(fields, edges, couplings).graph)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_value_one_is_up_and_a_positive_field_prefers_it():
    model = ising([0.7], np.zeros((0, 2)), [])
    assert model.values[0] == ("down", "up")
    np.testing.assert_allclose(log_weights_of_all(model.graph), [-0.7, 0.7])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (2, 3), (3, 3)])
def test_grid_neighbours_differ_by_one_step(rows, columns):
    edges = grid_edges(rows, columns)
    steps = [divmod(int(b), columns)[0] - divmod(int(a), columns)[0] for a, b in edges]
    sides = [int(b) % columns - int(a) % columns for a, b in edges]
    assert all({abs(r), abs(c)} == {0, 1} for r, c in zip(steps, sides, strict=True))
    assert len({frozenset(edge) for edge in edges.tolist()}) == len(edges)
    assert len(edges) == rows * (columns - 1) + columns * (rows - 1)


def test_every_site_of_a_periodic_grid_has_four_neighbours():
    degrees = np.bincount(grid_edges(3, 5, periodic=True).reshape(-1))
    assert (degrees == 4).all()


def test_a_periodic_side_of_two_is_not_closed_twice():
    edges = grid_edges(2, 2, periodic=True)
    assert len({frozenset(edge) for edge in edges.tolist()}) == len(edges) == 4


def test_equal_couplings_share_a_table_and_zero_ones_cost_nothing():
    graph = ising_grid(10, 10, 0.4).graph
    assert len(graph.table_start) - 1 == 1
    assert graph.factors == 180
    assert ising_grid(10, 10, 0.0).graph.factors == 0


def test_grid_couplings_follow_the_order_of_the_edges():
    couplings = np.arange(1.0, 8.0)
    graph = ising_grid(2, 3, couplings).graph
    for factor, edge in enumerate(grid_edges(2, 3)):
        assert graph.scope_of(factor).tolist() == edge.tolist()
        assert graph.table_values(factor)[1, 1] == couplings[factor]


def test_the_flow_of_fields_over_the_grid_is_row_by_row():
    fields = np.arange(6.0).reshape(2, 3) + 1
    model = ising_grid(2, 3, 0.0, fields)
    by_name = {
        model.names[model.graph.scope_of(f)[0]]: model.graph.table_values(f)[1] for f in range(6)
    }
    assert by_name["s1_0"] == 4.0
    assert by_name["s0_2"] == 3.0


def test_wrong_shapes_and_numbers_are_named():
    with pytest.raises(InputError, match=r"fields need the shape \(2, 3\)"):
        ising_grid(2, 3, 0.1, np.zeros((3, 2)))
    with pytest.raises(InputError, match="couplings need the shape"):
        ising_grid(2, 3, np.zeros(6))
    with pytest.raises(InputError, match="not a number"):
        ising_grid(2, 3, np.nan)
    with pytest.raises(InputError, match="not a number or plus infinity"):
        ising_grid(2, 3, np.inf)
    with pytest.raises(InputError, match="rows and columns"):
        ising_grid(0, 3, 1.0)


def test_a_million_spins_share_their_tables():
    graph = ising_grid(1000, 1000, 0.4, periodic=True).graph
    assert graph.variables == 1_000_000
    assert graph.factors == 2_000_000
    assert len(graph.table) == 4


COUPLINGS = np.array([[0.0, 0.4, -0.7], [0.4, 0.0, 0.2], [-0.7, 0.2, 0.0]])
FIELDS = np.array([0.3, -0.1, 0.5])


def by_formula(couplings, fields, beta):
    """P of each state from exp(beta (sum h s + sum over pairs J s s')), state by state."""
    weights = np.zeros((2, 2, 2))
    for state in np.ndindex(2, 2, 2):
        spins = 2 * np.array(state) - 1
        pairs = sum(couplings[i, j] * spins[i] * spins[j] for i in range(3) for j in range(i))
        weights[state] = np.exp(beta * (fields @ spins + pairs))
    return weights / weights.sum()


@pytest.mark.parametrize(
    "given",
    [
        lambda: {"J": COUPLINGS, "h": FIELDS},
        lambda: {"J": np.triu(COUPLINGS), "h": FIELDS},
        lambda: {"J": np.tril(COUPLINGS).tolist(), "h": FIELDS.tolist()},
        lambda: {"J": csr_array(COUPLINGS), "h": FIELDS},
        lambda: {"J": coo_array(np.triu(COUPLINGS)), "h": FIELDS},
        lambda: {
            "J": {(0, 1): 0.4, (2, 0): -0.7, (1, 2): 0.2},
            "h": dict(enumerate(FIELDS.tolist())),
        },
        lambda: {
            "fields": FIELDS,
            "edges": [(0, 1), (0, 2), (1, 2)],
            "couplings": [0.4, -0.7, 0.2],
        },
    ],
)
def test_couplings_come_as_matrices_mappings_and_lists(given):
    model = om.ising(**given(), beta=0.6)
    names = sorted(model.names)
    found = om.joint(model, names, method="exact").probability
    np.testing.assert_allclose(found, by_formula(COUPLINGS, FIELDS, 0.6), atol=1e-12)


def test_names_of_mappings_are_the_labels_in_their_order():
    model = om.ising(J={("z", "a"): 1.0}, h={"m": 0.5, "a": -0.5})
    assert model.names == ("z", "a", "m")
    assert om.ising(h=[0.1, 0.2]).names == ("s0", "s1")
    assert om.ising(J=COUPLINGS, names="xyz").names == ("x", "y", "z")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs fields, edges and couplings, or J and h"),
        ({"J": np.eye(2)}, "couples spin 0 to itself"),
        ({"J": np.ones((2, 3))}, "square matrix, not of the shape"),
        ({"J": np.ones(4)}, "square matrix"),
        ({"J": [[0, np.nan], [0, 0]]}, "not a finite number"),
        ({"J": csr_array([[0, np.inf], [0, 0]])}, "not a finite number"),
        ({"J": "strong"}, "J is an array of numbers"),
        ({"J": COUPLINGS, "h": [1.0]}, "h needs 3 numbers or one"),
        ({"J": {("a", "b"): 1, ("b", "a"): 1}}, "in both orders"),
        ({"J": {("a", "a"): 1}}, "coupled to itself"),
        ({"J": {"ab": 1}}, "pairs of spins"),
        ({"J": {("a", "b"): "x"}}, "finite number, not 'x'"),
        ({"J": {("a", "b"): 1}, "h": [1.0]}, "both arrays or both mappings"),
        ({"J": COUPLINGS, "fields": FIELDS}, "give either"),
        ({"J": COUPLINGS, "beta": -1}, "beta is a number, 0 or above"),
    ],
)
def test_couplings_without_a_meaning_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        om.ising(**given)


@pytest.mark.parametrize("how_far", [1e-12, -1e-10])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_matrix_that_is_symmetric_up_to_rounding_is_symmetric(how_far, kind):
    nearly = COUPLINGS.copy()
    nearly[1, 0] *= 1 + how_far
    found = float(om.log_z(om.ising(J=kind(nearly), h=FIELDS)))
    assert abs(found - float(om.log_z(om.ising(J=COUPLINGS, h=FIELDS)))) < 1e-9


def test_a_matrix_in_single_precision_is_symmetric_up_to_its_rounding():
    parts = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    product = (parts @ parts.T).astype(np.float32)
    np.fill_diagonal(product, 0)
    nearly = product.copy()
    nearly[0, 1] = np.nextafter(nearly[0, 1], np.float32(9))
    found = float(om.log_z(om.ising(J=nearly)))
    assert abs(found - float(om.log_z(om.ising(J=product)))) < 1e-5


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_matrix_that_may_mean_either_is_refused(kind):
    unlike = COUPLINGS.copy()
    unlike[1, 0] = 0.5
    said = r"pair 0, 1 in both orders .* J\[0, 1\] is 0\.4, J\[1, 0\] is 0\.5.* upper triangle"
    with pytest.raises(InputError, match=said):
        om.ising(J=kind(unlike))
    half = np.triu(COUPLINGS)
    half[2, 0] = half[0, 2]  # one pair twice, the others once
    with pytest.raises(InputError, match="pair 0, 2 in both orders"):
        om.ising(J=kind(half))


def test_each_pair_once_may_stand_in_either_triangle():
    mixed = np.triu(COUPLINGS)
    mixed[2, 0], mixed[0, 2] = mixed[0, 2], 1e-17
    found = om.joint(om.ising(J=mixed, h=FIELDS), ["s0", "s1", "s2"]).probability
    np.testing.assert_allclose(found, by_formula(COUPLINGS, FIELDS, 1.0), atol=1e-12)


def test_an_edge_in_both_orders_is_refused():
    with pytest.raises(InputError, match=r"edge \(0, 2\) is there in both orders"):
        om.ising(FIELDS, np.argwhere([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), 0.5)
