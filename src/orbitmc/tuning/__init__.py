"""Which jumps pay: families of them, and a race in the warm-up that picks and freezes."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "RaceResult": "tuning.race",
        "Tuning": "tuning.record",
        "tuning_from_record": "tuning.record",
    },
)
