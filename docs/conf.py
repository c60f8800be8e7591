"""Settings of the documentation."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from notebooks import tutorials, write_notebooks  # found by that line

from orbitmc.version import __version__

project = "orbitmc"
author = "The orbitmc developers"
copyright = f"2026, {author}"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"orbitmc {release}"
myst_heading_anchors = 3
default_role = "code"  # docstrings have single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "all"

LISTED = ("Parameters:", "Settings:")
described: set[str] = set()
"""What says all about its parameters in its own docstring."""


def shorten_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Leave settings to their own page, and say defaults as people do."""
    if signature is None:
        return None
    if name == "orbitmc.Settings":
        return "(**settings)", returned
    short = re.sub(r", method='auto', base=.*checkpoint_every=None", ", **options", signature)
    short = re.sub(r"<class '(?:[\w.]*\.)?(\w+)'>", r"\1", short)
    return short.replace("4294967296", "4 * 2**30"), returned


def shorten_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Leave the list of settings to the page of `Settings`."""
    if name == "orbitmc.Settings" or any(title in lines for title in LISTED):
        described.add(name)
    if "Settings:" in lines:
        del lines[lines.index("Settings:") :]
        lines += ["Further keywords are fields of :class:`orbitmc.Settings`.", ""]


def types_once(app: Any, domain: str, kind: str, content: Any) -> None:
    """Say no types again where the docstring has said them; what is returned stays."""
    known = app.env.current_document.autodoc_annotations
    for name in described & known.keys():
        known[name] = {"return": known[name]["return"]} if "return" in known[name] else {}


NOTEBOOK = (
    '<p><a class="reference download" href="{}.ipynb" download>This page as a notebook</a>, '
    "to run and to change.</p>"
)


def offer_notebook(app: Any, name: str, template: str, context: Any, document: Any) -> None:
    """Put a link to the notebook below the title of a tutorial."""
    own = {f"tutorials/{page.stem}": page.stem for page in tutorials()}
    if name in own and "body" in context:
        context["body"] = context["body"].replace("</h1>", f"</h1>{NOTEBOOK.format(own[name])}", 1)


def add_notebooks(app: Any, error: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if error is None and app.builder.format == "html":
        write_notebooks(Path(app.outdir) / "tutorials")


def setup(app: Any) -> None:
    app.connect("html-page-context", offer_notebook)
    app.connect("build-finished", add_notebooks)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", shorten_docstring)
    app.connect("object-description-transform", types_once, priority=100)
