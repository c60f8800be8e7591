"""Built-in models: Ising, Chimera, Potts, friends and smokers, WebKB."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "chimera": "models._chimera",
        "chimera_edges": "models._chimera",
        "friends": "models._friends",
        "grid_edges": "models._ising",
        "ising": "models._ising",
        "ising_grid": "models._ising",
        "potts_grid": "models._ising",
        "random_chimera": "models._chimera",
        "read_chimera": "models._chimera",
    },
)
