"""How many constants can be counted, learned from or sampled, in what time and memory?

Each row runs in a process of its own. Seconds are of the processor, without compiling. Of programs
that are counted they hold reading, all marginals and log Z; of learning, all iterations; of chains
of cells, reading, modes and 20 samples of 64 chains, and `M/s` are millions of cells a second.
Sentences have whole numbers of models, which are counted apart: `error` is what log Z is off from
their logarithm, as a share of it. Beside them are the seconds that FastWFOMC and Gantry publish for
one such sentence about friends; they count integers, on other machines.
"""

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import arguments, print_table, write_results

from orbitmc.sampling.pack import start_pack, walk

HABITS = """Smokes(p)
Drinks(p)
Friends(p,p)
{w!r} Friends(x,y) => (Smokes(x) <=> Smokes(y))
{v!r} Friends(x,y) => (Drinks(x) <=> Drinks(y))
0.5 Smokes(x) => Drinks(x)
"""
SMOKERS = """Smokes(p)
Cancer(p)
Friends(p,p)
1.5 Smokes(x) => Cancer(x)
{w!r} Friends(x,y) => (Smokes(x) <=> Smokes(y))
"""
SENTENCE = "Smokes(p)\nFriends(p,p)\nFriends(x,y) ^ Smokes(x) => Smokes(y).\n"
MUTUAL = SENTENCE + "Friends(x,y) => Friends(y,x).\n!Friends(x,x).\n"
PUBLISHED = {512: ("39", "-"), 1_024: ("465", "2.0"), 4_096: ("-", "224")}

TOWN = """Smokes(p)
Friends(p,p)
Smokes(x)
Friends(x,y)
Friends(x,y) => (Smokes(x) <=> Smokes(y))
"""
FRIENDS = """Smokes(p)
Cancer(p)
Friends(p,p)
1.5 Smokes(x) => Cancer(x)
0.3 Friends(x,y) => (Smokes(x) <=> Smokes(y))
-0.5 Smokes(x)
{w!r} Friends(x,y)
"""
LEARNED = "three weights learned, five friends each"
SAMPLED = "cells sampled, five observed friends each"
OTHERS = {LEARNED: (1_000, 10_000), SAMPLED: (10_000, 100_000)}
SIZES = {
    "friends and smokers, 10 % true, 10 % false": (1_000, 10_000, 100_000),
    "two habits, four cells": (1_000, 10_000),
    "soft evidence of everybody's own": (1_000, 10_000),
    "one hard sentence, log Z": (512, 1_024, 4_096),
    "one hard sentence, mutual friends, log Z": (512, 1_024, 4_096),
    "a tree of observed friends": (1_000, 4_000),
}


def program(name: str, people: int) -> tuple[str, str, tuple[str, ...], str | None]:
    """Rules, facts, open predicates and what is asked."""
    if name.startswith("friends"):
        facts = [f"Smokes(P{n})" for n in range(people // 10)]
        facts += [f"!Smokes(P{n})" for n in range(people // 10, people // 5)]
        return SMOKERS.format(w=1 / people), "\n".join(facts), ("Smokes",), None
    if name.startswith("two"):
        return HABITS.format(w=1 / people, v=0.7 / people), "", (), None
    if name.startswith("soft"):
        facts = [f"{0.1 + 0.8 * n / people:.6f} Smokes(P{n})" for n in range(people)]
        query = "Smokes;Cancer;Friends(P0,x)"
        return SMOKERS.format(w=1 / people), "\n".join(facts), ("Smokes",), query
    if name.startswith("a tree"):
        facts = [f"Friends(P{n},P{(n - 1) // 2})" for n in range(1, people)]
        query = "Smokes;Cancer;Friends(P0,P9)"
        return SMOKERS.format(w=1 / people), "\n".join(facts), ("Friends",), query
    return MUTUAL if "mutual" in name else SENTENCE, "", (), None


def error_of(name: str, people: int, log_z: float) -> float:
    """How far log Z is from that of the number of models, a sum over how many smoke."""
    edges = people * (people - 1) // 2 if "mutual" in name else people * people
    models = sum(math.comb(people, k) << (edges - k * (people - k)) for k in range(people + 1))
    return abs(log_z / math.log(models) - 1.0)


def main() -> None:
    settings = arguments(__doc__.splitlines()[0])
    results, rows = {}, []
    for name, sizes in SIZES.items():
        for people in sizes[:1] if settings.quick else sizes:
            command = [sys.executable, __file__, "--child", name, str(people)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seconds, mebibytes, log_z, shown = printed.split()
            rows.append([name, people, float(seconds), float(mebibytes), float(log_z), int(shown)])
            results[f"{name}, {people}"] = {
                "seconds": float(seconds),
                "MiB": float(mebibytes),
                "log Z": float(log_z),
            }
    headings = ["program", "people", "seconds", "MiB", "log Z", "rows"]
    print_table("Programs that are counted", headings, rows)
    beside = []
    for name, people, seconds, _, log_z, _ in rows:
        if "sentence" in name:
            error = error_of(name, people, log_z)
            results[f"{name}, {people}"]["error"] = error
            beside.append([name, people, seconds, f"{error:.0e}", *PUBLISHED[people]])
    headings = ["sentence", "people", "seconds", "error", "FastWFOMC", "Gantry"]
    print_table("Beside what others publish, seconds", headings, beside)
    rows = []
    for name, sizes in OTHERS.items():
        for people in sizes[:1] if settings.quick else sizes:
            command = [sys.executable, __file__, "--child", name, str(people)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seconds, mebibytes, number = map(float, printed.split())
            rows.append([name, people, seconds, mebibytes, number])
            what = "iterations" if name == LEARNED else "million cells a second"
            results[f"{name}, {people}"] = {"seconds": seconds, "MiB": mebibytes, what: number}
    headings = ["program", "people", "seconds", "MiB", "iterations, M/s"]
    print_table("Weights that are learned, cells that are sampled", headings, rows)
    write_results(
        settings.results,
        "lifted",
        results,
        quick=settings.quick,
        unit="seconds of the processor, MiB resident at most",
        repetitions=1,
    )


def friends(people: int, seed: int = 0) -> tuple[list[bool], list[str]]:
    """Who smokes, and five friends of each, who mostly do the same."""
    rng = np.random.default_rng(seed)
    smokes = (rng.random(people) < 0.3).tolist()
    pairs = np.column_stack(
        [np.repeat(np.arange(people), 5), rng.integers(people, size=5 * people)]
    )
    facts = {
        f"Friends(P{a},P{b})"
        for a, b in pairs.tolist()
        if a != b and (smokes[a] == smokes[b] or rng.random() < 0.3)
    }
    return smokes, sorted(facts)


def learn(people: int) -> tuple[float, float]:
    """Learn three weights; seconds, and iterations."""
    from orbitmc.mln.data.reader import parse_database
    from orbitmc.mln.language.parser import parse
    from orbitmc.mln.learning import LearningSettings
    from orbitmc.mln.learning import learn as learn_weights

    smokes, facts = friends(people)
    facts += [f"{'' if one else '!'}Smokes(P{n})" for n, one in enumerate(smokes)]
    program = parse(TOWN, learning=True)
    database = parse_database("\n".join(facts), program)
    settings = LearningSettings(method="discriminative")
    learn_weights(program, [parse_database("\n".join(facts[-40:]), program)], settings)  # compiles
    begun = time.process_time()
    learned = learn_weights(program, [database], settings)
    assert learned.converged
    return time.process_time() - begun, learned.step.iteration


def sample_cells(people: int) -> tuple[float, float]:
    """Sample cells; seconds, and million updates a second beside recording."""
    import orbitmc as om

    _, facts = friends(people)
    with tempfile.TemporaryDirectory() as folder:
        rule_file, fact_file = Path(folder, "rules.mln"), Path(folder, "facts.db")
        constants = ", ".join(f"P{n}" for n in range(people))
        rules = FRIENDS.format(w=-math.log(people / 2))
        rule_file.write_text(f"p = {{{constants}}}\n{rules}")
        fact_file.write_text("\n".join(facts))
        asked = answer = None
        for samples in (2, 20):  # the first one compiles
            del asked, answer  # one program at a time
            begun = time.process_time()
            asked = om.read_logic(rule_file, fact_file, opened=["Friends"])
            answer = om.marginals(asked, query="Smokes", samples=samples, packs=1, threads=1)
            seconds = time.process_time() - begun
        chain = asked.source.cells
    prepared = om.kernels.prepare(chain.model.graph)
    pack = start_pack(prepared, chain.kernel, seed=0, number=0, lanes=64)
    steps = 10 * len(chain.sort)
    walk(prepared, chain.kernel, pack, steps)
    begun = time.process_time()
    walk(prepared, chain.kernel, pack, steps)
    assert answer.about.samples == 20
    return seconds, steps * 64 / 1e6 / (time.process_time() - begun)


def child(name: str, people: int) -> None:
    """Do what a row needs, and print what it took."""
    import resource

    if name in SIZES:
        count(name, people)
        return
    seconds, number = learn(people) if name == LEARNED else sample_cells(people)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(seconds, peak, number)


def count(name: str, people: int) -> None:
    """Answer one question twice, and tell of the second time."""
    import resource

    import orbitmc as om

    rules, facts, opened, query = program(name, people)
    with tempfile.TemporaryDirectory() as folder:
        rule_file, fact_file = Path(folder, "rules.mln"), Path(folder, "facts.db")
        constants = ", ".join(f"P{n}" for n in range(people))
        rule_file.write_text(f"p = {{{constants}}}\n{rules}")
        fact_file.write_text(facts)
        seconds = math.inf
        for _ in range(2):  # the first one compiles
            begun = time.process_time()
            asked = om.read_logic(rule_file, fact_file, opened=opened)
            answer = om.marginals(asked, query=query, method="counting")
            seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(seconds, peak, answer.about.log_z, len(answer))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main()
