"""Click evidence in a notebook, and see what it changes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Unpack

from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.explorer.exploration import Exploration, explored
from orbitmc.explorer.server import read_asset
from orbitmc.explorer.subject import Origin, findings_of
from orbitmc.graph.model import Model
from orbitmc.inference.query import require_plain, require_program
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

if TYPE_CHECKING:
    from orbitmc.explorer.exploration import Explored
    from orbitmc.graph.evidence import Evidence
    from orbitmc.inference.program import MarkovLogic


@accepts_settings
def explore(
    model: Model | MarkovLogic,
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Any:
    """Show a model to click evidence in, as a widget of a notebook; needs the extra `explore`.

    Each variable has bars with errors and verdicts, which follow what is clicked. `evidence` is
    where it begins. A sampled answer becomes sharper while one looks, for a minute in all unless
    `seconds` says otherwise, or until standard errors are `standard_error`. The command
    `orbitmc explore` shows the same in a browser.

    >>> import orbitmc as om
    >>> widget = om.explore(om.read("examples/sprinkler.bif"), {"grass": "wet"})
    >>> widget.exploration.history.evidence
    {'grass': 'wet'}
    >>> widget.close()
    """
    chosen = require_explorable(merge_options(settings, options))
    if isinstance(model, Model):
        findings = findings_of(model, evidence)
    else:
        require_program(model)
        require_plain(evidence, None)
        findings = {}
    python = ("import orbitmc as om", "")
    origin = Origin(python=python, settings=chosen.changed())
    return _widget_type()(explored(model, findings, chosen, origin))


def require_explorable(settings: Settings) -> Settings:
    """Refuse settings that do not go together with answers that become sharper."""
    for name in ("samples", "checkpoint"):
        if getattr(settings, name) is not None:
            raise InputError(f"{name}: explored answers become sharper by the clock; give seconds")
    settings.require_use()
    return settings


@functools.cache
def _widget_type() -> Any:
    """A widget whose messages go to an exploration; the library is loaded when one is made."""
    anywidget = extra("anywidget", "explore")

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """A model in a notebook."""

        _esm = read_asset("explore.js")
        _css = read_asset("explore.css")

        def __init__(self, shown: Explored) -> None:
            super().__init__()
            self.exploration = Exploration(shown, self.send)
            self.on_msg(lambda widget, content, buffers: self.exploration.handle(content))

        def close(self) -> None:
            """End the work, and take the widget away."""
            self.exploration.close()
            super().close()

    return Explorer
