"""What to sample: factor graphs, the names people use for them, and evidence."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
