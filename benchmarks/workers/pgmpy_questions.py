"""pgmpy's variable elimination: rows of evidence about a network, one after the other.

It speaks as `pyagrum_questions.py` does, and says the most probable state of the last row too.
"""

import json
import sys
import time
from importlib.metadata import version
from typing import Any

from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader
from protocol import is_worth_asking_again


def main() -> None:
    asked = json.load(sys.stdin)
    model = BIFReader(asked["path"]).get_model()
    elimination = VariableElimination(model)
    seconds, found, best = [], {}, {}
    for numbers in asked["rows"]:
        row = {name: model.get_cpds(name).state_names[name][k] for name, k in numbers.items()}
        free = [name for name in model.nodes() if name not in row]
        taken = [_ask(elimination, [] if asked.get("draws") else free, row, found)]
        while not seconds and is_worth_asking_again(taken, asked):
            taken.append(_ask(VariableElimination(model.copy()), free, row, found))
        seconds.append(min(taken))
    if asked.get("best"):
        begun = time.process_time()
        best = elimination.map_query(free, evidence=row, show_progress=False)
        seconds.append(time.process_time() - begun)
    told_draws = _draws(model, row, asked["draws"]) if asked.get("draws") else None
    told = {"version": version("pgmpy"), "seconds": seconds, "marginals": found, "best": best}
    told["draws"] = told_draws
    if asked.get("pair"):
        both = elimination.query(asked["pair"], evidence=row, show_progress=False)
        order = [both.variables.index(name) for name in asked["pair"]]
        told["joint"] = both.values.transpose(order).tolist()
    print(json.dumps(told))


def _ask(elimination: Any, free: list[str], row: dict[str, str], found: dict[str, Any]) -> float:
    """CPU seconds of all marginals, which are left in `found`."""
    begun = time.process_time()
    for name in free:
        answer = elimination.query([name], evidence=row, show_progress=False)
        found[name] = answer.values.tolist()
    return time.process_time() - begun


def _draws(model: Any, row: dict[str, str], count: int) -> float:
    """CPU seconds of so many states that agree with a row."""
    from pgmpy.factors.discrete import State
    from pgmpy.sampling import BayesianModelSampling

    evidence = [State(name, value) for name, value in row.items()]
    begun = time.process_time()
    BayesianModelSampling(model).rejection_sample(
        evidence=evidence, size=count, show_progress=False
    )
    return time.process_time() - begun


if __name__ == "__main__":
    main()
