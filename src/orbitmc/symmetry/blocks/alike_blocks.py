"""Blocks of variables whose marginals are nearly the same, as far as these are known.

The blocks of the paper look at degrees and fields, and not at what neighbours do. Variables that
take their values about equally often exchange them more easily. Where the marginals come from does
not matter for exactness: blocks only propose, and the model accepts.
"""

from collections.abc import Iterator

import numpy as np

from orbitmc._util.arrays import Floats, Indices, Numbers, indices, starts
from orbitmc.errors import InputError
from orbitmc.groups._exchange_blocks import ExchangeBlocks, blocks_from_arrays

MEMBERS = 30  # of a block: on WebKB about seven shuffles in ten are accepted
LEAST = 1e-6  # probability: less makes no difference to what is exchanged
DIGITS = 6  # of log-odds: the last bits of a sum may differ between machines


def alike_blocks(
    cardinality: Indices, probability: Floats, *, members: int = MEMBERS
) -> ExchangeBlocks:
    """Cut variables with equally many values into blocks that have nearly equal marginals.

    `probability` has a number for each value, variable after variable. Binary variables are sorted
    by their log-odds and cut into blocks of at most so many `members`. Others are halved by the
    value that tells them apart most, until a half is a block.

    >>> marginals = np.array([0.1, 0.9, 0.5, 0.5, 0.2, 0.8, 0.6, 0.4])
    >>> alike_blocks(indices([2] * 4), marginals, members=2).member.tolist()
    [3, 1, 2, 0]
    """
    if members < 2:
        raise InputError(f"a block has at least two members, not {members}")
    first = starts(cardinality)[:-1].astype(np.int64)
    found: list[Numbers] = []
    for size in np.unique(cardinality[cardinality > 1]).tolist():
        own = np.flatnonzero(cardinality == size)
        chances = probability[first[own][:, None] + np.arange(size)]
        found += (own[part] for part in _parts(_log_odds(chances), members) if len(part) > 1)
    sizes = np.array([len(part) for part in found], dtype=np.int64)
    member = np.concatenate([np.zeros(0, np.int64), *found])
    return blocks_from_arrays(starts(sizes), indices(np.ones(len(sizes))), indices(member))


def _log_odds(chances: Floats) -> Floats:
    """Log-probabilities of all values but the first, each beside the mean of all values."""
    logs = np.log(np.maximum(chances, LEAST))
    return np.asarray(np.round(logs - logs.mean(axis=1, keepdims=True), DIGITS)[:, 1:])


def _parts(traits: Floats, members: int) -> Iterator[Numbers]:
    """Halve rows by the column that varies most, as long as a part is larger than a block.

    Halves are as large as the numbers of blocks that they will become.
    """
    waiting = [np.arange(len(traits))]
    while waiting:
        part = waiting.pop()
        widest = int(np.argmax(traits[part].var(axis=0)))
        part = part[np.argsort(traits[part, widest], kind="stable")]
        blocks = -(-len(part) // members)
        cut = len(part) * (blocks // 2) // blocks
        if cut:
            waiting += [part[cut:], part[:cut]]
        else:
            yield part
