"""Exact answers by elimination."""

from orbitmc.machine.lazy import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Plan": "exact.plan",
        "marginals": "exact.elimination",
        "predict": "exact.plan",
    },
)
