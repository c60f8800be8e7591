"""The main job: a model and evidence go in, marginals with their errors come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from orbitmc.ask.decisions import Decision, decide, decide_for
from orbitmc.ask.settings import Settings
from orbitmc.errors import ContradictionError, InputError
from orbitmc.estimate.marginals import Marginals, with_warnings
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.graph.possible.conflict import explained
from orbitmc.machine.interrupts import listening

if TYPE_CHECKING:
    from orbitmc.kernels.kernel import Kernel
    from orbitmc.logic.grounding.grounding import Ground
    from orbitmc.run.run import Watcher


class Program(Protocol):
    """A ground Markov logic program, as questions see it."""

    def marginals(
        self,
        settings: Settings | None = None,
        *,
        watchers: Iterable[Watcher] = (),
        **changes: Any,
    ) -> Marginals:
        """How probable each atom is."""


@listening()
def marginals(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    kernel: Kernel | None = None,
    watchers: Iterable[Watcher] = (),
    **changes: object,
) -> Marginals:
    """Say how probable each value of each variable is, with its error.

    `method="auto"` answers exactly when that is affordable and samples otherwise; the answer
    says which and why. Settings may be given one by one: `marginals(model, seconds=5, seed=1)`.
    A `kernel` of one's own samples instead; it belongs to the model with its evidence. What
    `read` gives for a Markov logic program is asked in atoms; its evidence are its databases.
    """
    if not isinstance(model, Model):
        _require_plain(evidence, kernel)
        return model.marginals(settings, watchers=watchers, **changes)
    chosen = replace(settings or Settings(), **changes)  # type: ignore[arg-type]
    seen = model.given(evidence or {})
    decision = decide(seen, chosen) if kernel is None else decide_for(seen, kernel, chosen)
    return carry_out(decision, watchers)


def _require_plain(evidence: Evidence | None, kernel: Kernel | None) -> None:
    """Refuse what a program cannot be asked with."""
    if evidence:
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
        raise explained(decision.model, error) from None
    return with_warnings(found, decision.remarks)


def _answered(
    decision: Decision, watchers: Iterable[Watcher], ground: Ground | None, after: float
) -> Marginals:
    if decision.plan is not None:
        from orbitmc.ask.exact_answers import answer_exactly

        return answer_exactly(decision.model, decision.settings, decision.plan)
    from orbitmc.ask.answers import answer_by_sampling

    return answer_by_sampling(decision, watchers, ground, after)
