"""Sentences about an answer: what was done, why, and whether it has converged."""

from collections.abc import Mapping

from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.verdicts import (
    FAIR,
    FEW,
    FROZEN,
    GOOD,
    GOOD_ESS,
    GOOD_R_HAT,
    MISSED,
    RARE,
    SUSPECT,
    TIED,
    UNMIXED,
)


def remarks(answer: Marginals) -> list[str]:
    """What to say beside the numbers, a sentence or two per line."""
    warnings = [f"warning: {warning}" for warning in answer.about.warnings]
    if answer.about.method == "exact":
        return [doing(answer), *warnings]
    return [doing(answer), *warnings, verdict(answer)]


def doing(answer: Marginals) -> str:
    """Say what was done and why."""
    about = answer.about
    if about.method == "exact":
        return f"exact ({about.reason}), found in {about.seconds:.2g} s{_log_z(about)}"
    rate = about.updates_per_second / 1e6
    return (
        f"{about.method} ({about.reason}): {about.samples:,} samples in each of {about.chains} "
        f"chains, {about.seconds:.1f} s, {rate:,.0f} million updates/s, seed {about.seed}"
        + _jumps(about.outcomes)
        + _log_z(about)
    )


def _log_z(about: About) -> str:
    if about.log_z is None:
        return ""
    if about.log_z_error == 0.0:
        return f"; log Z = {about.log_z:.10g}"
    return f"; log Z = {about.log_z:.6g} ± {about.log_z_error:.2g}"


def _jumps(outcomes: Mapping[str, int]) -> str:
    """How the jumps of lifted chains fared; acceptance is of jumps that change something."""
    tried = outcomes.get("proposals", 0)
    if not tried:
        return ""
    null = outcomes["null proposals"]
    share = outcomes["accepted"] / max(tried - null, 1)
    return f"; {tried:,} jumps, {null / tried:.0%} null, {share:.0%} of the others accepted"


def verdict(answer: Marginals) -> str:
    """Say whether to believe the numbers, and if not, what to do."""
    found = answer.verdicts()
    if answer.about.interrupted:
        return "interrupted: the answer uses the samples so far; " + _state(answer, found)
    return _state(answer, found)


def _state(answer: Marginals, found: dict[str, int]) -> str:
    if found.get(FROZEN):
        return (
            f"not converged: {_variables(found[FROZEN])} frozen"
            f"{_more(found.get(SUSPECT, 0))}; "
            + (_try(answer, "exact", "mcsat") or "no other method here can do better")
        )
    if found.get(UNMIXED):
        return (
            f"not converged: {_variables(found[UNMIXED])} not mixed (worst {_extremes(answer)})"
            f"{_more(found.get(TIED, 0))}; {_longer_or(answer, 'exact')}"
        )
    if found.get(MISSED):
        return (
            f"not converged: {_variables(found[MISSED])} wrong, because the chains missed a mode; "
            + _longer_or(answer, "exact", "lmh")
        )
    if found.get(FEW):
        return (
            f"not converged: {_variables(found[FEW])} estimated from too few samples "
            f"(worst {_extremes(answer)}); run longer"
        )
    rare = _rare(found.get(RARE, 0))
    if found.get(FAIR):
        return (
            f"converged (fair): {_variables(found[FAIR])} not quite at R-hat {GOOD_R_HAT} and "
            f"ESS {GOOD_ESS:.0f} (worst {_extremes(answer)}); a longer run is safer{rare}"
        )
    if found.get(GOOD):
        return (
            f"converged: every R-hat is at most {GOOD_R_HAT} and every ESS at least "
            f"{GOOD_ESS:.0f} (worst {_extremes(answer)}){rare}"
        )
    if rare:
        return "converged" + rare
    return "certain: evidence and constraints leave one value for every variable"


def _longer_or(answer: Marginals, *methods: str) -> str:
    other = _try(answer, *methods)
    return f"run longer, or {other}" if other else "run longer"


def _try(answer: Marginals, *methods: str) -> str:
    """Advise methods, but neither the one that was used nor those that were ruled out.

    Whether elimination is affordable is for `auto` to find out.
    """
    about = answer.about
    left = [one for one in methods if one != about.method and one not in about.ruled_out]
    named = " or ".join("auto" if one == "exact" else one for one in left)
    return f"try --method {named}" if left else ""


def _variables(count: int) -> str:
    return "1 variable is" if count == 1 else f"{count:,} variables are"


def _rare(count: int) -> str:
    return f"; {_variables(count)} known except for rare values" if count else ""


def _more(tied: int) -> str:
    return f" and {tied:,} more tied to them" if tied else ""


def _extremes(answer: Marginals) -> str:
    r_hat, ess = worst(answer)
    return f"R-hat {r_hat:.3f}, ESS {ess:,.0f}"


def worst(answer: Marginals) -> tuple[float, float]:
    """The largest R-hat and the smallest ESS of all sampled values."""
    return answer.columns.extremes()
