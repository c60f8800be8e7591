"""Which states are possible: pruning, search, WalkSAT, a SAT solver."""
