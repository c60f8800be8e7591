"""`orbitmc check`: what is in a file, what it will cost, what looks wrong."""

import json as json_module
from typing import TYPE_CHECKING

from orbitmc._util.text import MEMORY
from orbitmc.cli.session import options
from orbitmc.cli.session.exits import verb
from orbitmc.cli.session.questions import LogicOptions, as_one, read_question
from orbitmc.cli.session.settable import assigned

if TYPE_CHECKING:
    from orbitmc.graph.model import Model
    from orbitmc.inference.overview import Overview

CHEAP = 1.0  # seconds that elimination may take for a look at a model


@verb
def check(
    model: options.ModelFile,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    json: options.Json = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Say what is in a model, what answers cost, and what looks wrong."""
    from orbitmc.inference.overview import overview

    logic = LogicOptions(query=as_one(query), **assigned("check", more))
    asked = read_question(model, evidence, memory, logic).model
    found = overview(asked, memory=memory)
    if not json and found.exact.seconds is not None and found.exact.seconds <= CHEAP:
        _print(found, log_z_in_words(asked, memory))
    elif json:
        print(json_module.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(found, "")
    return 0


def log_z_in_words(model: "Model", memory: int) -> str:
    """The exact sum of all weights, or that there is none."""
    from orbitmc.errors import ContradictionError
    from orbitmc.inference._log_z import log_z

    try:
        return f"{float(log_z(model, method='exact', memory=memory)):.10g}"
    except ContradictionError:
        return "none: no state is possible"


def _print(found: "Overview", log_z: str) -> None:
    for title, words in _lines(found):
        print(f"{title:<14}{words}")
    if log_z:
        print(f"{'log Z':<14}{log_z}")
    for remark in found.remarks:
        print(f"{'note':<14}{remark}")


def _lines(found: "Overview") -> list[tuple[str, str]]:
    from orbitmc._util.text import in_words

    f = found
    sizes = ", ".join(f"{count:,} with {size}" for size, count in f.cardinalities.items())
    packs = "1 pack" if f.packs == 1 else f"{f.packs} packs"
    degrees = f"{f.smallest_degree:,} to {f.largest_degree:,}, {f.mean_degree:.1f} on average"
    return [
        ("variables", f"{f.variables:,} ({f.observed:,} observed, {f.forced:,} forced)"),
        ("values", sizes or "none free"),
        ("factors", f"{f.factors:,} ({f.tables:,} different tables), {f.clauses:,} clauses"),
        ("entries", f"{f.entries:,}, {f.zeros:.1%} of them zero"),
        ("neighbours", degrees),
        ("components", f"{f.components:,}, the largest of {f.largest_component:,} variables"),
        ("exact", _exact(found)),
        ("sampling", f"about {in_words(f.sampling_bytes)} for {packs} of {f.lanes} chains"),
    ]


def _exact(found: "Overview") -> str:
    from orbitmc._util.text import in_words

    cost = found.exact
    if cost.bytes is None or cost.seconds is None or cost.refusal:
        return f"no: {cost.refusal}"
    return f"about {in_words(cost.bytes)} and {cost.seconds:.2g} s (width {cost.width})"
