"""How many constants can be counted, in what time and memory?

Each row runs in a process of its own. Seconds are of the processor, without compiling; they hold
reading the program, all marginals and log Z.
"""

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import arguments, print_table, write_results

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

SIZES = {
    "friends and smokers, 10 % true, 10 % false": (1_000, 10_000, 100_000),
    "two habits, four cells": (1_000, 10_000),
    "soft evidence of everybody's own": (1_000, 10_000),
    "one hard sentence, log Z": (512, 1_024, 4_096),
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
    return SENTENCE, "", (), None


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
    write_results(
        settings.results,
        "lifted",
        results,
        quick=settings.quick,
        unit="seconds of the processor, MiB resident at most",
        repetitions=1,
    )


def child(name: str, people: int) -> None:
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
