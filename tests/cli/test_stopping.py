"""Ctrl-C is heard wherever it comes."""

import ctypes
import signal
import time

import pytest

from orbitmc.cli.stopping import heard


def test_ctrl_c_is_heard_where_python_drops_exceptions(capfd):
    @ctypes.CFUNCTYPE(None)
    def called_back():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), heard():
        called_back()
        time.sleep(10)
    assert capfd.readouterr().err == ""
