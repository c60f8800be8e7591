"""Text in, text out: models, evidence and results as files."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "MEMORY": "_util.text",
        "merge_evidence": "formats.evidence",
        "read": "formats.registry",
        "read_evidence": "formats.evidence",
        "read_mar": "formats.uai",
        "read_pr": "formats.uai",
        "suffixes": "formats.registry",
        "write": "formats.registry",
        "write_mar": "formats.uai",
        "write_pr": "formats.uai",
    },
)
