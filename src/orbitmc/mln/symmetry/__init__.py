"""Constants that are alike, exactly or nearly: renamings and relational approximations."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
