"""Sentences about an answer: what was done, why, and whether it has converged."""

from collections.abc import Mapping

from orbitmc._util.text import first_few
from orbitmc.estimate.formatting import escape_unprintable, r_hat_in_words
from orbitmc.estimate.marginals import LAST_RESORTS, About, Marginals
from orbitmc.estimate.verdicts import (
    EXACT,
    FAIR,
    FEW,
    FORCED,
    FROZEN,
    GOOD,
    GOOD_ESS,
    GOOD_R_HAT,
    MISSED,
    OBSERVED,
    RARE,
    SUSPECT,
    TIED,
    UNMIXED,
)

CERTAIN_VERDICTS = frozenset({FORCED, OBSERVED, EXACT})
ADVISED = ("gibbs", "lifted", "lmh", "mcsat", "exact")
"""Methods in the order in which one may be advised after another has failed."""


def remarks(answer: Marginals) -> list[str]:
    """What to say beside the numbers, a sentence or two per line."""
    warnings = [f"warning: {warning}" for warning in answer.about.warnings]
    if answer.about.is_exact:
        return [describe_method(answer), *warnings]
    return [describe_method(answer), *warnings, verdict(answer)]


def describe_method(answer: Marginals) -> str:
    """Say what was done and why."""
    about = answer.about
    if about.is_exact:
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
    """Say whether to believe the numbers, and if not, what to do: the same words everywhere."""
    if answer.about.is_exact:
        source = answer.about.errors_from
        return f"exact: no sampling error{f'; errors from {source}' if source else ''}"
    counts = answer.verdicts()
    if answer.about.interrupted:
        return "interrupted: the answer uses the samples so far; " + _state(answer, counts)
    return _state(answer, counts)


def _state(answer: Marginals, counts: dict[str, int]) -> str:
    if counts.keys() & {FROZEN, SUSPECT}:
        return f"not converged: {_describe_frozen(answer, counts)}; " + (
            _advise(answer, "exact", "mcsat") or "no other method here can do better"
        )
    if counts.keys() & {UNMIXED, TIED}:
        return f"not converged: {_describe_unmixed(answer, counts)}; {_longer_or(answer, 'exact')}"
    if counts.get(MISSED):
        return (
            f"not converged: {_variables(counts[MISSED])} wrong, because the chains missed a mode; "
            + _longer_or(answer, "exact", "lmh")
        )
    if counts.get(FEW):
        return (
            f"not converged: {_variables(counts[FEW])} estimated from too few samples "
            f"(worst {_extremes(answer)}); run longer"
        )
    rare = _rare(counts.get(RARE, 0))
    if answer.about.independent and counts.keys() & {GOOD, FAIR}:
        return _describe_draws(answer, counts) + rare
    if counts.get(FAIR):
        return (
            f"converged (fair): {_variables(counts[FAIR])} not quite at R-hat {GOOD_R_HAT} and "
            f"ESS {GOOD_ESS:.0f} (worst {_extremes(answer)}); a longer run is safer{rare}"
        )
    if counts.get(GOOD):
        return (
            f"converged: every R-hat is at most {GOOD_R_HAT} and every ESS at least "
            f"{GOOD_ESS:.0f} (worst {_extremes(answer)}){rare}"
        )
    if rare:
        return "converged" + rare
    assert counts.keys() <= CERTAIN_VERDICTS, counts
    return "certain: evidence and constraints leave one value for every variable"


def _describe_draws(answer: Marginals, counts: dict[str, int]) -> str:
    """What is said of independent draws, which need not mix: there are enough of them."""
    states = f"{answer.about.samples * answer.about.chains:,} states are independent draws"
    if counts.get(FAIR):
        _, ess = worst(answer)
        return (
            f"converged (fair): the {states}; {_variables(counts[FAIR])} not quite at ESS "
            f"{GOOD_ESS:.0f} (worst {ess:,.0f}), so a longer run is safer"
        )
    return f"converged: the {states}"


def _describe_frozen(answer: Marginals, counts: dict[str, int]) -> str:
    if FROZEN in counts:
        return f"{_variables(counts[FROZEN])} frozen{_more(counts.get(SUSPECT, 0))}"
    return f"{_variables(counts[SUSPECT])} tied to {_causes(answer, SUSPECT, 'frozen')}"


def _describe_unmixed(answer: Marginals, counts: dict[str, int]) -> str:
    if UNMIXED in counts:
        mixed = f"{_variables(counts[UNMIXED])} not mixed (worst {_extremes(answer)})"
        return mixed + _more(counts.get(TIED, 0))
    return f"{_variables(counts[TIED])} tied to {_causes(answer, TIED, 'not mixed')}"


def _causes(answer: Marginals, tied: str, state: str) -> str:
    """Name the variables that an answer is doubted for, though nobody asked about them."""
    names = answer.causes(tied)
    if not names:  # nobody has kept them
        return f"variables that are {state}"
    which = "one that is" if len(names) == 1 else f"{len(names):,} that are"
    return f"{which} {state} ({first_few([escape_unprintable(name) for name in names])})"


def _longer_or(answer: Marginals, *methods: str) -> str:
    other = _advise(answer, *methods)
    return f"run longer, or {other}" if other else "run longer"


def _advise(answer: Marginals, *methods: str) -> str:
    """Advise methods, but none that was tried or ruled out, and none whose advice leads back.

    So only methods that come later in `ADVISED`. Whether elimination is affordable is for `auto` to
    find out, unless `auto` would do what was done here if it is not: then that is known already.
    """
    tried = {answer.about.method, *answer.about.ruled_out}
    last = max((place for place, method in enumerate(ADVISED[:-1]) if method in tried), default=-1)
    left = [method for method in methods if method in ADVISED[last + 1 :] and method not in tried]
    exact = "auto" if LAST_RESORTS.isdisjoint(tried) else "exact"
    named = " or ".join(exact if method == "exact" else method for method in left)
    return f"try --method {named}" if left else ""


def _variables(count: int) -> str:
    return "1 variable is" if count == 1 else f"{count:,} variables are"


def _rare(count: int) -> str:
    return f"; {_variables(count)} known except for rare values" if count else ""


def _more(tied: int) -> str:
    return f" and {tied:,} more tied to them" if tied else ""


def _extremes(answer: Marginals) -> str:
    r_hat, ess = worst(answer)
    size = f"ESS {ess:,.0f}"
    return size if answer.about.independent else f"R-hat {r_hat_in_words(r_hat)}, {size}"


def worst(answer: Marginals) -> tuple[float, float]:
    """The largest R-hat and the smallest ESS of all sampled values."""
    return answer.columns.extremes()
