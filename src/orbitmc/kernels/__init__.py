"""One Markov step at a time; each kernel leaves the distribution of its graph unchanged."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Kernel": "kernels.protocol",
        "RandomScan": "kernels._gibbs",
        "SystematicScan": "kernels._gibbs",
        "accept_by_log_ratio": "_simd.random",
        "alternation": "kernels._alternation",
        "bernoulli": "_simd.random",
        "clusters": "kernels._clusters",
        "draw": "conditionals.draws",
        "flips": "kernels._flips",
        "gibbs": "kernels._gibbs",
        "independence": "kernels._independence",
        "integer": "_simd.random",
        "lifted": "kernels._mixture",
        "low_width": "kernels.block_gibbs.kernel",
        "log_weight_change": "graph.log_weights",
        "mc_sat": "kernels.mcsat.kernel",
        "mixture": "kernels._mixture",
        "one_hot": "kernels._one_hot",
        "orbital": "kernels._orbital",
        "orbital_kernels": "kernels._mixture",
        "prepare": "conditionals.prepared",
        "relabelling": "kernels._relabelling",
        "scratch": "conditionals.draws",
        "shuffle": "kernels.exchange",
        "step": "kernels.protocol",
        "tempering": "kernels._tempering",
    },
)
