"""A progress bar in notebooks."""

from __future__ import annotations

import html
from typing import Any


class NotebookBar:
    """A bar below the cell that asked; it comes when a run takes long, and goes when it ends."""

    seconds = 0.5

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, fraction: float, words: str) -> None:
        from IPython.display import HTML, display

        bar = HTML(
            f'<progress value="{fraction:.3f}" max="1" style="width:16em"></progress> '
            f"{fraction:.0%} {html.escape(words)}"
        )
        if self.handle is None:
            self.handle = display(bar, display_id=True)
        else:
            self.handle.update(bar)

    def close(self) -> None:
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))
