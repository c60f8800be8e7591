"""Draw the picture of the page about exploring: clicks in a real browser, and what it shows then.

It needs Playwright (`pip install --group browser`) and a Chromium; without them, the picture stays
as it is.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).with_name("explore.png")
ROOT = Path(__file__).parents[2]
SIZE = {"width": 1120, "height": 700}

sys.path.insert(0, str(ROOT))

from tests.report.browser import CHROMIUM  # noqa: E402 - found by that line


def main() -> None:
    if importlib.util.find_spec("playwright") is None or CHROMIUM is None:
        print(f"{FILE.name} stays as it is: there is no Playwright or no Chromium", file=sys.stderr)
        return
    command = [sys.executable, "-m", "orbitmc", "explore", "sprinkler.bif", "--quiet"]
    with subprocess.Popen(
        command, cwd=ROOT / "examples", stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            draw(server.stdout.readline().strip())
        finally:
            server.terminate()


def draw(address: str) -> None:
    """Observe wet grass, ask about the rain, and take a picture."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(address)
        page.wait_for_selector('#orbitmc-explore[data-answered="1"]')
        page.click('[data-name=grass][data-value="wet"]')
        page.wait_for_selector('#orbitmc-explore[data-answered="2"]')
        page.click('[data-box="rain"] .omx-name')
        page.wait_for_selector('#orbitmc-explore[data-answered="3"]')
        page.mouse.move(5, 5)
        page.wait_for_timeout(2000)
        page.screenshot(path=FILE)
        browser.close()


if __name__ == "__main__":
    main()
