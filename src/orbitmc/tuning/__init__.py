"""Which jumps pay: families of them, and a race in the warm-up that picks and freezes."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
