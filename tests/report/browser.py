"""A page in a real browser: Chromium without a screen."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
    "--enable-logging=stderr",
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


def opened(page: Path, folder: Path, script: str = "", *, width: int = 1000) -> str:
    """The document after a browser has read a page and run a script at its end.

    What the page says to the console fails the test.
    """
    shown = folder / "opened.html"
    shown.write_text(page.read_text().replace("</body>", f"<script>{script}</script></body>"))
    size, profile = f"--window-size={width},900", f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *FLAGS, size, profile, "--dump-dom", shown.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    said = [line for line in found.stderr.splitlines() if "CONSOLE" in line]
    assert said == []
    return found.stdout


def written(document: str) -> str:
    """What a script wrote into the title."""
    return re.search(r"<title>(.*?)</title>", document, re.DOTALL)[1]
