"""The exact transition matrix of any kernel, from its own code."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
