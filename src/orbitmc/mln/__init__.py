"""Markov logic: programs and databases in text, grounded into models."""
