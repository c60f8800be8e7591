"""Models to click evidence in: a widget of notebooks, and a page on this machine."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
