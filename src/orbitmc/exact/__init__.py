"""Exact answers: elimination and perfect samples."""

from orbitmc.machine.lazy import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Plan": "exact.plan",
        "marginals": "exact.elimination",
        "perfect_marginals": "exact.perfect",
        "perfect_samples": "exact.perfect",
        "predict": "exact.plan",
    },
)
