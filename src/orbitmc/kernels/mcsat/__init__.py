"""MC-SAT: slices, and states drawn from them."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "MCSat": "kernels.mcsat.kernel",
        "mc_sat": "kernels.mcsat.kernel",
        "slice_bytes": "kernels.mcsat.slices",
        "describe_slices": "kernels.mcsat.kernel",
        "reachable_variables": "kernels.mcsat.kernel",
    },
)
