"""Jumps of many variables at once, accepted by the true model."""
