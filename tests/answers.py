"""What every answer must be: numbers that sum to one, or one of our errors."""

import multiprocessing
import resource
import warnings

import numpy as np

import orbitmc as om
from orbitmc.errors import OrbitError

MEMORY = 2**26  # small, so that a question which slips through a check cannot hurt the tests


def answered(model, evidence=None):
    """Whether a model was answered, with numbers that sum to one; refused ones are not."""
    try:
        found = om.marginals(model, evidence, method="exact", memory=MEMORY)
    except OrbitError:
        return False
    for name, own in found.items():
        require_chances(name, own)
        assert abs(own.probability.sum() - 1) < 1e-9, name
    return True


def atoms_answered(asked):
    """Whether a program was answered, with probabilities; refused ones are not."""
    try:
        found = asked.marginals(method="exact", memory=MEMORY)
    except OrbitError:
        return False
    for name, own in found.items():
        require_chances(name, own)
    return True


def require_chances(name, own):
    assert own.probability.dtype == np.float64
    assert ((own.probability >= 0) & (own.probability <= 1 + 1e-12)).all(), name
    assert own.verdict in ("exact", "observed", "forced")


ADDRESSES = 4 * 2**30  # bytes that a child may have mapped, machine code and libraries included
SECONDS_EACH = 0.5  # of processor time for one question, on average


def ends_well(act, name, examples):
    """Whether a child of ours gets through so many examples within its limits."""
    child = multiprocessing.get_context("spawn").Process(
        target=_limited, args=(act, name, examples)
    )
    child.start()
    child.join()
    return child.exitcode == 0


def _limited(act, name, examples):
    """Work with little memory and time; a warning is an error here, too."""
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    seconds = 60 + int(SECONDS_EACH * examples)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    assert any(act(name, examples))
