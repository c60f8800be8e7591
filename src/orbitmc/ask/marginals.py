"""The main job: a model and evidence go in, marginals with their errors come out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, Unpack

from orbitmc.ask.keywords import Options, asks, with_options
from orbitmc.ask.method.decisions import Decision, decide, decide_for
from orbitmc.ask.query import Query, asked_names
from orbitmc.ask.settings import Settings
from orbitmc.errors import ContradictionError, InputError
from orbitmc.estimate.marginals import Asked, Marginals, with_warnings
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.machine.interrupts import listening

if TYPE_CHECKING:
    from orbitmc.ask.keeping import Keeping
    from orbitmc.ask.programs import MarkovLogic
    from orbitmc.kernels.kernel import Kernel
    from orbitmc.logic.grounding.grounding import Ground
    from orbitmc.run.run import Watcher


Program: TypeAlias = "MarkovLogic"
"""A ground Markov logic program; its files are loaded when one is read."""


@asks
@listening()
def marginals(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    query: Query | None = None,
    kernel: Kernel | None = None,
    settings: Settings | None = None,
    watchers: Iterable[Watcher] = (),
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
    chosen = with_options(settings, options)
    names = asked_names(query, model)
    if kernel is None and (quick := _quick_answer(model, evidence, chosen, names)):
        return replace(quick, asked=Asked(model, evidence, vars(chosen)))
    seen = model.given(evidence)
    with kept(chosen) as keep:
        decision = decide(seen, chosen) if kernel is None else decide_for(seen, kernel, chosen)
        found = answered(replace(decision, query=names), watchers, keep)
        return replace(found, asked=Asked(model, evidence, vars(chosen)))


def _quick_answer(
    model: Model, evidence: Evidence | None, settings: Settings, names: tuple[str, ...] | None
) -> Marginals | None:
    """An exact answer, where preparing one would take longer than giving it."""
    if settings.method not in ("auto", "exact"):
        return None
    from orbitmc.ask.method.quick import quick_answer

    return quick_answer(model, evidence, settings, names)


def kept(settings: Settings) -> AbstractContextManager[Keeping | None]:
    """The file in which a run is kept, if settings name one."""
    if settings.checkpoint is None:
        return nullcontext()
    from orbitmc.ask.keeping import keeping

    return keeping(settings.checkpoint, settings.checkpoint_every)


def answered(
    decision: Decision,
    watchers: Iterable[Watcher],
    keep: Keeping | None,
    ground: Ground | None = None,
) -> Marginals:
    """Answer as decided, and keep the run if there is a file for it."""
    if keep is None:
        return carry_out(decision, watchers, ground)
    from orbitmc.ask.keeping import record_of

    keep.question.update(record_of(decision))
    return carry_out(decision, [*watchers, keep], ground)


def require_program(model: object) -> None:
    """Refuse what is neither a model nor a program."""
    if not hasattr(model, "marginals"):
        raise InputError(
            f"a question is about a model or a program, not about a {type(model).__name__}: "
            "om.read(path) reads one"
        )


def require_plain(evidence: Evidence | None, kernel: Kernel | None) -> None:
    """Refuse what a program cannot be asked with."""
    if evidence is not None and len(evidence):
        raise InputError("evidence of a program is a database: read(program, databases)")
    if kernel is not None:
        raise InputError("a kernel belongs to a model: marginals(program.model, kernel=...)")


def carry_out(
    decision: Decision,
    watchers: Iterable[Watcher] = (),
    ground: Ground | None = None,
    *,
    after: float = 0.0,
) -> Marginals:
    """Answer as decided; `ground` is the program that the model means, if there is one.

    A timed run leaves so many seconds for what is done around it, most of it `after` it.
    """
    try:
        found = _answered(decision, watchers, ground, after)
    except ContradictionError as error:
        from orbitmc.graph.possible.conflict import explained

        raise explained(decision.model, error) from None
    return with_warnings(found, decision.remarks).only(decision.query)


def _answered(
    decision: Decision, watchers: Iterable[Watcher], ground: Ground | None, after: float
) -> Marginals:
    if decision.plan is not None:
        from orbitmc.ask.exact_answers import answer_exactly

        return answer_exactly(decision, decision.plan)
    from orbitmc.ask.answers import answer_by_sampling

    return answer_by_sampling(decision, watchers, ground, after)
