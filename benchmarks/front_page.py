"""Which measured numbers does the README show?

It reads `results/*.json`, which the other benchmarks write, and prints the sentences and the rows
of tables that hold numbers. `--write` puts them into the README; a test compares them with it.
"""

import argparse
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
PAGE = "docs/experiments/beside-peers.md"
COLUMNS = ("orbitmc", "pgmpy", "pyAgrum", "PyMC", "thrml", "dwave-samplers", "Alchemy")
TIMES = ("first", "again")
WIDTH = 118
COMPETITION = "- **Comp"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the numbers into the README")
    options = parser.parse_args()
    written = README.read_text()
    for start, line in lines().items():
        print(line)
        written = replaced(written, start, line)
    if options.write:
        README.write_text(written)


def lines() -> dict[str, str]:
    """What the README says of each measurement that was made, by how it begins."""
    found = {}
    for make in (exact_fact, sampled_fact, competition_fact):
        with suppress(FileNotFoundError):
            sentence = make()
            found[sentence[:8]] = sentence
    for title, cells in ROWS.items():
        with suppress(FileNotFoundError):
            found[f"| {title} |"] = row(title, cells())
    with suppress(FileNotFoundError):
        for name, network in of("questions")["exact"].items():
            found[f"| {name} |"] = network_row(name, network)
    return found


def network_row(name: str, found: Mapping[str, Any]) -> str:
    """CPU milliseconds of all marginals of a network; none of a peer that gave no answer."""
    keys = (*(("orbitmc", k) for k in TIMES), *(("pyagrum", k) for k in TIMES), ("pgmpy", "again"))
    words = [milliseconds(found[who][key]) if who in found else "none" for who, key in keys]
    return f"| {name} | {found['variables']} | {' | '.join(words)} |"


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.1f}"


def replaced(text: str, start: str, line: str) -> str:
    """Put a line, or the lines of an item, in the place of those that begin alike."""
    pattern = rf"^{re.escape(start)}.*(?:\n  .*)*"
    if start == COMPETITION and start not in text:  # it comes after the last of the facts
        return re.sub(
            r"^- \*\*Sampled\*\*.*(?:\n  .*)*", rf"\g<0>\n{line}", text, flags=re.MULTILINE
        )
    assert len(re.findall(pattern, text, re.MULTILINE)) == 1, start
    return re.sub(pattern, lambda _: line, text, flags=re.MULTILINE)


def row(title: str, cells: Mapping[str, str]) -> str:
    words = [title, *(cells.get(name, "") for name in COLUMNS)]
    return f"|{'|'.join(f' {word} ' if word else ' ' for word in words)}|"


def waiting() -> dict[str, str]:
    first = of("startup")["commands"]["first demo"]
    return {
        "orbitmc": f"**yes, {first['cpu']:.0f} s**",
        **dict.fromkeys(("pgmpy", "pyAgrum", "dwave-samplers", "Alchemy"), "no"),
        **dict.fromkeys(("PyMC", "thrml"), "yes"),
    }


def ising() -> dict[str, str]:
    found = of("gibbs_updates")["Ising grid"]
    return {
        "orbitmc": million(found["orbitmc systematic"]),
        "PyMC": million(found["pymc"]) if "pymc" in found else "",
        "thrml": million(found["thrml"]),
        "dwave-samplers": million(found["dwave inner loop"]),
    }


def alarm() -> dict[str, str]:
    found = of("gibbs_updates")["alarm"]
    return {
        "orbitmc": million(found["orbitmc systematic"]),
        "pgmpy": "[out of memory](benchmarks/peers.py)",
        "pyAgrum": million(found["pyagrum Gibbs"]),
    }


def exact_alarm() -> dict[str, str]:
    found = of("questions")["exact"]["alarm"]
    names = {"orbitmc": "orbitmc", "pgmpy": "pgmpy", "pyAgrum": "pyagrum"}
    return {ours: first_and_again(found[theirs]) for ours, theirs in names.items()}


def exact_wide(name: str) -> dict[str, str]:
    found = of("wide_networks")[name]
    return {
        "orbitmc": f"{found['orbitmc']:.2g} s",
        "pgmpy": peer(found, "pgmpy"),
        "pyAgrum": peer(found, "pyagrum"),
    }


def mc_sat() -> dict[str, str]:
    found = of("markov_logic")["open 500"]
    return {"orbitmc": f"{found['MC-SAT/s']:.0f}", "Alchemy": f"{found['Alchemy']:g}"}


ROWS: dict[str, Callable[[], dict[str, str]]] = {
    "[waits for a compiler](benchmarks/startup.py) at first use": waiting,
    "[Gibbs updates](benchmarks/gibbs_updates.py) a second, Ising grid": ising,
    "the same, alarm": alarm,
    f"[exact, alarm]({PAGE}#exact-answers), first and again": exact_alarm,
    f"[exact, munin1]({PAGE}#wide-networks)": partial(exact_wide, "munin1"),
    f"[exact, link]({PAGE}#wide-networks)": partial(exact_wide, "link"),
    "[MC-SAT samples](benchmarks/markov_logic.py) a second, 250,900 atoms": mc_sat,
}
"""Rows of the table: who needed how much."""


def exact_fact() -> str:
    wide = of("wide_networks")
    munin, link = wide["munin1"], wide["link"]
    memory = max(munin["MiB"], link["MiB"])
    return item(
        "- **Exact**: all marginals of the networks munin1 and link take "
        f"{munin['orbitmc']:.2g} and {link['orbitmc']:.2g} s of CPU time and at most "
        f"{memory:.0f} MiB of tables, where pyAgrum takes {peer(munin, 'pyagrum')} and "
        f"{peer(link, 'pyagrum')} ([how this was measured]({PAGE}#wide-networks))."
    )


def competition_fact() -> str:
    """What the scoreboard of a competition says, of each time limit."""
    boards = sorted(of("uai_scoreboard").items(), key=lambda one: float(one[0]))
    counted = [
        f"{board['exact']} are answered exactly and {board['believed']} are to be believed after "
        f"{seconds} s of one thread"
        for seconds, board in boards
    ]
    board = boards[-1][1]
    wrong = len(board["published answers that are wrong"])
    beside = f"; {wrong} published answers are wrong" if wrong else ""
    return item(
        f"- **Competition**: of {board['problems']} problems of UAI 2014 (marginals), "
        f"{', '.join(counted)}{beside} ([picture](docs/experiments/uai.svg), "
        f"[how]({PAGE}#a-competition))."
    )


def sampled_fact() -> str:
    stuck = of("stuck")["Chimera, droplet instance"]["errors"]
    gibbs, lmh = (stuck[who]["5"] for who in ("Gibbs", "LMH"))
    return item(
        "- **Sampled**: on a Chimera graph of 128 spins at β = 1 (a droplet instance), five CPU "
        "seconds of LMH, its search for jumps included, leave a mean KL divergence of "
        f"{lmh['best']:.0e} to {lmh['worst']:.0e} from the exact marginals, depending on the seed, "
        f"where those of Gibbs leave {gibbs['best']:.0e} to {gibbs['worst']:.0e} "
        f"([how]({PAGE}#chimera-at-beta-1))."
    )


def item(text: str) -> str:
    whole = {"break_on_hyphens": False, "break_long_words": False}
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", **whole)


def of(name: str) -> Any:
    """What a benchmark wrote."""
    return json.loads((RESULTS / f"{name}.json").read_text())["results"]


def million(found: Mapping[str, float]) -> str:
    """Updates a second in few digits."""
    number = found["best"] / 1e6
    if number < 0.1:
        return f"{1e3 * number:.2g} thousand"
    return f"{number:,.0f} million" if number >= 10 else f"{number:.2g} million"


def first_and_again(found: Mapping[str, float]) -> str:
    first, again = (1e3 * found[key] for key in ("first", "again"))
    return f"{first:.1f} and {again:.1f} ms" if again < 10 else f"{first:.0f} and {again:.0f} ms"


def peer(found: Mapping[str, Any], name: str) -> str:
    """The seconds of a peer, or why it has none."""
    if name not in found:
        return ""
    return f"{found[name]:.2g} s" if found[name] is not None else found[f"{name} ended"]


if __name__ == "__main__":
    main()
