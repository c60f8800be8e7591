"""Ctrl-C is heard wherever it comes."""

import ctypes
import signal
import sys
import time

import pytest

from orbitmc.__main__ import main
from orbitmc.cli.stopping import heard


def test_ctrl_c_is_heard_where_python_drops_exceptions(capfd):
    @ctypes.CFUNCTYPE(None)
    def called_back():
        signal.raise_signal(signal.SIGINT)

    def compile_for_long():
        with heard():
            called_back()
            time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        compile_for_long()
    assert capfd.readouterr().err == ""


class Impatient:
    """Presses Ctrl-C while the command line is being imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "orbitmc.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_program_loads_shows_no_traceback(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "orbitmc.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Impatient, *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err.count("\n") == 1
