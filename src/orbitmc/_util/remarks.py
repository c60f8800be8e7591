"""Lines for people on standard error; in files and pipes they begin with the time."""

import os
import sys
from datetime import UTC, datetime


def is_terminal() -> bool:
    """Whether somebody watches standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def print_remark(message: str) -> None:
    """Say one line on standard error; where nobody can hear it, go on without."""
    if sys.stderr is None:
        return
    try:
        print(f"{_time_stamp()}orbitmc: {message}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _time_stamp() -> str:
    """The time to the second, as logs have it; nothing on a terminal."""
    return "" if is_terminal() else f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} "
