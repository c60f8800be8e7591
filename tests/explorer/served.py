"""A page of `orbitmc explore`, for as long as a test needs it."""

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.commands import start

EXAMPLES = Path(__file__).parents[2] / "examples"
SPRINKLER = EXAMPLES / "sprinkler.bif"
SECONDS = 60


class Served:
    """A process that serves, and where."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.parts = urlsplit(address)

    @property
    def host(self):
        return self.parts.netloc

    @property
    def socket_address(self):
        return f"ws://{self.host}{self.parts.path}socket"

    def interrupt(self):
        """Press Ctrl-C; gives the exit code and what was said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, said

    def cpu_seconds(self):
        """What the process has worked so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serve(*words):
    """Start `orbitmc explore`, and end it."""
    pytest.importorskip("starlette", reason="the extra `explore` is not installed")
    pytest.importorskip("uvicorn", reason="the extra `explore` is not installed")
    process = start("explore", *words)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Served(process, address)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


class Page:
    """What a page says and hears, without a browser."""

    def __init__(self, connection):
        self.connection = connection
        self.heard = {}

    def say(self, **message):
        self.connection.send(json.dumps(message))

    def hear(self, kind, **fields):
        """Wait for a message of a kind, with these fields."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            message = json.loads(self.connection.recv(timeout=SECONDS))
            self.heard[message["say"]] = message
            if message["say"] == kind and all(message[name] == fields[name] for name in fields):
                return message
        raise TimeoutError(kind)

    def ask(self, **message):
        """Say something that changes evidence, and wait for the bars."""
        self.say(**message)
        version = self.hear("state")["version"]
        return self.hear("answer", version=version)


@contextmanager
def page_of(served, **options):
    """Open a page as a browser does."""
    client = pytest.importorskip("websockets.sync.client")
    settings = {"origin": f"http://{served.host}", "proxy": None, **options}
    with client.connect(served.socket_address, **settings) as connection:
        page = Page(connection)
        page.say(do="begin")
        yield page


def ended(process):
    """Wait for the end of a process."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return None
