"""Which reader and writer a file name chooses."""

import gzip
import os
from pathlib import Path

import pytest

from orbitmc.errors import InputError
from orbitmc.formats import read, suffixes, write
from tests.formats.samples import TEXTS, assert_same


@pytest.mark.parametrize("suffix", TEXTS)
def test_the_suffix_chooses_in_any_case_packed_or_not(suffix, tmp_path):
    plain, packed = tmp_path / f"m{suffix}", tmp_path / f"N{suffix.upper()}.GZ"
    plain.write_text(TEXTS[suffix])
    packed.write_bytes(gzip.compress(TEXTS[suffix].encode()))
    assert_same(read(plain), read(str(packed)))


@pytest.mark.parametrize("suffix", TEXTS)
def test_a_file_without_a_known_suffix_is_told_by_its_first_word(suffix, tmp_path):
    known, unknown = tmp_path / f"m{suffix}", tmp_path / "m.model"
    known.write_text(TEXTS[suffix])
    unknown.write_text("\n " * (suffix != ".xmlbif") + TEXTS[suffix])
    assert_same(read(known), read(unknown))


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    (tmp_path / "m.txt").write_text("something else")
    expected = (
        "unknown suffix '.txt'; known are .uai, .bif, .xmlbif, .xml, .json, .net, .xdsl, .coo, "
        ".ising, .bqm, each also with .gz"
    )
    for act in (read, lambda path: write(None, path)):
        with pytest.raises(InputError) as caught:
            act(tmp_path / "m.txt")
        assert str(caught.value) == f"{tmp_path}/m.txt: {expected}"
    written = (".uai", ".bif", ".xmlbif", ".xml", ".json")
    assert suffixes() == (*written, ".net", ".xdsl", ".coo", ".ising", ".bqm")


@pytest.mark.parametrize("suffix", [".net", ".xdsl", ".coo", ".ising", ".bqm"])
def test_what_is_only_read_is_not_written(tmp_path, suffix):
    with pytest.raises(InputError, match=r"are read, not written; write \.uai, \.bif"):
        write(None, tmp_path / f"m{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_missing_file_gets_the_nearest_name_in_its_folder(tmp_path):
    (tmp_path / "alarm.bif").write_text("")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "alram.bif")
    assert str(caught.value) == (
        f"{tmp_path}/alram.bif: there is no such file; did you mean 'alarm.bif'?"
    )
    with pytest.raises(InputError, match=r"there is no such file$"):
        read(tmp_path / "no folder" / "alarm.bif")


def test_a_table_over_more_variables_than_it_can_have_axes_is_refused(tmp_path):
    many = " ".join(map(str, range(65)))
    (tmp_path / "m.uai").write_text(f"MARKOV 65 {'1 ' * 65} 1 65 {many} 1 0.5")
    declared = [f"variable v{v} {{ type discrete [1] {{ x }}; }}" for v in range(65)]
    blocks = [f"probability ( v{v} ) {{ table 1; }}" for v in range(1, 65)]
    last = "probability ( " + " ".join(f"v{v}" for v in range(65)) + " ) { table 1; }"
    (tmp_path / "m.bif").write_text("\n".join([*declared, *blocks, last]))
    for name in ("m.uai", "m.bif"):
        with pytest.raises(InputError, match=rf"{name}: factor \d+ reads 65 variables, a table at"):
            read(tmp_path / name)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot read it: Is a directory"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_we_may_not_read_is_an_input_error(tmp_path):
    (tmp_path / "m.uai").write_text(TEXTS[".uai"])
    (tmp_path / "m.uai").chmod(0)
    with pytest.raises(InputError, match="cannot read it: Permission denied"):
        read(tmp_path / "m.uai")


def test_a_file_that_cannot_be_read_to_its_end_is_an_input_error(tmp_path):
    path = tmp_path / ("long" * 100 + ".uai")
    with pytest.raises(InputError, match="cannot read it: File name too long"):
        read(path)


@pytest.mark.parametrize(
    "place", ["README.md", "docs/reference/cli.md", "src/orbitmc/cli/options.py"]
)
def test_places_that_list_suffixes_list_all_of_them(place):
    text = (Path(__file__).parents[2] / place).read_text()
    assert [one for one in suffixes() if one != ".xml" and one not in text] == []
