from orbitmc.groups._exchange_blocks import ExchangeBlocks as ExchangeBlocks
from orbitmc.groups._exchange_blocks import exchange_blocks as exchange_blocks
from orbitmc.groups.cycles import read_cycles as read_cycles
from orbitmc.groups.permutation_groups import PermutationGroup as PermutationGroup
from orbitmc.groups.permutation_groups import permutation_group as permutation_group
from orbitmc.groups.permutations import Permutation as Permutation
