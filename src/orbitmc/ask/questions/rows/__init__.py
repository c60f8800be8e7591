"""Rows of evidence: how they are read, and how they are answered together."""
