"""A page on this machine only: it is found by who knows its address, and by nobody else.

Other pages in the same browser may try to reach a server on loopback, also by a name of their own
that leads there. So the host and the origin of each request are compared with the address, which
has a random token in it. The page loads nothing from elsewhere, and a policy makes sure of that.
"""

from __future__ import annotations

import asyncio
import errno
import json
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.explorer.exploration import Exploration, Explored
from orbitmc.explorer.worker import Message

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.websockets import WebSocket

LOOPBACK = "127.0.0.1"
MOST_PAGES = 16  # at once: each has two threads
MOST_BYTES = 2**18  # of a message; the next one is read when it is dealt with
CLOSING_SECONDS = 1
TOO_MANY, POLICY = 1013, 1008  # codes with which a socket is closed
KINDS = {"explore.js": "text/javascript", "explore.css": "text/css"}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>orbitmc explore</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="explore.css">
<script type="module" src="explore.js"></script>
</head><body class="omx-page"><main id="orbitmc-explore"></main></body></html>
"""


class Address:
    """Where the page is: a port on loopback, and a token that cannot be guessed."""

    def __init__(self, port: int) -> None:
        self.port, self.token = port, secrets.token_urlsafe(24)
        self.hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}

    def __str__(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def policy(self) -> str:
        """What the page may load: what this server has, and nothing else."""
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
        return (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
            f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )

    def headers(self) -> dict[str, str]:
        """What every response says."""
        return {
            "Content-Security-Policy": self.policy(),
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }

    def refusal(self, scope: Scope) -> str:
        """Why a request is none of a page of this server; empty if it is one."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host") not in self.hosts:
            return "this server has another name"
        origin = headers.get(b"origin")
        ours = {f"http://{host}" for host in self.hosts}
        if (origin is not None or scope["type"] == "websocket") and origin not in ours:
            return "another page may not ask here"
        token = scope["path"].strip("/").partition("/")[0]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return "the address is not complete: the one that was printed has a token in it"
        return ""


class Guard:
    """Lets requests through that have the right host, origin and token."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self.app, self.address = app, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self.address.refusal(scope) if scope["type"] in ("http", "websocket") else ""
        if not refusal:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": POLICY, "reason": refusal})
        else:
            from starlette.responses import PlainTextResponse

            response = PlainTextResponse(refusal, 403, headers=self.address.headers())
            await response(scope, receive, send)


class Mailbox:
    """Messages that wait for a page: of each kind the newest, so that there are never many."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Message] = {}
        self._news = asyncio.Event()

    def put(self, message: Message) -> None:
        """Let a message wait; any thread may do so."""
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._put, message)

    def _put(self, message: Message) -> None:
        self._waiting.pop(message["say"], None)
        self._waiting[message["say"]] = message
        self._news.set()

    async def take(self) -> Message:
        """The message that has waited longest."""
        while not self._waiting:
            self._news.clear()
            await self._news.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Pages:
    """All pages that are open, each with an exploration of its own."""

    def __init__(self, explored: Explored, address: Address) -> None:
        self.explored, self.address = explored, address
        self.open: set[Exploration] = set()

    async def show(self, request: Request) -> Response:
        """The page itself."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(PAGE, headers=self.address.headers())

    async def file(self, request: Request) -> Response:
        """What the page loads."""
        from starlette.responses import PlainTextResponse, Response

        name = request.path_params["name"]
        if name not in KINDS:
            return PlainTextResponse("not found", 404, headers=self.address.headers())
        content = read_asset(name)
        return Response(content, media_type=KINDS[name], headers=self.address.headers())

    async def talk(self, page: WebSocket) -> None:
        """Answer a page until it is closed."""
        await page.accept()
        if len(self.open) >= MOST_PAGES:
            await page.close(TOO_MANY, f"{MOST_PAGES} pages are open already: close one")
            return
        mailbox = Mailbox()
        exploration = Exploration(self.explored, mailbox.put)
        self.open.add(exploration)
        sending = asyncio.create_task(_send_all(page, mailbox))
        try:
            await _handle_all(page, exploration)
        finally:
            exploration.close()
            sending.cancel()
            self.open.discard(exploration)

    def close(self) -> None:
        """End the work for all pages, and wait a little until it has ended."""
        for exploration in list(self.open):
            exploration.close()
        for exploration in list(self.open):
            exploration.join(CLOSING_SECONDS)


async def _send_all(page: WebSocket, mailbox: Mailbox) -> None:
    while True:
        message = await mailbox.take()
        await page.send_text(json.dumps(message, ensure_ascii=False, separators=(",", ":")))


async def _handle_all(page: WebSocket, exploration: Exploration) -> None:
    from starlette.websockets import WebSocketDisconnect

    while True:
        try:
            text = await page.receive_text()
        except (WebSocketDisconnect, KeyError):  # it is closed, or sent no text
            return
        await asyncio.to_thread(exploration.handle, _parse(text))


def _parse(text: str) -> object:
    """A message, or nothing if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_asset(name: str) -> str:
    """A file that the page is made of."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def make_app(explored: Explored, address: Address) -> tuple[Starlette, Pages]:
    """The server as an application, and the pages that it has."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route, WebSocketRoute

    pages = Pages(explored, address)
    root = f"/{address.token}"
    routes = [
        Route(f"{root}/", pages.show),
        WebSocketRoute(f"{root}/socket", pages.talk),
        Route(f"{root}/{{name}}", pages.file),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, address=address)]), pages


def listen(port: int) -> socket.socket:
    """Take a port on loopback; 0 is any that is free."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "another program listens there; leave it out, and a free one is taken"
        elif error.errno in (errno.EACCES, errno.EPERM):
            why = "this user may not take it; those from 1024 on are for everybody"
        else:
            why = str(error.strerror)
        raise InputError(f"port {port}: {why}") from None


def require_server() -> None:
    """Refuse to begin where what serves pages is not installed."""
    for library in ("starlette", "uvicorn", "websockets"):
        extra(library, "explore")


@contextmanager
def serving(explored: Explored, port: int = 0) -> Iterator[tuple[Address, Callable[[], None]]]:
    """Take a port; gives the address, and what serves there until it is interrupted."""
    require_server()
    import uvicorn

    with listen(port) as taken:
        address = Address(taken.getsockname()[1])
        app, pages = make_app(explored, address)
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,  # on this machine it would only take time
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        server: Any = uvicorn.Server(config)
        try:
            yield address, lambda: server.run(sockets=[taken])
        finally:
            pages.close()
