"""A run or a step of learning that was changed by hand goes on or is refused, in our words."""

import hashlib
import io
import json
import random
import shutil
import zipfile

import numpy as np
import pytest

from orbitmc.sampling.checkpoint import CHECKSUM, MAGIC
from tests.cli.commands import grid, orbitmc, rain
from tests.mln.learning.programs import PEOPLE, SMOKERS
from tests.mutated import mutated

FEW = ("--samples", "20", "--seed", "1", "--quiet")
WEIGHTED = "Smokes(p)\nCancer(p)\nFriends(p, p)\n1.5 Smokes(x) => Cancer(x)\n0.7 Smokes(x)\n"
UNDERSTOOD = {0, 2, 3, 4, 5}


def parts(path):
    line, _, body = path.read_bytes()[len(MAGIC) :].partition(b"\n")
    return json.loads(line), body[:-CHECKSUM]


def rewrite(path, header, body):
    data = MAGIC + json.dumps(header).encode() + b"\n" + body
    path.write_bytes(data + hashlib.blake2b(data, digest_size=CHECKSUM).digest())


def soft_question(folder):
    (folder / "seen.json").write_text('{"mood": [0.1, 0.7, 0.3], "rain": "no"}')
    return rain(folder), "-e", folder / "seen.json", "--method", "gibbs"


def moved_question(folder):
    moves = json.dumps({"base": "gibbs", "families": ["flip"], "period": 20})
    return grid(folder), "--method", "lmh", "--set", f"moves={moves}"


def logic_question(folder):
    (folder / "smokers.mln").write_text(WEIGHTED)
    (folder / "people.db").write_text(PEOPLE)
    pieces = ("-e", folder / "people.db", "-e", "!Smokes(Anna)")
    return folder / "smokers.mln", *pieces, "-q", "Smokes", "--method", "gibbs"


@pytest.mark.parametrize("question", [soft_question, moved_question, logic_question])
def test_whatever_stands_in_a_run_it_goes_on_or_is_refused(tmp_path, question):
    run = tmp_path / "x.run"
    done = orbitmc("infer", *question(tmp_path), *FEW, "--checkpoint", run)
    assert run.exists(), done.stderr
    header, body = parts(run)
    rng, codes = random.Random(2), []
    for number in range(60):
        name = rng.choice(["question", "question", "question", "schedule", "packs", "recorded"])
        changed = mutated(header[name], rng)
        rewrite(run, {**header, name: changed}, body)
        done = orbitmc("resume", run, "--quiet")
        assert done.returncode in UNDERSTOOD, (number, name, changed, done.stderr)
        codes.append(done.returncode)
        rewrite(run, header, body)
    assert codes.count(2) > 20


@pytest.fixture
def learning(tmp_path):
    """A command that learns with chains, and the members of what it keeps."""
    program, database, kept = tmp_path / "s.mln", tmp_path / "p.db", tmp_path / "kept"
    program.write_text(SMOKERS)
    database.write_text(PEOPLE)
    words = ("learn", program, database, "-q", "Smokes", "--method", "discriminative")
    words += ("--optimiser", "newton")  # by chains
    words += ("--checkpoint", kept, "-o", tmp_path / "learned.mln", "--quiet", "--iterations")
    assert orbitmc(*words, "1").returncode == 0
    with zipfile.ZipFile(kept) as file:
        return words, kept, {name: file.read(name) for name in file.namelist()}


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def pack(path, members, **settings):
    with zipfile.ZipFile(path, "w", **settings) as file:
        for name, content in members.items():
            file.writestr(name, content)


def odd_array(content, rng):
    """What an array might be instead of itself."""
    array = np.load(io.BytesIO(content))
    changes = [
        lambda: npy(array.astype(">f8")),
        lambda: npy(array.astype(np.float32)),
        lambda: npy(array.astype("U9")),
        lambda: npy(array[..., None]),
        lambda: npy(array[:-1]),
        lambda: npy(np.full(array.shape, np.nan)),
        lambda: npy(np.full(array.shape, 255, array.dtype)),
        lambda: content.replace(b"False", b"True "),
        lambda: content.replace(b"'descr': '", b"'descr': '|O', '"),
        lambda: content.replace(b"(", b"(9999999999999999999, "),
        lambda: content[: rng.randrange(len(content))],
        lambda: b"cos\nsystem\n(S'false'\ntR.",
    ]
    return rng.choice(changes)()


def test_whatever_is_in_a_step_learning_goes_on_or_refuses_it(learning):
    words, kept, members = learning
    rng, codes = random.Random(3), []
    for number in range(60):
        changed, name = dict(members), rng.choice(sorted(members))
        change = rng.choice(["array", "array", "array", "remove", "rename", "add"])
        if change == "array":
            changed[name] = odd_array(members[name], rng)
        elif change == "add":
            changed[f"kept/{rng.choice(['x', 'chains/9/values', '../..'])}.npy"] = members[name]
        else:
            content = changed.pop(name)
            if change == "rename":
                changed[rng.choice(["x", "kept/", name[:-4], "\u00e9.npy"])] = content
        pack(kept, changed)
        done = orbitmc(*words, "2")
        assert done.returncode in UNDERSTOOD, (number, change, name, done.stderr)
        codes.append(done.returncode)
    assert codes.count(2) > 25


def test_a_packed_step_is_refused_before_it_is_unpacked(learning):
    words, kept, members = learning
    bomb = {**members, "weights.npy": npy(np.zeros(2**22))}
    pack(kept, bomb, compression=zipfile.ZIP_DEFLATED)
    assert kept.stat().st_size < 2**17
    done = orbitmc(*words, "2")
    assert done.returncode == 2
    assert "no checkpoint of learning" in done.stderr


def test_members_that_lie_in_each_other_are_refused(learning):
    words, kept, members = learning
    pack(kept, {**members, "kept/large.npy": npy(np.zeros(2**16))})
    with zipfile.ZipFile(kept, "a") as file:
        large = file.getinfo("kept/large.npy")
        for _ in range(100):
            again = zipfile.ZipInfo(large.filename)
            again.header_offset, again.CRC = large.header_offset, large.CRC
            again.file_size = again.compress_size = large.file_size
            file.filelist.append(again)
        file._didModify = True
    done = orbitmc(*words, "2")
    assert done.returncode == 2
    assert "no checkpoint of learning" in done.stderr


def test_a_locked_member_is_refused(learning):
    words, kept, _ = learning
    data = bytearray(kept.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 8] |= 1  # says that a password is needed
    kept.write_bytes(bytes(data))
    done = orbitmc(*words, "2")
    assert done.returncode == 2
    assert "no checkpoint of learning" in done.stderr


def test_a_step_that_was_not_changed_goes_on(learning, tmp_path):
    words, kept, members = learning
    shutil.copy(kept, tmp_path / "copy")
    pack(kept, members)
    assert orbitmc(*words, "2").returncode == 0
