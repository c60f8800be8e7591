"""How long it takes to write an answer, from how long a small one does."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from orbitmc.estimate.marginals import MARGINAL_COLUMNS, About, Columns, Marginals, no_parts
from orbitmc.estimate.verdicts import CODE, GOOD
from orbitmc.graph.model import Model

TRIED = 1000  # variables; models that are no larger are written in no time
USUAL = 0.123456789  # a number with as many digits as most


def writing_seconds(model: Model, pieces: Callable[[Marginals], Iterator[str]]) -> float:
    """How long all pieces of an answer to a model will take."""
    if model.graph.variables <= TRIED:
        return 0.0
    small = _made_up(model)
    begun = time.perf_counter()
    for _ in pieces(small):
        pass
    each = (time.perf_counter() - begun) / len(small.columns.probability)
    return float(each * model.graph.cardinality.sum(dtype=np.int64))


def _made_up(model: Model) -> Marginals:
    """An answer for the first variables, of numbers that mean nothing."""
    values = model.values[:TRIED]
    start = np.concatenate([[0], np.cumsum([len(own) for own in values])])
    numbers = {column: np.full(start[-1], USUAL) for column in MARGINAL_COLUMNS}
    rare, good = np.zeros(start[-1], np.bool_), np.full(len(values), CODE[GOOD], np.uint8)
    columns = Columns(
        model.names[:TRIED],
        values,
        start,
        **numbers,
        rare=rare,
        verdict=good,
        part=no_parts(len(values)),
    )
    return Marginals(columns, About("gibbs", ""))
