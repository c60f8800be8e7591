"""Whether chains have mixed, and how their errors shrank."""

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import few_digits
from orbitmc.estimate.formatting import r_hat_in_words
from orbitmc.estimate.marginals import Columns, Marginals
from orbitmc.estimate.verdicts import CODE, FAIR_R_HAT, GOOD_ESS, GOOD_R_HAT, UNMIXED, VERDICTS
from orbitmc.report.display.charts import Line, histogram, line_chart
from orbitmc.report.display.marginal_rows import by_concern
from orbitmc.report.display.words import counted, paragraph, safe, short, table, tone
from orbitmc.report.words import worst

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
    found = answer.verdicts()
    total = sum(found.values()) or 1
    parts = "".join(
        f'<i class="{tone(word)}" style="width:{100 * count / total:.2f}%"></i>'
        for word, count in found.items()
    )
    rows = [[f"{count:,}", safe(word), MEANINGS[word]] for word, count in found.items()]
    meanings = table(("variables", "verdict", "meaning"), rows, (0,))
    return f'<div class="stack">{parts}</div>{meanings}'


def health(answer: Marginals) -> str:
    """R-hat, effective samples, persistence, and the variables that need a look."""
    if answer.about.method == "exact":
        return verdict_counts(answer) + paragraph("An exact answer has no chains.")
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
    found = int((unmixed & (largest <= FAIR_R_HAT)).sum())
    if found:
        return (
            f"In {found:,} variables R-hat looks fine, but chains keep what they started with or "
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
    drawn = histogram(edges.tolist(), counts.tolist(), title, [GOOD_ESS], about, log=True)
    return f"<div>{drawn}</div>"


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
    points = [one for one in answer.about.course if one.middle > 0 and one.seconds > 0]
    if len(points) < 2:
        return paragraph("The run was too short to follow its error.")
    samples = [one.samples for one in points]
    first, last = points[0], points[-1]
    slope = [first.largest * (first.samples / one.samples) ** 0.5 for one in points]
    lines = [
        Line("largest standard error", samples, [one.largest for one in points], "doubt"),
        Line("middle standard error", samples, [one.middle for one in points], "good"),
        Line("if errors shrank with the root of samples", samples, slope, "known", dashed=True),
    ]
    gain = first.largest / max(last.largest, 1e-300)
    said = (
        f"The first {counted(first.samples, 'sample')} of each chain were there after "
        f"{first.seconds:.2f} s, preparations included, and {last.samples:,} after "
        f"{last.seconds:.2f} s. The largest standard error became {few_digits(gain)} times smaller."
    )
    about = "standard errors against samples of each chain, both axes logarithmic"
    return paragraph(said) + line_chart(lines, "samples of each chain", "standard error", about)
