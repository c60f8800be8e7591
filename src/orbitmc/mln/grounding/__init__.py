"""Formulas become features of variables."""
