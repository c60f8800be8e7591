"""MC-SAT: slices, and states drawn from them."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "MCSat": "kernels.mcsat.kernel",
        "mc_sat": "kernels.mcsat.kernel",
        "slice_bytes": "kernels.mcsat.slices",
        "slices_in_words": "kernels.mcsat.kernel",
        "surely_reached": "kernels.mcsat.kernel",
    },
)
