"""Ctrl-C is heard wherever it comes."""

import ctypes
import signal
import time

import pytest

from orbitmc.cli.session import handle_interrupts


def test_ctrl_c_is_heard_where_python_drops_exceptions(capfd):
    @ctypes.CFUNCTYPE(None)
    def called_back():
        signal.raise_signal(signal.SIGINT)

    def compile_for_long():
        with handle_interrupts():
            called_back()
            time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        compile_for_long()
    assert capfd.readouterr().err == ""
