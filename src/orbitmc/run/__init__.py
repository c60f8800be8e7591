"""Chains run in packs, round by round, and go on from files."""

from orbitmc._util.loading import lazily

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Checkpoints": "run.kept.checkpoint",
        "Pack": "run.pack",
        "Run": "run.run",
        "Schedule": "run.schedule",
        "choose_ladder": "run.ladder",
        "load": "run.kept.checkpoint",
        "sample": "run.sampler",
        "save": "run.kept.checkpoint",
        "start_pack": "run.pack",
        "walk": "run.pack",
    },
)
