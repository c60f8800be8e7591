"""Settings of the documentation."""

from orbitmc.version import __version__

project = "orbitmc"
author = "The orbitmc developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"orbitmc {release}"
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
