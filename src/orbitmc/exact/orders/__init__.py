"""Elimination orders whose tables are small."""
