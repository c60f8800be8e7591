"""Where to jump: permutations of points and their values, pure mathematics without models."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "ExchangeBlocks": "groups._exchange_blocks",
        "Permutation": "groups.permutations",
        "PermutationGroup": "groups.permutation_groups",
        "exchange_blocks": "groups._exchange_blocks",
        "permutation_group": "groups.permutation_groups",
        "read_cycles": "groups.cycles",
    },
)
