"""Ising models on the Chimera graph, the wiring of the first quantum annealers.

Spins are numbered cell by cell, cells row by row. A cell has two shores: every spin of the first
is coupled to every spin of the second, and to its like in the cell below; the second shore is
coupled to the right.
"""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.text import unreadable
from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.models._ising import broadcast_number, ising

MOST_SPINS_PER_LINE = 8
"""A file that names one spin per cell is sparse; one that names fewer has a wrong number in it."""


def chimera(
    rows: int,
    columns: int,
    couplings: ArrayLike,
    fields: ArrayLike = 0.0,
    *,
    shore: int = 4,
) -> Model:
    """Build an Ising model on a Chimera graph; spins are called s1, s2, … as annealers count.

    `couplings` is one number or one per edge of `chimera_edges`, `fields` one number or one per
    spin; the log-weight is their sum with spins -1, +1, so a ferromagnet has positive couplings.

    >>> chimera(4, 4, 0.5).graph.variables
    128
    """
    edges = chimera_edges(rows, columns, shore=shore)
    spins = rows * columns * 2 * shore
    return ising(
        broadcast_number(fields, (spins,), "fields"), edges, couplings, names=_names(spins)
    )


def random_chimera(
    rows: int, columns: int, *, beta: float, field: float = 0.0, shore: int = 4, seed: int
) -> Model:
    """Build a random instance: couplings `±beta`, fields uniform within `beta * field`.

    Without fields every marginal is 1/2, because turning all spins changes nothing.

    >>> len(random_chimera(2, 2, beta=0.5, field=0.1, seed=1).names)
    32
    """
    rng = np.random.default_rng(seed)
    edges = len(chimera_edges(rows, columns, shore=shore))
    couplings = beta * rng.choice([-1.0, 1.0], size=edges)
    fields = beta * rng.uniform(-field, field, size=rows * columns * 2 * shore)
    return chimera(rows, columns, couplings, fields, shore=shore)


def read_chimera(path: Path | str, *, beta: float) -> Model:
    r"""Read lines `i j energy` (spins from 1; `i i energy` is a field) at an inverse temperature.

    These files hold energies, and the weight is `exp(-beta * energy)`: signs are turned here.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("1 1 0.5\n1 2 -1\n")
    >>> read_chimera(path, beta=1.0).names
    ('s1', 's2')
    """
    first, second, energies = _read_energies(Path(path))
    is_field = first == second
    fields = np.zeros(max(first.max(), second.max(), 0))
    np.add.at(fields, first[is_field] - 1, -beta * energies[is_field])
    edges = np.stack([first, second], axis=1)[~is_field] - 1
    return ising(fields, edges, -beta * energies[~is_field], names=_names(len(fields)))


def chimera_edges(rows: int, columns: int, *, shore: int = 4) -> NDArray[np.int64]:
    """Pairs of coupled spins: inside the cells, then to the cells below, then to the right.

    >>> len(chimera_edges(1, 2)), len(chimera_edges(2, 2, shore=1))
    (36, 8)
    """
    if min(rows, columns, shore) < 1:
        raise InputError(f"a Chimera graph needs cells, got {rows} by {columns}, shore {shore}")
    spins = np.arange(rows * columns * 2 * shore).reshape(rows, columns, 2, shore)
    inside = np.broadcast_arrays(spins[:, :, 0, :, None], spins[:, :, 1, None, :])
    below = (spins[:-1, :, 0], spins[1:, :, 0])
    right = (spins[:, :-1, 1], spins[:, 1:, 1])
    return np.concatenate(
        [np.stack([a.reshape(-1), b.reshape(-1)], axis=1) for a, b in (inside, below, right)]
    )


def _names(spins: int) -> tuple[str, ...]:
    return tuple(f"s{spin + 1}" for spin in range(spins))


def _read_energies(
    path: Path,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    first, second, energies = [], [], []
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise unreadable(path, error) from None
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            i, j, energy = int(words[0]), int(words[1]), float(words[2])
        except (ValueError, IndexError):
            i = j = 0
        if len(words) != 3 or min(i, j) < 1:
            raise InputError(
                f"expected two spins (from 1) and an energy, found {line.strip()!r}",
                source=str(path),
                line=number,
            )
        first.append(i)
        second.append(j)
        energies.append(energy)
    if not first:
        raise InputError("expected lines 'i j energy', found none", source=str(path))
    if max(first + second) > MOST_SPINS_PER_LINE * len(first):
        raise InputError(
            f"spin {max(first + second)} is too high for {len(first)} lines", source=str(path)
        )
    return np.array(first), np.array(second), np.array(energies)
