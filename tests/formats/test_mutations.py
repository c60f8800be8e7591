"""Whatever the bytes of a file are, only our own error comes out of a reader.

What a reader accepts is answered, and then the numbers sum to one, or it is refused.
"""

import gzip
import random
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.errors import OrbitError
from orbitmc.formats import read, read_evidence, read_mar, read_pr
from orbitmc.graph.model import Model
from tests.answers import MEMORY, answered, ends_well
from tests.formats.samples import BIF, EVIDENCE_JSON, EVIDENCE_UAI, ONLY_READ, TEXTS

NAMES = """{"format": "orbitmc-names", "version": 1, "variables": [
{"name": "a", "values": ["x", "y"]}, {"name": "b", "values": ["x", "y"]},
{"name": "c", "values": ["x", "y", "z"]}]}"""

PIECES = [
    b"0",
    b"1",
    b"-1",
    b"9" * 25,
    b"1e999",
    b"nan",
    b"\xff",
    b"\0",
    b'"',
    b"{",
    b"}",
    b"(",
    b")",
]
PIECES += [
    b" ",
    b"\n",
    b",",
    b";",
    b"[",
    b"]",
    b"|",
    b"<",
    b">",
    b"&a;",
    b"/*",
    b"//",
    b"null",
    b"e",
]
PIECES += [
    b"true",
    b"[" * 3000,
    b"\\ud800",
    b"_",
    b"\xc2\xa0",
    b"\xd9\xa2",
    b"\x1f\x8b",
    b"infinity",
]
PIECES += [b"1e308", b"-1e308", b"1e-308", b"e300", b"e-300", b"1e16", b"-inf"]


@st.composite
def mutations(draw, texts):
    """A valid file with some bytes flipped, inserted, deleted, cut off or spliced in."""
    data = draw(st.sampled_from(texts)).encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(start + 12, len(data))))
        change = draw(st.sampled_from(["flip", "insert", "delete", "cut", "splice"]))
        if change == "flip" and start < len(data):
            byte = data[start] ^ (1 << draw(st.integers(0, 7)))
            data = data[:start] + bytes([byte]) + data[start + 1 :]
        elif change == "insert":
            data = data[:start] + draw(st.sampled_from(PIECES)) + data[start:]
        elif change == "delete":
            data = data[:start] + data[stop:]
        elif change == "cut":
            data = data[:start]
        elif change == "splice":
            other = draw(st.sampled_from(texts)).encode()
            place = draw(st.integers(0, len(other)))
            data = data[:start] + other[place : place + draw(st.integers(1, 60))] + data[stop:]
    return data


def outcome(act, *arguments):
    """What a reader gives: a value, or our own error."""
    try:
        return act(*arguments, memory=MEMORY)
    except OrbitError as error:
        return error


EVERY = TEXTS | ONLY_READ


@pytest.mark.parametrize("suffix", EVERY)
def test_any_model_file_gives_a_model_or_our_error(suffix):
    @settings(max_examples=400, derandomize=True, deadline=None)
    @given(data=mutations([EVERY[suffix]]) | st.binary(max_size=60))
    def check(data):
        path.write_bytes(data)
        found = outcome(read, path)
        assert isinstance(found, Model | OrbitError)
        if isinstance(found, Model):
            answered(found)

    with TemporaryDirectory() as folder:
        path = Path(folder) / f"m{suffix}"
        check()


DECIMAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e-?\d+)?|e-?\d+)(?![\w.])")
NUMBERS = ["0", "1", "2", "-1", "1e308", "-1e308", "1.7e308", "1e-308", "5e-324", "1e300", "1e-300"]
NUMBERS += ["1e16", "-1e16", "1e7", "-1e7", "700", "-700", "1e999", "0.5", '"-inf"', "NaN", "0.0"]


@st.composite
def other_numbers(draw, text):
    """A valid file with some of its weights exchanged: many are read."""
    places = [found.span() for found in DECIMAL.finditer(text)]
    chosen = draw(st.lists(st.sampled_from(places), min_size=1, max_size=6, unique=True))
    for start, stop in sorted(chosen, reverse=True):
        text = text[:start] + draw(st.sampled_from(NUMBERS)) + text[stop:]
    return text


def answers_to_numbers(suffix, examples):
    """Which of the files that were read were answered."""

    @settings(max_examples=examples, derandomize=True, deadline=None)
    @given(text=other_numbers(TEXTS[suffix]))
    def check(text):
        path.write_text(text)
        found = outcome(read, path)
        if isinstance(found, Model):
            answers.append(answered(found))

    answers = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"m{suffix}"
        check()
    return answers


@pytest.mark.parametrize("suffix", TEXTS)
def test_any_numbers_that_are_read_are_answered_or_refused(suffix):
    assert sum(answers_to_numbers(suffix, 300)) > 30  # so this is about answers


@pytest.mark.slow
@pytest.mark.parametrize("suffix", TEXTS)
def test_answers_stay_within_limits_of_time_and_memory(suffix):
    assert ends_well(answers_to_numbers, suffix, 5_000)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(data=mutations([NAMES]))
def test_any_names_beside_a_model_give_a_model_or_our_error(data):
    with TemporaryDirectory() as folder:
        (Path(folder) / "m.uai").write_text(TEXTS[".uai"])
        (Path(folder) / "m.uai.json").write_bytes(data)
        assert isinstance(outcome(read, Path(folder) / "m.uai"), Model | OrbitError)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(data=mutations([EVIDENCE_JSON, EVIDENCE_UAI]))
def test_any_evidence_file_gives_evidence_or_our_error(data):
    with TemporaryDirectory() as folder:
        (Path(folder) / "m.bif").write_text(BIF)
        model = read(Path(folder) / "m.bif")
        (Path(folder) / "e").write_bytes(data)
        found = outcome(read_evidence, Path(folder) / "e", model)
        assert isinstance(found, dict | OrbitError)
        if isinstance(found, dict):
            answered(model, found)


RESULTS = ["MAR\n2 2 0.5 0.5 1 1.0", "PR\n-17.2155", "PR\n1\n-17.5\n-BEGIN-\n1\n-17.2"]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(data=mutations([*RESULTS, "MAR 1 1 1 1.0"]))
def test_any_result_file_gives_numbers_or_our_error(data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        path.write_bytes(data)
        assert isinstance(outcome(read_mar, path), list | OrbitError)
        assert isinstance(outcome(read_pr, path), float | OrbitError)


def test_any_packed_file_gives_a_model_or_our_error(tmp_path):
    draw = random.Random(1)
    whole = gzip.compress(TEXTS[".bif"].encode(), mtime=0)
    for _ in range(300):
        data = bytearray(whole)
        data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / "m.bif.gz").write_bytes(
            data[: draw.randrange(len(data)) if draw.random() < 0.3 else None]
        )
        assert isinstance(outcome(read, tmp_path / "m.bif.gz"), Model | OrbitError)


def greedy(_, gigabytes):
    return [len(bytearray(gigabytes * 2**30))]


@pytest.mark.slow
def test_limits_end_what_goes_beyond_them():
    assert ends_well(greedy, "", 1)
    assert not ends_well(greedy, "", 8)
