"""Examples in docstrings that need other libraries."""

import doctest
import importlib
import warnings

import pytest

from tests.interop.libraries import library

NEEDED = {
    "dimod": "dimod",
    "dimod_sampler": "dimod",
    "networkx": "networkx",
    "pgmpy": "pgmpy.models",
    "pyagrum": "pyagrum",
}


@pytest.mark.parametrize("name", NEEDED)
def test_examples_run(name):
    library(NEEDED[name])
    module = importlib.import_module(f"orbitmc.interop.{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries
        ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0
