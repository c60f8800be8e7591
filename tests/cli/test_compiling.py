"""Whoever waits for machine code is told so."""

import numba

from orbitmc.cli.session.compiling import Compiling


def test_compiling_is_said_once_and_only_when_it_happens(capsys):
    one, other = numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)
    with Compiling():
        assert capsys.readouterr().err == ""
        assert one(1) + other(1) == 5
        assert "compiling for this machine" in capsys.readouterr().err
        assert one(1.5) == 2.5
    assert other(1.5) == 3.5
    assert capsys.readouterr().err == ""


def test_quiet_compiling_is_not_said(capsys):
    with Compiling(quiet=True):
        assert numba.njit(lambda x: x + 3)(1) == 4
    assert capsys.readouterr().err == ""
