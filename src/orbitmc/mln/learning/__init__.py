"""Weights of Markov logic programs, from databases that show what is true."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
