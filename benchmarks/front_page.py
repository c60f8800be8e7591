"""Which measured numbers does the README show?

It reads `results/*.json`, which the other benchmarks write, and prints the sentences and the rows
of the table that hold numbers. `--write` puts them into the README; a test compares them with it.
"""

import argparse
import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
PAGE = "docs/experiments/beside-peers.md"
COLUMNS = ("orbitmc", "pgmpy", "pyAgrum", "PyMC", "thrml", "dwave-samplers", "Alchemy")
WIDTH = 118


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
    """What the README says of each measurement, by how it begins."""
    found = {f"| {title} |": row(title, cells) for title, cells in rows().items()}
    return {**{sentence[:8]: sentence for sentence in sentences()}, **found}


def replaced(text: str, start: str, line: str) -> str:
    """Put a line, or the lines of an item, in the place of those that begin alike."""
    pattern = rf"^{re.escape(start)}.*(?:\n  .*)*"
    assert len(re.findall(pattern, text, re.MULTILINE)) == 1, start
    return re.sub(pattern, lambda _: line, text, flags=re.MULTILINE)


def row(title: str, cells: Mapping[str, str]) -> str:
    return f"| {title} | " + " | ".join(cells.get(name, "") for name in COLUMNS).rstrip() + " |"


def rows() -> dict[str, dict[str, str]]:
    """Rows of the table: who needed how much."""
    updates, alarm = of("gibbs_updates")["Ising grid"], of("gibbs_updates")["alarm"]
    again, wide = of("questions")["exact"]["alarm"], of("wide_networks")
    logic, first = of("markov_logic")["open 500"], of("startup")["commands"]["first demo"]
    return {
        "[waits for a compiler](benchmarks/startup.py) at first use": {
            "orbitmc": f"**yes, {first['cpu']:.0f} s**",
            **dict.fromkeys(("pgmpy", "pyAgrum", "dwave-samplers", "Alchemy"), "no"),
            **dict.fromkeys(("PyMC", "thrml"), "yes"),
        },
        "[Gibbs updates](benchmarks/gibbs_updates.py) a second, Ising grid": {
            "orbitmc": million(updates["orbitmc systematic"]),
            "PyMC": million(updates["pymc"]),
            "thrml": million(updates["thrml"]),
            "dwave-samplers": million(updates["dwave inner loop"]),
        },
        "the same, alarm": {
            "orbitmc": million(alarm["orbitmc systematic"]),
            "pgmpy": "[out of memory](benchmarks/peers.py)",
            "pyAgrum": million(alarm["pyagrum Gibbs"]),
        },
        f"[exact, alarm]({PAGE}#exact-answers), first and again": {
            "orbitmc": first_and_again(again["orbitmc"]),
            "pgmpy": first_and_again(again["pgmpy"]),
            "pyAgrum": first_and_again(again["pyagrum"]),
        },
        **{
            f"[exact, {name}]({PAGE}#wide-networks)": {
                "orbitmc": f"{one['orbitmc']:.1f} s",
                "pgmpy": peer(one, "pgmpy"),
                "pyAgrum": peer(one, "pyagrum"),
            }
            for name, one in wide.items()
        },
        "[MC-SAT samples](benchmarks/markov_logic.py) a second, 250,900 atoms": {
            "orbitmc": f"{logic['MC-SAT/s']:.0f}",
            "Alchemy": f"{logic['Alchemy']:g}",
        },
    }


def sentences() -> list[str]:
    """The two items before the table."""
    wide, stuck = of("wide_networks"), of("stuck")["Chimera, droplet instance"]["errors"]
    munin, link = wide["munin1"], wide["link"]
    memory = max(one["MiB"] for one in wide.values())
    exact = (
        "- **Exact**: all marginals of the networks munin1 and link take "
        f"{munin['orbitmc']:.1f} and {link['orbitmc']:.1f} s of CPU time and at most "
        f"{memory:.0f} MiB of tables. pyAgrum: {peer(munin, 'pyagrum')} on munin1, "
        f"{peer(link, 'pyagrum')} on link ([how this was measured]({PAGE}#wide-networks))."
    )
    gibbs, lmh = (stuck[who]["5"] for who in ("Gibbs", "LMH"))
    sampled = (
        "- **Sampled**: on a Chimera graph of 128 spins at β = 1 (a droplet instance), five CPU "
        "seconds of LMH, its search for jumps included, leave a mean KL divergence of "
        f"{lmh['best']:.0e} to {lmh['worst']:.0e} from the exact marginals, depending on the seed, "
        f"where those of Gibbs leave {gibbs['best']:.0e} to {gibbs['worst']:.0e} "
        f"([how]({PAGE}#chimera-at-beta-1))."
    )
    whole = {"break_on_hyphens": False, "break_long_words": False}
    return [textwrap.fill(one, WIDTH, subsequent_indent="  ", **whole) for one in (exact, sampled)]


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
