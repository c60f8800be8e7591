"""Put a page together and write it."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_text
from orbitmc._util.text import format_number
from orbitmc.estimate.formatting import r_hat_in_words
from orbitmc.estimate.marginals import About, Checks, Columns, Marginals
from orbitmc.estimate.verdicts import CODE, FAIR_R_HAT, GOOD_ESS, GOOD_R_HAT, UNMIXED, VERDICTS
from orbitmc.graph.model import Model
from orbitmc.report.html import (
    PAGE,
    SCRIPT,
    code,
    format_count,
    paragraph,
    safe,
    short,
    table,
    tone,
)
from orbitmc.report.notebook import (
    by_concern,
    marginal_table,
    model_summary,
    show_group,
)
from orbitmc.report.sentences import describe_method, verdict, worst
from orbitmc.report.svg import Line, draw_graph, histogram, line_chart, scatter
from orbitmc.version import __version__

# Whether chains have mixed, and how their errors shrank.

BINS = 24
WORST = 8  # variables that are named
MEANINGS = {
    "good": "R-hat at most 1.01 and at least 400 effective samples",
    "fair": "nearly as good; a longer run is safer",
    "rare": "known except for values that were hardly ever seen; their intervals say how rare",
    "too few samples": "fewer than 100 effective samples",
    "not mixed": "chains disagree, drift, or keep what they started with",
    "tied to not mixed": "connected to variables that have not mixed",
    "missed mode": "a better state was found that no chain has visited",
    "frozen": "zeros keep some chains from changing it one variable at a time",
    "tied to frozen": "connected to frozen variables",
    "forced": "evidence and constraints leave one value",
    "observed": "evidence",
    "exact": "no sampling error",
}


def verdict_counts(answer: Marginals) -> str:
    """A bar with a part for each verdict, and what the verdicts mean."""
    counts = answer.verdicts()
    total = sum(counts.values()) or 1
    parts = "".join(
        f'<i class="{tone(word)}" style="width:{100 * count / total:.2f}%"></i>'
        for word, count in counts.items()
    )
    rows = [[f"{count:,}", safe(word), MEANINGS[word]] for word, count in counts.items()]
    meanings = table(("variables", "verdict", "meaning"), rows, (0,))
    return f'<div class="stack">{parts}</div>{meanings}'


def health(answer: Marginals) -> str:
    """R-hat, effective samples, persistence, and the variables that need a look."""
    if answer.about.is_exact:
        source = answer.about.errors_from
        errors = f" Errors and intervals come from {safe(source)}." if source else ""
        return verdict_counts(answer) + paragraph(f"An exact answer has no chains.{errors}")
    sampled = np.isfinite(answer.columns.ess)
    counts = verdict_counts(answer)
    if not sampled.any():
        return counts + paragraph("Nothing was left to sample.")
    r_hat, ess = worst(answer)
    sentence = paragraph(
        f"The largest R-hat is <b>{r_hat_in_words(r_hat)}</b> (1.01 or less is good) and the "
        f"smallest effective sample size is <b>{ess:,.0f}</b> (400 or more is good). "
        + _persistence(answer.columns)
    )
    charts = _r_hats(answer.columns.r_hat[sampled]) + _sizes(answer.columns.ess[sampled])
    return counts + sentence + f'<div class="two">{charts}</div>' + _worst(answer)


def _persistence(columns: Columns) -> str:
    """What the test of persistence found that R-hat did not."""
    unmixed = columns.verdict == CODE[UNMIXED]
    largest = np.maximum.reduceat(columns.r_hat, columns.start[:-1]) if len(unmixed) else unmixed
    count = int((unmixed & (largest <= FAIR_R_HAT)).sum())
    if count:
        return (
            f"In {count:,} variables R-hat looks fine, but chains keep what they started with or "
            "drift together: the test of persistence found it."
        )
    return "The test of persistence found nothing that R-hat missed."


def _r_hats(r_hat: Floats) -> str:
    edges = np.linspace(1.0, max(float(r_hat.max()), 1.02) * 1.0005, BINS + 1)
    counts, _ = np.histogram(r_hat, edges)
    about = "how many values have which R-hat; a dashed line marks 1.01"
    return (
        "<div>"
        + histogram(edges.tolist(), counts.tolist(), "R-hat", [GOOD_R_HAT], about)
        + "</div>"
    )


def _sizes(ess: Floats) -> str:
    low = 10.0 ** np.floor(np.log10(max(float(ess.min()), 1.0)))
    high = 10.0 ** np.ceil(np.log10(float(ess.max()) * 1.001 + 10.0))
    edges = np.geomspace(min(low, 100.0), high, BINS + 1)
    counts, _ = np.histogram(np.maximum(ess, edges[0]), edges)
    about = "how many values have which effective sample size; a dashed line marks 400"
    title = "effective sample size"
    chart = histogram(edges.tolist(), counts.tolist(), title, [GOOD_ESS], about, log=True)
    return f"<div>{chart}</div>"


def _worst(answer: Marginals) -> str:
    """The variables with the largest R-hat, doubted ones first."""
    columns = answer.columns
    r_hat = np.maximum.reduceat(np.where(columns.rare, 1.0, columns.r_hat), columns.start[:-1])
    ess = np.minimum.reduceat(columns.ess, columns.start[:-1])
    sampled = np.isfinite(ess)
    concern = np.empty(len(r_hat), dtype=np.int64)
    concern[by_concern(columns)] = np.arange(len(r_hat))
    doubted = np.array([tone(word) == "doubt" for word in VERDICTS])[columns.verdict]
    order = [v for v in np.lexsort((-r_hat, ~doubted)).tolist() if sampled[v]][:WORST]
    rows = [
        [
            safe(columns.names[v]),
            r_hat_in_words(float(r_hat[v])),
            short(float(ess[v])),
            VERDICTS[columns.verdict[v]],
        ]
        for v in order
    ]
    head = "<h3>Variables that mix worst</h3>"
    return head + table(("variable", "R-hat", "least ESS", "verdict"), rows, numbers=(1, 2))


def course(answer: Marginals) -> str:
    """Standard errors while the chains ran, beside what independent samples would do."""
    points = [point for point in answer.about.course if point.middle > 0 and point.seconds > 0]
    if len(points) < 2:
        return paragraph("The run was too short to follow its error.")
    samples = [point.samples for point in points]
    first, last = points[0], points[-1]
    slope = [first.largest * (first.samples / point.samples) ** 0.5 for point in points]
    lines = [
        Line("largest standard error", samples, [point.largest for point in points], "doubt"),
        Line("middle standard error", samples, [point.middle for point in points], "good"),
        Line("if errors shrank with the root of samples", samples, slope, "known", dashed=True),
    ]
    gain = first.largest / max(last.largest, 1e-300)
    caption = (
        f"The first {format_count(first.samples, 'sample')} of each chain were there after "
        f"{first.seconds:.2f} s, preparations included, and {last.samples:,} after "
        f"{last.seconds:.2f} s. The largest standard error became {format_number(gain)} times "
        "smaller."
    )
    about = "standard errors against samples of each chain, both axes logarithmic"
    return paragraph(caption) + line_chart(lines, "samples of each chain", "standard error", about)


# How an answer was found: the method, the jumps that were tried, and what became of them.

MAX_FAMILIES_SHOWN = 2000
MOST_MOVES = 40


def method(answer: Marginals) -> str:
    """The method and its reason, prices of jumps, and outcomes of steps."""
    about = answer.about
    averaged = (
        paragraph(f"Estimator: {safe(about.estimator, MAX_FAMILIES_SHOWN)}")
        if about.estimator
        else ""
    )
    return (
        paragraph(safe(describe_method(answer), MAX_FAMILIES_SHOWN))
        + averaged
        + _race(about)
        + _outcomes(about)
    )


def _race(about: About) -> str:
    if not about.race:
        return paragraph("No jumps were tried.") if not about.is_exact else ""
    rows = [
        [
            safe(trial["family"]),
            _times(trial["gain"]),
            _share(trial["acceptance"]),
            safe(trial["verdict"]),
        ]
        for trial in about.race[:MOST_MOVES]
    ]
    titles = ("jumps tried", "effective samples a second", "accepted", "what became of them")
    return "<h3>Jumps and their price</h3>" + table(titles, rows, numbers=(1, 2))


def _times(gain: float | None) -> str:
    return "" if gain is None else f"{short(gain)} times"


def _share(acceptance: float | None) -> str:
    return "" if acceptance is None else f"{acceptance:.2%}"


def _outcomes(about: About) -> str:
    outcomes = dict(about.outcomes)
    if not outcomes:
        return ""
    rows = [[safe(name), f"{count:,}"] for name, count in list(outcomes.items())[:MOST_MOVES]]
    tried = outcomes.get("proposals", 0) - outcomes.get("null proposals", 0)
    accepted = (
        paragraph(
            f"{outcomes['accepted'] / tried:.1%} of the jumps that would change something were "
            "accepted."
        )
        if tried > 0 and "accepted" in outcomes
        else ""
    )
    caption = paragraph("A step moves all chains of a pack.", "quiet")
    return "<h3>Steps</h3>" + accepted + caption + table(("outcome", "count"), rows, numbers=(1,))


def symmetries(answer: Marginals, checked: Checks) -> str:
    """Order, generators and orbits of the model with its evidence."""
    group = checked.symmetries
    if group is None:
        return paragraph(safe(checked.no_symmetries, MAX_FAMILIES_SHOWN))
    assert answer.asked is not None
    model = answer.asked.conditioned_model
    if not group.generators:
        return paragraph(
            "No permutation of the variables leaves the model as it is. Approximate symmetries may "
            "still help: <code>orbitmc symmetry</code> lists them."
        )
    return show_group(group, group.generators, model)


# How to get an answer again, and a paragraph about it for a paper.

ENDS = ("samples", "seconds", "standard_error")
LIBRARIES = ("numpy", "scipy", "numba")
METHOD_NAMES = {
    "gibbs": "Gibbs sampling",
    "mcsat": "MC-SAT",
    "lifted": "lifted Markov chains along exact symmetries",
    "lmh": "Lifted Metropolis-Hastings (Van den Broeck and Niepert, AAAI 2015)",
}


IN_PYTHON = paragraph("Where <code>model</code> is the model that was asked about:")


def reproduce(answer: Marginals) -> str:
    """The command or the lines of Python that ask again, with versions."""
    provenance = answer.asked
    assert provenance is not None
    again = code(provenance.command) if provenance.command else IN_PYTHON + code(_python(answer))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return (
        again
        + paragraph(_reproducibility(answer))
        + paragraph(
            f"orbitmc {__version__}, Python {platform.python_version()}, {versions}, "
            f"{safe(platform.machine())}, {safe(platform.system())}.",
            "quiet",
        )
    )


def _python(answer: Marginals) -> str:
    provenance = answer.asked
    assert provenance is not None
    settings = dict(provenance.settings)
    about = answer.about
    if about.moves is not None:
        settings |= {"method": "lmh", "moves": dict(about.moves)}
    if not about.is_exact and settings.keys().isdisjoint(ENDS):
        settings["seconds"] = 10.0
    words = "".join(f", {name}={value!r}" for name, value in settings.items())
    evidence = "" if not provenance.evidence else f", evidence={_plain(provenance.evidence)!r}"
    return f"import orbitmc as om\n\nanswer = om.marginals(model{evidence}{words})"


def _plain(evidence: Any) -> dict[str, Any]:
    return dict(evidence.items())


def _reproducibility(answer: Marginals) -> str:
    about = answer.about
    if about.is_exact:
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


def methods_paragraph(answer: Marginals) -> str:
    """A paragraph that says what was done, with the numbers that readers ask for."""
    about = answer.about
    variables = f"{len(answer):,} variables"
    if about.is_exact:
        way = "lifted counting" if about.method == "counting" else "variable elimination"
        return (
            f"Marginals of {variables} were computed exactly by {way} with orbitmc "
            f"{__version__} ({about.seconds:.2g} s)."
            + (
                f" Standard errors come from {about.errors_from}, by the delta method."
                if about.errors_from
                else ""
            )
        )
    r_hat, ess = worst(answer)
    errors = answer.columns.standard_error
    state = "" if answer.converged else " The run did not converge by these criteria."
    return (
        f"Marginals of {variables} were estimated with orbitmc {__version__} by "
        f"{METHOD_NAMES.get(about.method, about.method)}: {about.chains:,} chains of "
        f"{about.samples:,} samples each after warm-up ({about.updates:,} single-variable updates "
        f"in {about.seconds:.1f} s, seed {about.seed}). The largest R-hat was "
        f"{r_hat_in_words(r_hat)}, the smallest effective sample size {ess:,.0f}, and the "
        f"largest standard error {float(errors.max(initial=0.0)):.2g}.{state}"
    )


# An estimate beside the truth.


@dataclass(frozen=True)
class Comparison:
    """How far estimates are from the truth; a binary variable counts once."""

    compared: int
    covered: int
    mean_error: float
    largest_error: float


def compare(estimate: Marginals, truth: Marginals) -> Comparison:
    """Count the intervals that hold the true value, and measure the errors."""
    errors, covered = [], 0
    for name, marginal in estimate.items():
        for place in _independent(len(marginal.values)):
            true = float(truth[name].probability[place])
            errors.append(abs(float(marginal.probability[place]) - true))
            covered += bool(marginal.low[place] <= true <= marginal.high[place])
    return Comparison(
        compared=len(errors),
        covered=covered,
        mean_error=float(np.mean(errors)) if errors else 0.0,
        largest_error=max(errors, default=0.0),
    )


def _independent(values: int) -> range:
    """The probabilities of a binary variable mirror each other: one of them says all."""
    return range(1, 2) if values == 2 else range(values)


MOST_PAGE_ROWS = 800  # of the table; more would make the page slow to open
MOST_EVIDENCE = 60
MOST_POINTS = 1500  # of a chart
LONGEST_PARAGRAPH = 1200
ELSEWHERE = (
    "are not on this page: <code>orbitmc infer</code> writes all of them with "
    "<code>-o FILE.csv</code>, Python with <code>answer.to_frame()</code>"
)


def write_page(answer: Marginals, path: Path) -> Path:
    """Write a page; rows that it cannot show are left to other files."""
    write_text(path, page(answer))
    return path


def page(answer: Marginals) -> str:
    """A page as text."""
    assert answer.asked is not None
    checked = answer.asked.check(answer)
    sections = {
        "Question": _question(answer),
        "Marginals": _marginals(answer),
        "Health": health(answer),
        "Error over time": course(answer) if not answer.about.is_exact else "",
        "Method": method(answer),
        "Symmetries": symmetries(answer, checked),
        "Exact values": _beside_exact(answer, checked),
        "Reproduce": reproduce(answer),
        "For a paper": code(methods_paragraph(answer)),
    }
    bodies = {title: body for title, body in sections.items() if body}
    return "".join(_pieces(answer, bodies))


def _pieces(answer: Marginals, sections: dict[str, str]) -> Iterator[str]:
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>orbitmc: {len(answer):,} marginals</title><style>{PAGE}</style></head>"
        '<body class="om"><main>'
        f"<h1>Marginals of {_count_asked(answer)}</h1>{_verdict(answer)}<nav>"
    )
    for title in sections:
        yield f'<a href="#{_anchor(title)}">{title}</a>'
    yield "</nav>"
    for title, body in sections.items():
        yield f'<section id="{_anchor(title)}"><h2>{title}</h2>{body}</section>'
    yield f"<footer>Made by orbitmc {__version__}.</footer></main>"
    yield f"<script>{SCRIPT}</script></body></html>\n"


def _count_asked(answer: Marginals) -> str:
    """How many variables, or atoms of a program, were asked about."""
    is_program = answer.asked is not None and answer.asked.in_atoms is not None
    return format_count(len(answer), "atom" if is_program else "variable")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _verdict(answer: Marginals) -> str:
    """One sentence, and what to do next."""
    if answer.about.is_exact:
        words, after = "The answer is exact.", describe_method(answer)
    else:
        words, _, after = verdict(answer).partition("; ")
        words, after = f"{words[0].upper()}{words[1:]}.", after or "nothing is left to do"
    kind = "good" if answer.converged else "doubt"
    warnings = "".join(
        paragraph(f"Warning: {safe(w, LONGEST_PARAGRAPH)}.") for w in answer.about.warnings
    )
    next_step = "" if answer.about.is_exact else "What next: "
    following = paragraph(f"{next_step}{safe(after, LONGEST_PARAGRAPH)}.")
    says = paragraph(safe(words, LONGEST_PARAGRAPH), "says")
    return f'<div class="verdict {kind}">{says}{following}{warnings}</div>'


def _question(answer: Marginals) -> str:
    """The model, what is observed, and what was asked."""
    provenance = answer.asked
    assert provenance is not None
    model = provenance.conditioned_model
    observations = [
        f"{safe(name)} = {safe(observed.values[observed.value])}"
        for name, observed in list(model.observed.items())[:MOST_EVIDENCE]
    ]
    left_out = len(model.observed) - len(observations)
    observations += [f"… and {left_out:,} more"] if left_out else []
    soft = [name for name in (provenance.evidence or {}) if name in model.index]
    observations += [f"{safe(name)}: soft" for name in soft[:MOST_EVIDENCE]]
    whole = len(answer) == len(model.order)
    about = "all variables" if whole else f"{len(answer):,} of {len(model.order):,} variables"
    if provenance.in_atoms is not None:
        observations.append("databases of the program")
        about = _count_asked(answer)
    return (
        f"<dl><dt>model</dt><dd>{model_summary(model)}</dd>"
        f"<dt>evidence</dt><dd>{', '.join(observations) or 'none'}</dd>"
        f"<dt>asked about</dt><dd>{about}</dd></dl>{_draw(provenance.model, model, soft)}"
    )


def _draw(whole: Model, model: Model, soft: Sequence[str]) -> str:
    """The model with its evidence; without it where there is no room for all of it."""
    seen = {name: one.values[one.value] for name, one in model.observed.items()}
    return draw_graph(whole, evidence={**seen, **dict.fromkeys(soft, "")}) or draw_graph(model)


def _marginals(answer: Marginals) -> str:
    """The table with its filters."""
    table, left_out = marginal_table(answer, MOST_PAGE_ROWS)
    kinds = "".join(
        f"<option>{VERDICTS[code]}</option>" for code in np.unique(answer.columns.verdict).tolist()
    )
    filters = (
        '<div class="filters"><input id="word" type="search" placeholder="variable or value" '
        'aria-label="filter by variable or value"><select id="kind" aria-label="filter by verdict">'
        f'<option value="">every verdict</option>{kinds}</select><span id="shown"></span></div>'
    )
    more = paragraph(f"{left_out:,} more rows {ELSEWHERE}.") if left_out else ""
    return f'{filters}{more}<div class="scroll tall">{table}</div>'


def _beside_exact(answer: Marginals, checked: Checks) -> str:
    """Estimates against the exact values, where these are affordable."""
    if checked.exact is None:
        return paragraph(safe(checked.no_exact, LONGEST_PARAGRAPH))
    known = compare(answer, checked.exact)
    estimated, exact = answer.columns.probability, checked.exact.columns.probability
    chosen = np.linspace(0, len(exact) - 1, min(len(exact), MOST_POINTS)).astype(np.int64)
    share = known.covered / max(known.compared, 1)
    caption = (
        f"{known.covered:,} of {known.compared:,} intervals hold the exact value ({share:.0%}; "
        f"95 % should). Errors are {known.mean_error:.2g} on average and "
        f"{known.largest_error:.2g} at most. "
        f"{safe(describe_method(checked.exact), LONGEST_PARAGRAPH)}."
    )
    titles = ("exact probability", "estimate")
    about = "estimated against exact probabilities"
    chart = scatter(exact[chosen].tolist(), estimated[chosen].tolist(), titles, about)
    return paragraph(caption) + chart
