"""Where to jump: permutations of points and their values, pure mathematics without models."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "ExchangeBlocks": "groups.block_groups",
        "Permutation": "groups.permutation",
        "PermutationGroup": "groups.permutation_groups",
        "exchange_blocks": "groups.block_groups",
        "permutation_group": "groups.permutation_groups",
        "read_cycles": "groups.cycles",
    },
)
