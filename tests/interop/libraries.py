"""Libraries that only some environments have."""

import warnings

import pytest


def library(name):
    """Give a library, or skip the tests of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own
        return pytest.importorskip(name, reason=f"{name} is not installed: see `make test-interop`")
