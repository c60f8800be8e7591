"""Formulas and their terms, every name looked up."""
