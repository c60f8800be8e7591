"""Text in, text out: models, evidence and results as files."""

from orbitmc.formats.evidence import merged_evidence, read_evidence
from orbitmc.formats.registry import read, suffixes, write
from orbitmc.formats.uai.uai_results import read_mar, read_pr, write_mar, write_pr
from orbitmc.machine.text import MEMORY

__all__ = [
    "MEMORY",
    "merged_evidence",
    "read",
    "read_evidence",
    "read_mar",
    "read_pr",
    "suffixes",
    "write",
    "write_mar",
    "write_pr",
]
