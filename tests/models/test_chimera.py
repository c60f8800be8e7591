import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.models._chimera import chimera, chimera_edges, random_chimera, read_chimera
from tests.oracle.enumeration import log_weights_of_all
from tests.shared_data import shared


def test_the_edges_are_those_of_the_published_instances():
    rows = np.loadtxt(shared("chimera/droplets-128-001.txt"))
    published = {frozenset(row) for row in rows[:, :2].astype(int).tolist() if row[0] != row[1]}
    ours = {frozenset(edge) for edge in (chimera_edges(4, 4) + 1).tolist()}
    assert ours == published


def test_the_published_ground_state_has_the_published_energy():
    words = shared("chimera/droplets-128-groundstates.txt").read_text().split(":")[1].split()
    energy, values = float(words[0]), np.array(words[1:], dtype=int)
    graph = read_chimera(shared("chimera/droplets-128-001.txt"), beta=1.0).graph
    log_weight = sum(
        graph.table_values(f)[tuple(values[graph.scope_of(f)])] for f in range(graph.factors)
    )
    assert log_weight == pytest.approx(-energy, abs=1e-6)


def test_degrees_inside_and_at_the_border():
    degrees = np.bincount(chimera_edges(3, 3).reshape(-1)).reshape(3, 3, 2, 4)
    assert (degrees[1, 1] == 6).all()
    assert (degrees[0, :, 0] == 5).all()
    assert (degrees[:, 0, 1] == 5).all()


def test_a_weight_is_the_exponential_of_minus_beta_energy(tmp_path):
    path = tmp_path / "pair.txt"
    path.write_text("# two spins\n1 1 0.5\n1 2 -2.0\n")
    log_weights = log_weights_of_all(read_chimera(path, beta=0.25).graph)
    energies = [-0.5 - 2, -0.5 + 2, 0.5 + 2, 0.5 - 2]  # dd, du, ud, uu
    np.testing.assert_allclose(log_weights, -0.25 * np.array(energies))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 x\n", ":1: expected two spins"),
        ("1 2 1.0\n0 1 1.0\n", ":2: expected two spins"),
        ("1 2\n", ":1: expected two spins"),
        ("# nothing\n", "found none"),
        ("1 1000000000000 1.0\n", "too high for 1 lines"),
        ("1 2 nan\n", "not a number"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_chimera(path, beta=1.0)


def test_a_random_instance_has_equal_strengths_and_two_signs():
    graph = random_chimera(3, 3, beta=0.5, seed=1).graph
    assert {float(graph.table_values(f)[0, 0]) for f in range(graph.factors)} == {-0.5, 0.5}
    assert len(graph.table_start) - 1 == 2
    assert graph.factors == len(chimera_edges(3, 3))


def test_the_same_seed_gives_the_same_instance():
    first, again, other = (random_chimera(2, 2, beta=1.0, field=0.5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.graph.table, again.graph.table)
    assert first.graph.table.tolist() != other.graph.table.tolist()


def test_one_coupling_for_all_is_one_table():
    graph = chimera(2, 2, 0.3).graph
    assert (graph.table_of == 0).all()
    assert graph.table.tolist() == [0.3, -0.3, -0.3, 0.3]


def test_a_missing_file_of_couplings_is_no_traceback(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_chimera(tmp_path / "nix.txt", beta=1.0)
