"""Draw the packages and which imports which, from the sources themselves."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend must be chosen first

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "orbitmc"
FILE = Path(__file__).with_name("architecture.svg")
IMPORT = re.compile(r"^\s*(?:from|import) orbitmc(?:\.(\w+)| import ([\w, ]+))", re.MULTILINE)
QUESTION = (
    ("cli", "formats"),
    ("cli", "inference"),
    ("inference", "graph"),
    ("inference", "sampling"),
    ("sampling", "kernels"),
    ("inference", "estimate"),
    ("cli", "report"),
)
"""Which package calls which to answer one question, in this order; the page says what for."""
EVERYBODY_USES = ("_util", "_numba", "_simd", "errors")


def main() -> None:
    levels, counts = layers(), imports()
    missing = [call for call in QUESTION if not counts[call]]
    if missing:
        raise SystemExit(f"the path of a question is not true any more: no import {missing}")
    place = {
        name: ((number + 0.5) / len(level), -height)
        for height, level in enumerate(levels)
        for number, name in enumerate(level)
    }
    draw(place, counts)


def layers() -> list[list[str]]:
    """The layers that import-linter checks, from top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rows = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [re.findall(r"orbitmc\.(\w+)", row) for row in rows]


def imports() -> Counter[tuple[str, str]]:
    """How many files of one package import from another."""
    found: Counter[tuple[str, str]] = Counter()
    for source in SOURCES.rglob("*.py"):
        home = source.relative_to(SOURCES).parts[0].removesuffix(".py")
        lines = IMPORT.findall(source.read_text())
        targets = {name for package, names in lines for name in (package, *names.split(", "))}
        found.update((home, target) for target in targets - {home})
    return found


def draw(place, counts) -> None:
    plt.rcParams.update({"svg.hashsalt": "orbitmc", "font.size": 9, "svg.fonttype": "none"})
    figure, axis = plt.subplots(figsize=(8, 6), layout="constrained")
    axis.axis("off")
    axis.set(xlim=(0, 1), ylim=(min(y for _, y in place.values()) - 0.5, 0.5))
    boxes = {name: box(axis, name, *where) for name, where in place.items()}
    figure.draw_without_rendering()  # boxes know their size only after that
    for (home, target), count in sorted(counts.items()):
        if home in place and target in place and target not in EVERYBODY_USES:
            arrow(axis, boxes[home], boxes[target], {"color": "0.75", "lw": 0.4 + 0.04 * count})
    for number, (home, target) in enumerate(QUESTION, start=1):
        arrow(axis, boxes[home], boxes[target], {"color": "tab:blue", "lw": 1.6})
        part = 0.28 if place[home][1] - place[target][1] < 4 else 0.6  # where no box stands
        x, y = ((1 - part) * place[home][k] + part * place[target][k] for k in (0, 1))
        disc = {"boxstyle": "circle,pad=0.15", "fc": "white", "ec": "tab:blue", "lw": 0.6}
        axis.text(x, y, number, color="tab:blue", ha="center", va="center", fontsize=8, bbox=disc)
    figure.savefig(FILE, metadata={"Date": None})


def box(axis, name, x, y):
    edge = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": "0.3"}
    return axis.text(x, y, name, ha="center", va="center", bbox=edge, zorder=3)


def arrow(axis, start, end, style) -> None:
    ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
    props = {"arrowstyle": "->", "shrinkA": 0, "shrinkB": 1, **ends, **style}
    axis.annotate("", end.get_position(), start.get_position(), arrowprops=props, zorder=2)


if __name__ == "__main__":
    main()
