"""How a worker talks: lines of JSON in, lines of JSON out.

The first line is a model. Every later line asks for a turn of so many seconds; the answer has
the updates made, the CPU and wall time they took, and, if wanted, the estimated marginals.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Protocol


class Sampler(Protocol):
    """What a worker offers; `run` takes about that long and can be called again and again."""

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]] | None]:
        """Sample for that long; gives the number of updates and the marginals, if it has them."""


def serve(package: str, build: Callable[[dict[str, Any]], Sampler]) -> None:
    """Answer until standard input ends."""
    sampler = build(json.loads(sys.stdin.readline()))
    _say({"package": package, "version": version(package)})
    for line in sys.stdin:
        asked = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        updates, marginals = sampler.run(asked["seconds"], asked["seed"])
        answer = {
            "updates": updates,
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        if asked.get("marginals"):
            answer["marginals"] = marginals
        _say(answer)


class Turn:
    """Cuts a turn into calls of the peer: a fifth of the time is warm-up, as with ours."""

    WARM_UP_SHARE = 0.2

    def __init__(self, seconds: float) -> None:
        self.begun, self.seconds = time.perf_counter(), seconds

    def warming(self) -> bool:
        return time.perf_counter() - self.begun < self.WARM_UP_SHARE * self.seconds

    def lasts(self) -> bool:
        return time.perf_counter() - self.begun < self.seconds


def two_values(up: Any, recorded: int) -> list[list[float]]:
    """Probabilities of both values, given how often the second was counted.

    Half a count is added to each, so that what was never seen is rare rather than impossible;
    without it the divergence would only tell of zeros.
    """
    chances = [(float(count) + 0.5) / (recorded + 1.0) for count in up]
    return [[1.0 - p, p] for p in chances]


def setting(name: str, default: int) -> int:
    """A setting of a peer; the default is the best found, the environment may say otherwise."""
    return int(os.environ.get(name, default))


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def is_worth_asking_again(taken: list[float], asked: dict[str, Any]) -> bool:
    """Whether a first question should be asked again: some times, and more where it is short."""
    least, most = asked.get("firsts", (1, 1))
    return len(taken) < least or (len(taken) < most and sum(taken) < asked["first_seconds"])
