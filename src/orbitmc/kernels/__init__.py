"""One Markov step at a time; each kernel leaves the distribution of its graph unchanged."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
