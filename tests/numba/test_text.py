"""Packed and plain text, and files replaced whole or not at all."""

import gzip
import os

import pytest

from orbitmc._util.files import write_atomically, write_text
from orbitmc._util.text import format_bytes, read_bytes, read_text
from orbitmc.errors import InputError, LimitError


def test_gzip_is_told_by_its_first_bytes_not_by_the_suffix(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert read_text(path).content == "one two"
    path = tmp_path / "not-packed.gz"
    path.write_bytes(b"three")
    assert read_text(path).content == "three"


@pytest.mark.parametrize("cut", [2, 5, 12, 25, 40])
def test_damaged_gzip_is_an_input_error(cut, tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"a few words to pack, and then some more of them")[:cut])
    with pytest.raises(InputError, match="the gzip data is damaged"):
        read_text(path)


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path):
    path = tmp_path / "bomb.uai"
    path.write_bytes(gzip.compress(bytes(50_000_000)))
    assert path.stat().st_size < 100_000
    with pytest.raises(LimitError) as caught:
        read_text(path, memory=2**22)
    assert str(caught.value) == (
        f"{path}: holds more than 1.0 MiB, too much for a memory limit of 4.0 MiB"
    )


def test_bytes_that_are_not_utf8_are_named_with_their_place(tmp_path):
    path = tmp_path / "latin.bif"
    path.write_bytes("first é\nsecond ".encode() + b"\xe9t\xe9")
    with pytest.raises(InputError) as caught:
        read_text(path)
    assert str(caught.value) == (f"{path}:2:8: byte 0xe9 is not UTF-8 text; save the file as UTF-8")


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbfword")
    assert read_text(path).content == "word"


def test_a_pipe_is_read_packed_or_not(tmp_path):
    for data in (b"words", gzip.compress(b"words")):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        assert read_text(f"/dev/fd/{reading}").content == "words"
        os.close(reading)


def test_a_name_that_no_file_can_have_is_an_input_error():
    with pytest.raises(InputError, match="cannot be the name of a file"):
        read_text("a\0b")
    with pytest.raises(InputError, match="cannot be the name of a file"):
        write_text("a\0b", "")


def test_packed_text_comes_back_and_is_the_same_each_time(tmp_path):
    write_text(tmp_path / "a.gz", "words é\n")
    first = (tmp_path / "a.gz").read_bytes()
    write_text(tmp_path / "a.gz", "words é\n")
    assert (tmp_path / "a.gz").read_bytes() == first
    assert read_text(tmp_path / "a.gz").content == "words é\n"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError) as caught:
        write_text(path, "new")
    assert str(caught.value) == f"{path}: cannot write it: No space left on device"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_replaced_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "x.txt", tmp_path / "link.txt"
    write_text(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_the_process_which_stay_as_they_are(
    tmp_path, monkeypatch
):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", None)  # other threads may be making files meanwhile
            write_atomically(tmp_path / "x.run", [b"bytes"])
    finally:
        os.umask(before)
    assert (tmp_path / "x.run").stat().st_mode & 0o777 == 0o640


def test_writing_into_a_folder_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot write it: No such file or directory"):
        write_text(tmp_path / "no" / "x.txt", "")
    with pytest.raises(InputError, match="cannot write it: Is a directory"):
        write_text(tmp_path, "")


def test_what_utf8_cannot_hold_is_not_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written as UTF-8"):
        write_text(tmp_path / "x.txt", "lone \ud800")


@pytest.mark.parametrize(
    ("size", "words"),
    [(5, "5 bytes"), (2**10, "1.0 KiB"), (3 * 2**29, "1.5 GiB"), (2**4000, "9.7e+288 TiB")],
)
def test_sizes_are_said_in_units(size, words):
    assert format_bytes(size) == words


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_a_large_limit_reserves_no_memory(tmp_path, pack):
    path = tmp_path / "small"
    path.write_bytes(pack(b"few words"))
    assert read_bytes(path, memory=2**60) == b"few words"


def test_a_file_is_read_in_pieces_up_to_the_limit(tmp_path):
    path = tmp_path / "some"
    path.write_bytes(bytes(range(100)))
    assert read_bytes(path, memory=400, at_once=10) == bytes(range(100))
    with pytest.raises(LimitError, match="holds more than 99 bytes"):
        read_bytes(path, memory=399, at_once=10)
