"""Exact answers by elimination."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Plan": "exact.plan",
        "marginals": "exact.contraction",
        "predict": "exact.plan",
    },
)
