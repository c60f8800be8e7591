"""Chains run in packs, round by round, and go on from files."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "CheckpointWriter": "sampling.checkpoint",
        "Pack": "sampling.pack",
        "Run": "sampling.run",
        "Schedule": "sampling.schedule",
        "choose_ladder": "sampling.ladder",
        "load": "sampling.checkpoint",
        "sample": "sampling.sampler",
        "save": "sampling.checkpoint",
        "start_pack": "sampling.pack",
        "walk": "sampling.pack",
    },
)
