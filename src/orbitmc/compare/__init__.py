"""How fast samplers approach reference marginals: error curves, figures, symmetry reports."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
