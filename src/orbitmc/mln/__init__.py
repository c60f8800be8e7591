"""Markov logic: programs and databases in text, grounded into models."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
