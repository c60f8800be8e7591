"""Several models in one run: parts of one model that do not touch, each with its own verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orbitmc.estimate.marginals import Marginals, completed
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import side_by_side


def together(models: Sequence[Model], labels: Sequence[str]) -> Model:
    """One model of the free variables of several, whose names say which one they are from."""
    pairs = list(zip(models, labels, strict=True))
    return Model(
        graph=side_by_side([model.graph for model in models]),
        names=tuple(f"{name} ({label})" for model, label in pairs for name in model.names),
        values=tuple(values for model in models for values in model.values),
        doubts=tuple(dict.fromkeys(doubt for model in models for doubt in model.doubts)),
    )


def apart(found: Marginals, models: Sequence[Model]) -> list[Marginals]:
    """What was found of each model, in its own names and with its observed variables."""
    parts, first = [], 0
    for model in models:
        own = found.columns.taken(np.arange(first, first + len(model.names)))
        columns = completed(model, replace(own, names=model.names))
        parts.append(replace(found, columns=columns))
        first += len(model.names)
    return parts
