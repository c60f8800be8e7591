"""How to get an answer again, and a paragraph about it for a paper."""

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from orbitmc.estimate.formatting import r_hat_in_words
from orbitmc.estimate.marginals import Marginals
from orbitmc.inference.settings import ENDS, Settings
from orbitmc.report.display.words import code, paragraph, safe
from orbitmc.report.words import worst
from orbitmc.version import __version__

LIBRARIES = ("numpy", "scipy", "numba")
METHODS = {
    "gibbs": "Gibbs sampling",
    "mcsat": "MC-SAT",
    "lifted": "lifted Markov chains along exact symmetries",
    "lmh": "Lifted Metropolis-Hastings (Van den Broeck and Niepert, AAAI 2015)",
}


def reproduce(answer: Marginals) -> str:
    """The command or the lines of Python that ask again, with versions."""
    asked = answer.asked
    assert asked is not None
    command = code(asked.command) if asked.command else ""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return (
        command
        + code(_python(answer))
        + paragraph(_sameness(answer))
        + paragraph(
            f"orbitmc {__version__}, Python {platform.python_version()}, {versions}, "
            f"{safe(platform.machine())}, {safe(platform.system())}.",
            "quiet",
        )
    )


def _python(answer: Marginals) -> str:
    asked = answer.asked
    assert asked is not None
    given = _given(asked.settings)
    about = answer.about
    if about.moves is not None:
        given |= {"method": "lmh", "moves": dict(about.moves)}
    if about.method != "exact" and not any(end in given for end in ENDS):
        given["seconds"] = 10.0
    words = "".join(f", {name}={value!r}" for name, value in given.items())
    evidence = "" if not asked.evidence else f", evidence={_plain(asked.evidence)!r}"
    return f"import orbitmc as om\n\nanswer = om.marginals(model{evidence}{words})"


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are not as they usually are."""
    usual = {one.name: one.default for one in fields(Settings)}
    left_out = ("checkpoint", "checkpoint_every", "threads", "moves")
    return {
        name: value
        for name, value in settings.items()
        if name in usual and value != usual[name] and name not in left_out
    }


def _plain(evidence: Any) -> dict[str, Any]:
    return dict(evidence.items())


def _sameness(answer: Marginals) -> str:
    about = answer.about
    if about.method == "exact":
        return "An exact answer is the same every time."
    settings = answer.asked.settings if answer.asked is not None else {}
    if settings.get("samples") is not None:
        return (
            f"The same seed ({about.seed}) gives the same samples, whatever the number of cores, "
            "with the same version of orbitmc."
        )
    return (
        f"The run ended by the clock, after {about.samples:,} samples in each of {about.chains:,} "
        f"chains: another run with seed {about.seed} agrees within its errors. With "
        "<code>samples=</code> in place of seconds it would agree to the last digit."
    )


def for_a_paper(answer: Marginals) -> str:
    """A paragraph that says what was done, with the numbers that readers ask for."""
    about = answer.about
    variables = f"{len(answer):,} variables"
    if about.method == "exact":
        return (
            f"Marginals of {variables} were computed exactly by variable elimination with orbitmc "
            f"{__version__} ({about.seconds:.2g} s)."
        )
    r_hat, ess = worst(answer)
    errors = answer.columns.standard_error
    state = "" if answer.converged else " The run did not converge by these criteria."
    return (
        f"Marginals of {variables} were estimated with orbitmc {__version__} by "
        f"{METHODS.get(about.method, about.method)}: {about.chains:,} chains of {about.samples:,} "
        f"samples each after warm-up ({about.updates:,} single-variable updates in "
        f"{about.seconds:.1f} s, seed {about.seed}). The largest R-hat was "
        f"{r_hat_in_words(r_hat)}, the smallest effective sample size {ess:,.0f}, and the "
        f"largest standard error {float(errors.max(initial=0.0)):.2g}.{state}"
    )
