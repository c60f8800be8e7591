"""Pairs as text: a line `A B 0.5` says how much log-weight two yes-no variables earn if they agree.

Variables are named in the order in which they first occur. `#` begins a comment.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from orbitmc._util.text import MEMORY, Text, quote, read_text, require_memory
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model

LINE = re.compile(r"[^\n]+")
BYTES_PER_LETTER = 40


def read_pairs(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a model; nothing in the file is executed, and its size is checked first."""
    text = read_text(path, memory=memory)
    require_memory(text.source, BYTES_PER_LETTER * len(text.content), memory)
    pairs = list(_pairs(text))
    if not pairs:
        raise text.error(0, "expected lines such as A B 0.5, found none")
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair[:2]))
    places = {name: place for place, name in enumerate(names)}
    builder = Builder([2] * len(names))
    for one, other, weight in pairs:
        builder.add_factor([places[one], places[other]], [[weight, 0.0], [0.0, weight]])
    return Model(builder.build(), names, (("no", "yes"),) * len(names))


def _pairs(text: Text) -> Iterator[tuple[str, str, float]]:
    for line in LINE.finditer(text.content):
        content = line[0].partition("#")[0]
        words = content.split()
        if not words:
            continue
        if len(words) != 3 or words[0] == words[1]:
            raise text.error(line.start(), "expected two variables and a number: A B 0.5")
        yield words[0], words[1], _number(text, line.start() + content.rfind(words[2]), words[2])


def _number(text: Text, place: int, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if "_" in word or not math.isfinite(number):
        raise text.error(place, f"{quote(word)} is not a finite number")
    return number
