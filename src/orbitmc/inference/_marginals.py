"""The main job: a model and evidence go in, marginals with their errors come out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from orbitmc import inference
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.interrupts import interruptible
from orbitmc.estimate.marginals import Checks, Marginals, Provenance, concatenate_columns
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference.answer import (
    answer,
    answer_plan,
    eliminate_marginals,
    finish_marginals,
    run_chains,
    summarise_run,
)
from orbitmc.inference.plan import (
    Plan,
    plan_components,
    plan_for_kernel,
    plan_whole,
)
from orbitmc.inference.query import (
    Names,
    Program,
    Query,
    Scope,
    View,
    has_learned_tables,
    require_plain,
    require_program,
    resolve_query,
    view_of,
)
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

if TYPE_CHECKING:
    from orbitmc.inference.cache import CachedElimination
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
    exact: exact elimination takes about 1.0 MiB and 0.00018 s (width 2)
    >>> sampled = om.marginals(model, method="gibbs", samples=100, seed=1)
    >>> sampled.about.samples, sampled.about.chains
    (100, 256)
    """
    chosen = merge_options(settings, options)
    return answer(marginals_query(model, evidence, query, kernel, chosen), chosen, watchers)


def marginals_query(
    model: Model | Program,
    evidence: Evidence | None,
    names: Names | None,
    kernel: Kernel | None = None,
    settings: Settings | None = None,
    *,
    command: str = "",
) -> Query[Marginals]:
    """Ask for marginals; `settings` and what was typed as a `command` are told with the answer."""
    if isinstance(model, Model):
        listed = resolve_query(names, model)
    else:
        require_program(model)
        require_plain(evidence, kernel)
        model, listed = model.asking(names), None
        if model.conjunctions:
            return inference.conjunctions_query(model)

    def provenance() -> Provenance:
        return Provenance(
            model if isinstance(model, Model) else model.model,
            _check,
            evidence,
            {} if settings is None else settings.changed(),
            command,
            None if isinstance(model, Model) else model.in_atoms,
        )

    def provenance_if_ground() -> Provenance | None:
        return provenance() if isinstance(model, Model) or model.is_ground else None

    return Query(
        model,
        evidence,
        lambda view: MarginalsQuestion(view, listed, kernel, provenance()),
        None
        if isinstance(model, Model)
        else lambda settings: inference.count_marginals(model, settings, provenance),
        lambda view: MarginalsQuestion(view, None, None, provenance_if_ground()),
        None if isinstance(model, Model) else lambda: inference.CellMarginals(model),
        inference.marginal_errors(model, evidence) if has_learned_tables(model) else None,
    )


def _check(marginals: Marginals) -> Checks:
    return inference.check_marginals(marginals)


def execute_plan(plan: Plan, observers: Iterable[RunObserver] = ()) -> Marginals:
    """Marginals of a model, as planned."""
    asked = Provenance(plan.model, _check, None, plan.settings.changed())
    question = MarginalsQuestion(view_of(plan.model), plan.query, plan.kernel, asked)
    return answer_plan(question, plan, observers)


@dataclass(frozen=True)
class MarginalsQuestion:
    """How probable each value of some names is; of all names, if none are given."""

    view: View
    names: tuple[str, ...] | None
    kernel: Kernel | None
    asked: Provenance | None
    can_resume: bool = True

    @property
    def scopes(self) -> Sequence[Scope] | None:
        """No joint tables are needed; a kernel that is given is not passed over."""
        return () if self.kernel is None else None

    @property
    def needs(self) -> Sequence[int] | None:
        """The variables of the names; a kernel that is given is for all variables."""
        if self.names is None or self.kernel is not None:
            return None
        index = self.view.model.index
        return [index[name] for name in self.names if name in index]

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """The variables that the names need; None if all."""
        return self.names if self.view.program is None else self.view.program.variables

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Marginals | None:
        marginals = row.marginals(self.wanted)
        return None if marginals is None else self._render(marginals)

    def plan(self, settings: Settings) -> Plan:
        model, kernel = self.view.model, self.kernel
        if kernel is not None:
            return replace(plan_for_kernel(model, kernel, settings), query=self.names)
        apart = settings.method == "auto" and settings.checkpoint is None
        apart = apart and settings.approximation is None
        plan = plan_components(model, settings) if apart else plan_whole(model, settings)
        return replace(plan, query=self.names if plan.elimination is None else self.wanted)

    def from_elimination(self, plan: Plan) -> Marginals:
        return self._render(finish_marginals(eliminate_marginals(plan), plan))

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Marginals:
        if plan.beside is not None:
            return self._render(self._from_both(plan, plan.beside, observers))
        run, chosen = run_chains(plan, observers, self.view.ground)
        return self._render(finish_marginals(summarise_run(run, plan, chosen), plan))

    def _from_both(self, plan: Plan, beside: Plan, observers: Iterable[RunObserver]) -> Marginals:
        """Some components exactly, then the others by chains, in the time that is left."""
        with Stopwatch() as eliminating:
            exact = eliminate_marginals(beside)
        hard = replace(plan, query=None, seconds=plan.seconds + eliminating.seconds)
        run, chosen = run_chains(hard, observers, None)
        sampled = summarise_run(run, hard, chosen)
        both = concatenate_columns([exact.columns, sampled.columns])
        place = {name: number for number, name in enumerate(both.names)}
        order = np.array([place[name] for name in self.view.model.order], dtype=np.int64)
        count, rest = len(beside.model.free_names), len(plan.model.free_names)
        about = replace(
            sampled.about,
            reason=f"{count:,} variables in components of their own: {beside.reason}; "
            f"the other {rest:,}: {sampled.about.reason}",
            warnings=(*plan.remarks, *sampled.about.warnings),
        )
        return Marginals(both.take(order), about).only(plan.query)

    def _render(self, marginals: Marginals) -> Marginals:
        return replace(self.view.render(marginals), asked=self.asked)
