"""Tutorials as notebooks have the cells, outputs and pictures of their pages."""

import json
import re
import sys

import pytest

from tests.pages import OUTPUT, PYTHON, ROOT, blocks

sys.path.insert(0, str(ROOT / "docs"))

import notebooks  # found by that line


def joined(cell, key="source"):
    return "".join(cell[key])


@pytest.mark.parametrize("page", notebooks.tutorials(), ids=lambda page: page.stem)
def test_a_notebook_has_what_its_page_has(page):
    found = notebooks.notebook(page)
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    written = blocks(page)
    assert [joined(cell) for cell in code] == [
        block.strip("\n") for language, block in written if language == PYTHON
    ]
    outputs = [one for cell in code for one in cell["outputs"]]
    printed = [joined(one, "text") for one in outputs if one["output_type"] == "stream"]
    assert printed == [block for language, block in written if language == OUTPUT]
    pictures = [one for one in outputs if one["output_type"] == "display_data"]
    saved = re.findall(r"savefig\(\"", "".join(map(joined, code)))
    assert len(pictures) == len(saved)
    assert all("<svg" in joined(one["data"], "image/svg+xml") for one in pictures)


@pytest.mark.parametrize("page", notebooks.tutorials(), ids=lambda page: page.stem)
def test_links_of_a_notebook_lead_to_the_site(page):
    text = "".join(
        joined(cell)
        for cell in notebooks.notebook(page)["cells"]
        if cell["cell_type"] == "markdown"
    )
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    for link in links:
        assert link.startswith("https://")
        if link.startswith(notebooks.SITE) and link.endswith(".html"):
            path = link.removeprefix(notebooks.SITE).removesuffix(".html")
            assert (ROOT / f"docs{path}.md").exists(), link


def test_notebooks_are_written_as_jupyter_reads_them(tmp_path):
    notebooks.write_notebooks(tmp_path)
    for path in tmp_path.glob("*.ipynb"):
        found = json.loads(path.read_text())
        assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
        names = [cell["id"] for cell in found["cells"]]
        assert len(set(names)) == len(names)
    assert len(list(tmp_path.iterdir())) == len(notebooks.tutorials())
