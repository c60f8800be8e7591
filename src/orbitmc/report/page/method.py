"""How an answer was found: the method, the jumps that were tried, and what became of them."""

from orbitmc.estimate.marginals import About, Marginals
from orbitmc.report.display.graph_drawing import draw_graph
from orbitmc.report.display.symmetries import head, lists
from orbitmc.report.display.words import paragraph, safe, short, table
from orbitmc.report.page.checks import Checks
from orbitmc.report.words import doing

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
        paragraph(safe(doing(answer), MAX_FAMILIES_SHOWN))
        + averaged
        + _race(about)
        + _outcomes(about)
    )


def _race(about: About) -> str:
    if not about.race:
        return paragraph("No jumps were tried.") if about.method != "exact" else ""
    rows = [
        [safe(one["family"]), _times(one["gain"]), _share(one["acceptance"]), safe(one["verdict"])]
        for one in about.race[:MOST_MOVES]
    ]
    titles = ("jumps tried", "effective samples a second", "accepted", "what became of them")
    return "<h3>Jumps and their price</h3>" + table(titles, rows, numbers=(1, 2))


def _times(gain: float | None) -> str:
    return "" if gain is None else f"{short(gain)} times"


def _share(acceptance: float | None) -> str:
    return "" if acceptance is None else f"{acceptance:.2%}"


def _outcomes(about: About) -> str:
    found = dict(about.outcomes)
    if not found:
        return ""
    rows = [[safe(name), f"{count:,}"] for name, count in list(found.items())[:MOST_MOVES]]
    tried = found.get("proposals", 0) - found.get("null proposals", 0)
    accepted = (
        paragraph(
            f"{found['accepted'] / tried:.1%} of the jumps that would change something were "
            "accepted."
        )
        if tried > 0 and "accepted" in found
        else ""
    )
    said = paragraph("A step moves all chains of a pack.", "quiet")
    return "<h3>Steps</h3>" + accepted + said + table(("outcome", "count"), rows, numbers=(1,))


def symmetries(answer: Marginals, found: Checks) -> str:
    """Order, generators and orbits of the model with its evidence."""
    report = found.symmetries
    if report is None:
        return paragraph(safe(found.no_symmetries, MAX_FAMILIES_SHOWN))
    assert answer.asked is not None
    model = answer.asked.seen
    from orbitmc.groups.cycles import cycle_text

    texts = [cycle_text(element, model.names) for element in report.group.generators()]
    if not texts:
        return paragraph(
            "No permutation of the variables leaves the model as it is. Approximate symmetries may "
            "still help: <code>orbitmc symmetry</code> lists them."
        )
    said = [", ".join(model.names[p] for p in orbit) for orbit in report.orbits]
    colour = {int(p): 1 + place for place, orbit in enumerate(report.orbits) for p in orbit}
    words = head(report.order, len(texts), report.complete, report.how)
    return words + draw_graph(model, colour) + lists(texts, said)
