"""What may be said of a number, in words; answers keep the words' places in `VERDICTS`."""

GOOD, FAIR, RARE, FEW, UNMIXED, TIED, MISSED, FROZEN, SUSPECT, FORCED, OBSERVED, EXACT = (
    VERDICTS
) = (
    "good",
    "fair",
    "rare",
    "too few samples",
    "not mixed",
    "tied to not mixed",
    "missed mode",
    "frozen",
    "tied to frozen",
    "forced",
    "observed",
    "exact",
)
BELIEVED = frozenset({GOOD, FAIR, RARE, FORCED, OBSERVED, EXACT})
CODE = {word: code for code, word in enumerate(VERDICTS)}
