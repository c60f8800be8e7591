"""Built-in models: Ising, Chimera, Potts, friends and smokers, WebKB."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "chimera": "models.chimera_models",
        "chimera_edges": "models.chimera_models",
        "friends": "models.friends_models",
        "grid_edges": "models.ising_models",
        "ising": "models.ising_models",
        "ising_grid": "models.ising_models",
        "potts_grid": "models.potts",
        "random_chimera": "models.chimera_models",
        "read_chimera": "models.chimera_models",
    },
)
