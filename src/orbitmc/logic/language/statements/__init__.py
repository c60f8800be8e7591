"""Statements that only some dialects have, and the numbers that weights are."""
