"""What was learned, and how sure we are."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Divergence": "estimate.divergences",
        "Marginal": "estimate.marginals",
        "Marginals": "estimate.marginals",
        "Statistics": "estimate.statistics",
        "compact": "estimate.formatting",
        "divergence": "estimate.divergences",
        "expected_divergence": "estimate.divergences",
    },
)
