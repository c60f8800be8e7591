"""Streams of random numbers do not meet."""

import itertools
import re
from pathlib import Path

import orbitmc
from orbitmc._simd.random import Stream

SOURCES = Path(orbitmc.__file__).parent
ROOM = 2**20  # packs, rounds or groups that count on from the beginning of a stream


def test_streams_begin_far_from_each_other():
    begins = sorted(Stream)
    assert all(later - earlier > ROOM for earlier, later in itertools.pairwise(begins))
    assert all(0 <= stream < 2**32 - ROOM for stream in begins)  # a word of a seed sequence


def test_no_file_has_a_stream_of_its_own():
    """Large numbers in seeds are those of `Stream`."""
    own = re.compile(r"(?:generator|spawn_key)[^\n]*(?:2\*\*\d\d|\b[A-Z_]+ [+-])")
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCES.rglob("*.py")
        for line in path.read_text().splitlines()
        if own.search(line) and "Stream." not in line
    ]
    assert found == []
