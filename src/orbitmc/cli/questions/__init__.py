"""Verbs that ask something else than marginals."""
