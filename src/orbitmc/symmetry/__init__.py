"""Which permutations of variables and values leave a distribution as it is, exactly or nearly."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
