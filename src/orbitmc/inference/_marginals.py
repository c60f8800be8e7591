"""The main job: a model and evidence go in, marginals with their errors come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from orbitmc._util.interrupts import interruptible
from orbitmc.estimate.marginals import Marginals, Provenance
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answered, kept
from orbitmc.inference.plan import decide, plan_for_kernel
from orbitmc.inference.query import Names, Program, require_plain, require_program, resolve_query
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

if TYPE_CHECKING:
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.sampling.run import RunObserver


@accepts_settings
@interruptible()
def marginals(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    query: Names | None = None,
    kernel: Kernel | None = None,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Marginals:
    """Say how probable each value of each variable is, with its error.

    `method="auto"` answers exactly when that is affordable and samples otherwise; the answer
    says which and why. A `query` names the variables to report. A `kernel` of one's own samples
    instead; it belongs to the model with its evidence. What `read` gives for a Markov logic
    program is asked in atoms; its evidence are its databases. `watchers` are called with the run
    after every round. Keywords beside `settings` change them. Ctrl-C ends the question, not the
    program: the partial answer says `about.interrupted`.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> found = om.marginals(model, {"grass": "wet"}, query=["rain"], method="exact")
    >>> print(found)
    variable  value        P  verdict
    rain      none   0.46525  exact
    rain      light  0.29220  exact
    rain      heavy  0.24255  exact
    exact: exact elimination takes about 2.0 MiB and 0.0006 s (width 2)
    >>> sampled = om.marginals(model, method="gibbs", samples=100, seed=1)
    >>> sampled.about.samples, sampled.about.chains
    (100, 256)
    """
    if not isinstance(model, Model):
        require_program(model)
        require_plain(evidence, kernel)
        return model.marginals(settings, query=query, watchers=watchers, **options)
    chosen = merge_options(settings, options)
    names = resolve_query(query, model)
    if kernel is None and (quick := _cached_answer(model, evidence, chosen, names)):
        return replace(quick, asked=Provenance(model, evidence, vars(chosen)))
    seen = model.given(evidence)
    with kept(chosen) as keep:
        decision = decide(seen, chosen) if kernel is None else plan_for_kernel(seen, kernel, chosen)
        found = answered(replace(decision, query=names), watchers, keep)
        return replace(found, asked=Provenance(model, evidence, vars(chosen)))


def _cached_answer(
    model: Model, evidence: Evidence | None, settings: Settings, names: tuple[str, ...] | None
) -> Marginals | None:
    """An exact answer, where preparing one would take longer than giving it."""
    if settings.method not in ("auto", "exact"):
        return None
    from orbitmc.inference.cache import answer_from_cache

    return answer_from_cache(model, evidence, settings, names)
