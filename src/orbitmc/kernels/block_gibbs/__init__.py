"""Low-width block Gibbs: draw many variables at once, exactly given the others."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "BlockMemory": "kernels.block_gibbs.plans",
        "Blocks": "kernels.block_gibbs.plans",
        "block_bytes": "kernels.block_gibbs.kernel",
        "eliminate": "kernels.block_gibbs.elimination",
        "low_width": "kernels.block_gibbs.kernel",
        "number_of": "kernels.block_gibbs.elimination",
        "sum_values": "kernels.block_gibbs.elimination",
        "to_probabilities": "kernels.block_gibbs.elimination",
        "values_left": "kernels.block_gibbs.elimination",
    },
)
