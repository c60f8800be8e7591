"""Tutorials as notebooks: the same text, code, output and pictures, in cells.

Tests run the code of every tutorial and compare what it prints with the page, so the outputs in a
notebook are true. Pictures are those that the code beside them has drawn.
"""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tutorials"
SITE = "https://orbitmc.readthedocs.io/en/latest"
PLACE = (
    "*This notebook reads files in `examples/` of the "
    "[repository](https://github.com/orbitmc/orbitmc): run it in that folder.*"
)
BLOCK = re.compile(r"^```(python|output)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]*\]\((\w[\w-]*\.svg)\)\n", re.MULTILINE)


def tutorials() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


def notebook(page: Path) -> dict[str, Any]:
    """A page of the documentation in the format of Jupyter, version 4.5."""
    cells: list[dict[str, Any]] = []
    kind, pieces = "markdown", BLOCK.split(page.read_text())
    for place, piece in enumerate(pieces):
        if place % 3 == 1:
            kind = piece
        elif kind == "output":
            cells[-1]["outputs"].append(_printed(piece))
            kind = "markdown"
        elif kind == "python":
            cells.append(_cell("code", piece, len(cells), execution_count=None, outputs=[]))
            kind = "markdown"
        else:
            _add_text(cells, piece, page.parent)
    cells.insert(1, _cell("markdown", PLACE, len(cells)))
    language = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": language, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": cells}


def _add_text(cells: list[dict[str, Any]], text: str, folder: Path) -> None:
    """Words as a cell; pictures go to the code before them, which draws them."""
    if cells and cells[-1]["cell_type"] == "code":
        cells[-1]["outputs"] += [_drawn(folder / name) for name in PICTURE.findall(text)]
        text = PICTURE.sub("", text)
    words = _with_addresses(text).strip()
    if words:
        cells.append(_cell("markdown", words, len(cells)))


def _cell(kind: str, text: str, number: int, **more: Any) -> dict[str, Any]:
    source = text.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source, **more}


def _printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def _drawn(path: Path) -> dict[str, Any]:
    shown = {"image/svg+xml": path.read_text().splitlines(keepends=True)}
    return {"output_type": "display_data", "data": shown, "metadata": {}}


def _with_addresses(text: str) -> str:
    """Links to other pages and pictures lead to the site."""

    def address(found: re.Match[str]) -> str:
        path = (Path("tutorials") / found[1]).as_posix()
        path = re.sub(r"[\w-]+/\.\./", "", path)
        whole = path.replace(".md", ".html")
        return f"]({SITE}/{'_images/' if path.endswith('.svg') else ''}{whole}{found[2] or ''})"

    return re.sub(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)", address, text)


def write_notebooks(folder: Path) -> None:
    """Write all tutorials into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in tutorials():
        path = folder / f"{page.stem}.ipynb"
        path.write_text(json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n")
