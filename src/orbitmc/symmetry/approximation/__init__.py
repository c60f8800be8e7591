"""Models with more symmetry than the one they approximate, over the same variables.

An approximation only says where to jump: whether a jump is accepted is decided by the true model,
so no approximation can bias an answer.
"""
