"""The exact transition matrix of any kernel, from its own code."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "KernelReport": "kernels.testing.exact",
        "check_kernel": "kernels.testing.exact",
        "transition_matrix": "kernels.testing.exact",
    },
)
