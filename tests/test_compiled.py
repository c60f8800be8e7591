"""The folder of machine code belongs to the sources that may hold compiled code."""

import re
from pathlib import Path

import pytest

import orbitmc
from orbitmc.compiled import NEVER_COMPILED

SOURCES = Path(orbitmc.__file__).parent


@pytest.mark.parametrize("room", sorted(NEVER_COMPILED))
def test_rooms_left_out_of_the_hash_compile_nothing(room):
    for source in (SOURCES / room).rglob("*.py"):
        text = source.read_text()
        assert not re.search(r"^\s*(import|from) numba", text, re.MULTILINE), source
        assert not re.search(r"^\s*@(compiled|shared|generic|implementation)", text, re.MULTILINE)
