"""Objects of other libraries: dimod, pgmpy, pyAgrum and networkx.

Each library is loaded when it is needed, and not before.
"""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "DimodSampler": "interop.dimod_sampler",
        "PgmpyInference": "interop.pgmpy",
        "PyAgrumInference": "interop.pyagrum",
        "from_dimod": "interop.dimod",
        "from_networkx": "interop.networkx",
        "from_pgmpy": "interop.pgmpy",
        "from_pyagrum": "interop.pyagrum",
        "to_dimod": "interop.dimod",
    },
)
