"""A real browser on a page of `orbitmc explore`: Chromium without a screen."""

from contextlib import contextmanager

import pytest

from tests.report.browser import CHROMIUM, needs_chromium  # noqa: F401 - tests mark with it

SECONDS = 30_000  # milliseconds, in fact: what a step may take


@contextmanager
def browser():
    """A browser that is there already, driven by Playwright."""
    library = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with library.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


class Window:
    """A tab on the page; what it says to the console fails the test."""

    def __init__(self, opened, served, **options):
        self.context = opened.new_context(viewport={"width": 1300, "height": 850}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.said = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.elsewhere = []
        self.page.on("request", lambda asked: self._asked(asked.url, served))
        self.page.goto(served.address)
        self.page.wait_for_selector("#orbitmc-explore[data-answered]")

    def _asked(self, url, served):
        if not url.startswith((served.address, "data:", "blob:")):
            self.elsewhere.append(url)

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self.context.close()
        if kind is None:
            assert self.said == []
            assert self.elsewhere == []

    @property
    def version(self):
        return int(self.page.locator("#orbitmc-explore").get_attribute("data-version"))

    def row(self, name, value):
        return self.page.locator(f'.omx-canvas [data-name="{name}"][data-value="{value}"]')

    def wait_for_step(self, before):
        """Wait until there are bars about newer evidence than before."""
        for version in range(before + 1, before + 100):
            answered = self.page.locator(f'#orbitmc-explore[data-answered="{version}"]')
            impossible = self.page.locator(f'#orbitmc-explore[data-impossible="{version}"]')
            try:
                answered.or_(impossible).wait_for(timeout=2000)
            except Exception:
                if self.version <= version:
                    raise
            else:
                return

    def do(self, act):
        """Do something that changes evidence, and wait for the bars."""
        before = self.version
        act()
        self.wait_for_step(before)

    def observe(self, name, value):
        self.do(lambda: self.row(name, value).click())

    def bars(self, model):
        """What the page shows of each variable."""
        return {
            name: [float(self.row(name, value).get_attribute("data-p")) for value in values]
            for name, values in model.domains().items()
        }
