"""Objects of other libraries: dimod, pgmpy, pyAgrum and networkx.

Each library is loaded when it is needed, and not before.
"""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "DimodSampler": "interop.dimod_sampler",
        "PgmpyInference": "interop.pgmpy_inference",
        "PyAgrumInference": "interop.pyagrum_inference",
        "from_dimod": "interop.dimod_models",
        "from_networkx": "interop.networkx_graphs",
        "from_pgmpy": "interop.pgmpy_networks",
        "from_pyagrum": "interop.pyagrum_networks",
        "to_dimod": "interop.dimod_models",
    },
)
