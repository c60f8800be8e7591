"""What does a service cost that answers one question after the other, exactly?

A thousand questions about `examples/monitor.bif`, each with three variables observed at random, in
one process with one thread; then the same as rows of one table. Seconds are of the processor. The
first questions prepare what later ones use: how variables are eliminated for each set of observed
ones.
"""

import random
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from measuring import arguments, print_table, write_results

import orbitmc as om

NETWORK = Path(__file__).parents[1] / "examples" / "monitor.bif"
QUESTIONS, OBSERVED = 1_000, 3


def rows_of(model: om.Model, count: int) -> list[dict[str, str]]:
    """Values of a few variables, at random."""
    rng, domains = random.Random(1), model.domains()
    chosen = (rng.sample(model.order, OBSERVED) for _ in range(count))
    return [{name: rng.choice(domains[name]) for name in names} for names in chosen]


def cpu(work: Callable[[], object]) -> float:
    """Seconds of the processor that some work takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    asked = arguments(__doc__)
    model = om.read(NETWORK)
    rows = rows_of(model, 100 if asked.quick else QUESTIONS)
    seconds = [cpu(lambda row=row: om.marginals(model, row, threads=1)) for row in rows]
    again = [cpu(lambda row=row: om.marginals(model, row, threads=1)) for row in rows]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    warnings.simplefilter("ignore")
    om.predict(model, rows[:1], query="lungs")  # loads pandas
    table = cpu(lambda: om.predict(model, rows, query="lungs"))
    results = {
        "questions": {
            "count": len(rows),
            "seconds": sum(seconds),
            "median": statistics.median(again),
            "99 of 100": sorted(again)[len(again) * 99 // 100],
            "MiB": memory,
        },
        "rows": {"count": len(rows), "seconds": table},
    }
    figures = [[name, found["count"], found["seconds"]] for name, found in results.items()]
    print_table("one process, CPU seconds", ("", "count", "seconds"), figures)
    write_results(asked.results, "service", results, quick=asked.quick, unit="CPU seconds")


if __name__ == "__main__":
    main()
