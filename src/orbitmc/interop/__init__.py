"""Objects of other libraries: dimod, pgmpy, pyAgrum and networkx.

Each library is loaded when it is needed, and not before.
"""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(__name__, __file__)
