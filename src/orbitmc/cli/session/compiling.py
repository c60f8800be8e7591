"""Remarks about machine code, or none where nobody wants them."""

from typing import Any, Self

from orbitmc.machine.code.remarks import LOGGER, REMARKS


class Compiling:
    """Lets the library say in a `with` block what it compiles, and at the end how long it took."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    def __enter__(self) -> Self:
        self._before = LOGGER.disabled
        LOGGER.disabled = self._before or self.quiet
        return self

    def __exit__(self, *error: Any) -> None:
        REMARKS.say_over()
        LOGGER.disabled = self._before
