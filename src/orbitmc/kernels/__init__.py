"""One Markov step at a time; each kernel leaves the distribution of its graph unchanged."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Kernel": "kernels.kernel",
        "RandomScan": "kernels.base.gibbs",
        "SystematicScan": "kernels.base.gibbs",
        "accept_by_log_ratio": "_simd.random",
        "alternation": "kernels.combine.alternation",
        "bernoulli": "_simd.random",
        "clusters": "kernels.jumps.clusters",
        "draw": "conditionals.draws",
        "flips": "kernels.jumps.flips",
        "gibbs": "kernels.base.gibbs",
        "independence": "kernels.jumps.independence",
        "integer": "_simd.random",
        "lifted": "kernels.combine.mixture",
        "low_width": "kernels.base.low_width.low_width",
        "log_weight_change": "graph.log_weights",
        "mc_sat": "kernels.base.mcsat.mc_sat",
        "mixture": "kernels.combine.mixture",
        "one_hot": "kernels.jumps.one_hot.one_hot",
        "orbital": "kernels.jumps.orbital",
        "orbital_kernels": "kernels.combine.lifting",
        "prepare": "conditionals.prepared",
        "relabelling": "kernels.jumps.relabelling",
        "scratch": "conditionals.draws",
        "shuffle": "kernels.jumps.exchange",
        "step": "kernels.kernel",
        "tempering": "kernels.combine.tempering",
    },
)
