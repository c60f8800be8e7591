"""Answers to other questions than marginals."""
