"""The exact transition matrix of any kernel, from its own code."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "KernelReport": "kernels.testing.check",
        "check_kernel": "kernels.testing.check",
        "transition_matrix": "kernels.testing.matrices",
    },
)
