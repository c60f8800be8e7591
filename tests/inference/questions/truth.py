"""Small random models with names, and the truth about them by listing every state."""

import itertools

import numpy as np
from scipy.stats import binom, chi2

from orbitmc.graph.model import Model
from tests.exact.random_graphs import random_graph as graph_with_everything
from tests.oracle.enumeration import log_weights_of_all
from tests.oracle.random_models import random_graph

LETTERS = "abcdefgh"
FALSE_ALARM = 1e-7


def named(graph):
    """A model whose variables are called A, B and so on, and their values a, b and so on."""
    names = tuple(LETTERS[k].upper() for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(LETTERS[:size]) for size in graph.cardinality))


def distribution(graph):
    """The probability of every state, with an axis for each variable; None if none is possible."""
    logs = log_weights_of_all(graph)
    if not np.isfinite(logs).any():
        return None
    weights = np.exp(logs - logs.max())
    return (weights / weights.sum()).reshape(graph.cardinality)


def hard_models(count):
    """Seeds, models with zeros, clauses and single values, and their distributions."""
    found = ((seed, graph_with_everything(seed, variables=5)) for seed in itertools.count())
    known = ((seed, named(graph), distribution(graph)) for seed, graph in found)
    return itertools.islice((one for one in known if one[2] is not None), count)


def soft_models(count):
    """Seeds, models that chains move through freely, and their distributions."""
    graphs = ((seed, random_graph(seed, variables=(3, 6))) for seed in range(count))
    return ((seed, named(graph), distribution(graph)) for seed, graph in graphs)


def over(truth, axes):
    """The joint distribution of some axes, in their order."""
    others = tuple(axis for axis in range(truth.ndim) if axis not in axes)
    kept = sorted(axes)
    return truth.sum(axis=others).transpose([kept.index(axis) for axis in axes])


def require_honest(off, inside):
    """Errors in units of standard errors, and which intervals at 95 % hold the truth, fit together.

    Scores have at least 15 degrees of freedom: beyond 10 in 5e-8 of cases. Their squares have a
    mean of 15/13 at most, and fewer intervals hold the truth in 1e-7 of cases.
    """
    count = len(off)
    assert np.abs(off).max() < 10
    assert (off**2).sum() < 15 / 13 * 1.1 * chi2.isf(FALSE_ALARM, count)
    assert inside.sum() >= binom.ppf(FALSE_ALARM, count, 0.95)
