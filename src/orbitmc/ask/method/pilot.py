"""Blocks of Lifted Metropolis-Hastings from a short run of Gibbs."""

from orbitmc._util.arrays import Floats
from orbitmc.ask.method.lifting import GIBBS, by_shuffles
from orbitmc.ask.method.methods import PlannedKernel
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.estimate.statistics import values_of
from orbitmc.groups._exchange_blocks import ExchangeBlocks
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels._mixture import PAPER_WEIGHT
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import advance, start_pack
from orbitmc.sampling.schedule import LANES
from orbitmc.symmetry.blocks import MEMBERS, alike_blocks

SETTLING, SWEEPS = 8, 32  # that are thrown away, and that are looked at
SEED = 0  # always: the same model gives the same blocks, so a run can be resumed


def by_pilot(
    prepared: PreparedGraph,
    *,
    alpha: float = PAPER_WEIGHT,
    members: int = MEMBERS,
    base: Kernel = GIBBS,
) -> PlannedKernel:
    """Lifted Metropolis-Hastings: shuffle blocks of variables that a pilot run finds alike.

    The pilot run only proposes; acceptance is by the model itself.

    >>> import orbitmc as om
    >>> model = om.ising([0.1, 0.2, 0.3, 0.4], [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> by_pilot(om.kernels.prepare(model.graph)).about
    '1 blocks of 4 variables in all are shuffled in 20% of the steps'
    """
    exchanged = pilot_blocks(prepared, members=members)
    return by_shuffles(prepared, exchanged, alpha=alpha, base=base)


def pilot_blocks(prepared: PreparedGraph, *, members: int = MEMBERS) -> ExchangeBlocks:
    """Blocks of variables whose marginals a pilot run finds nearly equal.

    >>> import orbitmc as om
    >>> model = om.ising([-2.0, 2.0, -2.0, 2.0], [(0, 1), (2, 3)], 0.1)
    >>> found = pilot_blocks(om.kernels.prepare(model.graph), members=2)
    >>> sorted(found.rows(0).ravel().tolist()), sorted(found.rows(1).ravel().tolist())
    ([0, 2], [1, 3])
    """
    return alike_blocks(prepared.graph.cardinality, pilot_marginals(prepared), members=members)


def pilot_marginals(prepared: PreparedGraph) -> Floats:
    """About how probable each value is, from a few sweeps of the chains of one pack."""
    kernel, variables = SystematicScan(), prepared.graph.variables
    pack = start_pack(prepared, kernel, seed=SEED, number=0, lanes=LANES)
    advance(prepared, kernel, pack, recorded=0, samples=SETTLING, spacing=variables)
    pack.tally.sums[:] = 0.0
    advance(prepared, kernel, pack, recorded=0, samples=SWEEPS, spacing=variables)
    rows = pack.tally.sums.sum(axis=(0, 2)) / (SWEEPS * LANES)
    return values_of(prepared.graph.cardinality).probabilities(rows)
