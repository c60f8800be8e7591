"""Where to jump: permutations of points and their values, pure mathematics without models."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
