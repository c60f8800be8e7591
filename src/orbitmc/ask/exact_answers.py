"""Carry a decision out by elimination."""

import math
import time
from collections.abc import Sequence

from orbitmc.ask.method.decisions import Decision
from orbitmc.estimate.marginals import About, Marginals, exact_marginals, with_warnings
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.exact.plan import Plan
from orbitmc.graph.model import Model


def answer_exactly(decision: Decision, plan: Plan) -> Marginals:
    """Answer by elimination; marginals that no query names are not computed."""
    begun, model, query = time.perf_counter(), decision.model, decision.query
    wanted = [*model.index.values()] if query is None else _free(model, query)
    answer = eliminate(model.graph, memory=decision.settings.memory, plan=plan, wanted=wanted)
    seconds = time.perf_counter() - begun
    log_z = answer.log_z if math.isfinite(answer.log_z) else None
    about = About(method="exact", reason=decision.reason, seconds=seconds, log_z=log_z)
    found = exact_marginals(model, answer.marginals, about, wanted)
    return with_warnings(found, ["log Z is beyond the largest double"] if log_z is None else [])


def _free(model: Model, query: Sequence[str]) -> list[int]:
    """The places of those variables of a query that are not observed."""
    return [model.index[name] for name in query if name in model.index]
