"""Whatever breaks inside gets its exit code and one line."""

import errno
import json

from tests.cli.commands import orbitmc, rain


def test_an_answer_that_cannot_be_written_after_all_is_printed(tmp_path, monkeypatch):
    def full(path, pieces):
        raise OSError(errno.ENOSPC, "No space left on device")

    model = rain(tmp_path)
    monkeypatch.setattr("orbitmc._util.files._replace", full)
    done = orbitmc("infer", model, "-o", tmp_path / "x.csv", "--quiet")
    assert done.returncode == 2
    assert f"{tmp_path / 'x.csv'}: cannot write it: No space left on device" in done.stderr
    assert set(json.loads(done.stdout)["variables"]) == {"rain", "grass", "mood"}


def test_a_bug_asks_to_be_reported(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("of all things")

    monkeypatch.setattr("orbitmc.formats.registry.suffix", broken)
    done = orbitmc("check", "x.uai")
    assert done.returncode == 1
    assert "this is a bug of orbitmc: RuntimeError: of all things" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in orbitmc("check", "x.uai", "--debug").stderr


def test_ctrl_c_inside_compiled_code_is_no_bug(monkeypatch):
    def interrupted(*_, **__):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("orbitmc.formats.registry.suffix", interrupted)
    done = orbitmc("check", "x.uai")
    assert done.returncode == 130
    assert "bug" not in done.stderr
