"""The distribution of one variable given all others."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Conditionals": "conditionals.layout",
        "PreparedGraph": "conditionals.prepared",
        "Scratch": "conditionals.layout",
        "add_limits": "conditionals.draws",
        "neighbour_count_field": "conditionals.fields",
        "cumulative_probabilities": "conditionals.draws",
        "draw": "conditionals.draws",
        "draw_sequentially": "conditionals.draws",
        "fields_in_double": "conditionals.prepared",
        "forget_clauses": "conditionals.factors",
        "has_limits": "conditionals.draws",
        "is_unrounded": "conditionals.prepared",
        "limits_alike": "conditionals.prepared",
        "local_curve": "conditionals.fields",
        "local_field": "conditionals.fields",
        "prepare": "conditionals.prepared",
        "prepare_alike": "conditionals.prepared",
        "prepare_briefly": "conditionals.prepared",
        "prepare_unrounded": "conditionals.prepared",
        "scratch": "conditionals.draws",
    },
)
