"""How a verb begins and ends: exit codes, remarks, Ctrl-C, a cluster to work on.

Ctrl-C: the first one ends a run early and keeps its answer, the second ends the program.
"""

import _thread
import errno
import functools
import json
import os
import shlex
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, ParamSpec

import typer

from orbitmc import _numba, inference
from orbitmc._util.loading import extra
from orbitmc._util.remarks import print_remark as print_remark
from orbitmc.errors import InputError, OrbitError, is_interrupt

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # clusters send SIGTERM before they kill
AGAIN_SECONDS = 0.05

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def handle_signals(handler: Handler) -> Iterator[None]:
    """Let a handler hear of Ctrl-C and of polite requests to end, if this is the main thread.

    What is ignored stays so: shells let programs in the background ignore Ctrl-C.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def handle_interrupts() -> Iterator[None]:
    """Turn requests to end into `KeyboardInterrupt`, also where Python drops exceptions.

    What was dropped there, as in what a compiler calls back, is asked for again a little later.
    """
    before, asking = sys.unraisablehook, list[threading.Timer]()

    def ask_again(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        later = threading.Timer(AGAIN_SECONDS, _interrupt_main)
        later.daemon = True
        later.start()
        asking.append(later)

    sys.unraisablehook = ask_again
    try:
        with handle_signals(signal.default_int_handler):
            yield
    finally:
        sys.unraisablehook = before
        for later in asking:
            later.cancel()


def _interrupt_main() -> None:
    """Let the main thread hear a Ctrl-C; on Windows it does when it next runs Python code."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


# How a command ends: an exit code for every outcome, one line for every mishap.

BROKEN, UNWRITTEN, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

P = ParamSpec("P")


class CommandClock:
    """Seconds since a command began, less those in which files were read."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.begun, self.compiled = time.monotonic(), _compiling_seconds()

    def __call__(self) -> float:
        """Seconds so far, compiling aside."""
        return time.monotonic() - self.begun - (_compiling_seconds() - self.compiled)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count nothing of what is done here."""
        before = self()
        try:
            yield
        finally:
            self.begun += self() - before

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let a question take what was done for it so far from its time."""
        with _numba.asked_before(self()):
            yield


def _compiling_seconds() -> float:
    """Seconds of compiling in this process; what does that is loaded when it is needed."""
    module = sys.modules.get("orbitmc._numba.compile_log")
    return 0.0 if module is None else float(module.REMARKS.seconds)


CLOCK = CommandClock()
"""Of the present command."""


def verb(command: Callable[P, int]) -> Callable[P, None]:
    """Turn a function that gives an exit code into a command that never shows a traceback."""

    @functools.wraps(command)
    def guarded(*arguments: P.args, **options: P.kwargs) -> None:
        CLOCK.begin()
        debug, as_json = bool(options.get("debug")), bool(options.get("json"))
        carry_out = functools.partial(_carry_out, command, *arguments, **options)
        raise typer.Exit(_exit_code(carry_out, debug, as_json))

    return guarded


def _carry_out(command: Callable[P, int], *arguments: P.args, **options: P.kwargs) -> int:
    """Carry a command out; one that names a cluster gets its executor instead of the name."""
    if not options.get("cluster"):
        return command(*arguments, **options)

    with cluster(str(options["cluster"])) as executor:
        options["cluster"] = executor
        return command(*arguments, **options)


def command_line() -> str:
    """What was typed, and where, as lines that a shell carries out."""
    return f"cd {_quote(os.getcwd())}\n{' '.join(map(_quote, ['orbitmc', *sys.argv[1:]]))}"


def _quote(word: str) -> str:
    r"""A word as shells read it; what cannot be seen is written by its number.

    >>> print(_quote("grass=wet"), _quote("two words"), _quote("a\x07b"))
    grass=wet 'two words' $'a\x07b'
    """
    if word.isprintable():
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    seen = (
        letter
        if letter.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
        for letter in plain
    )
    return f"$'{''.join(seen)}'"


def _exit_code(command: Callable[[], int], debug: bool, as_json: bool) -> int:
    try:
        with handle_interrupts():
            code = command()
            sys.stdout.flush()
        return code
    except BrokenPipeError as error:
        return unwritten(error)
    except OrbitError as error:
        if as_json:
            _print_error(error)
        print_remark(str(error))
        return error.exit_code
    except OSError as error:
        return unwritten(error) if error.errno in FULL else _bug(error, debug)
    except KeyboardInterrupt as stop:
        return _report_interrupt(str(stop))
    except MemoryError:
        print_remark(
            "out of memory; with a smaller --memory, such a run is refused before it starts"
        )
        return 5
    except Exception as error:
        return _report_interrupt() if is_interrupt(error) else _bug(error, debug)


KINDS = {2: "input", 4: "contradiction", 5: "limit"}
"""What each exit code of an error means."""


def _print_error(error: OrbitError) -> None:
    """Print an error as one JSON object: what is wrong, where, and what to do."""
    source = getattr(error, "source", None)
    place = [getattr(error, name, 0) or None for name in ("line", "column")]
    what, _, hint = getattr(error, "message", str(error)).partition("; ")
    fields = {
        "error": what,
        "kind": KINDS[error.exit_code],
        "where": None if source is None else {"file": source, "line": place[0], "column": place[1]},
        "hint": hint or None,
    }
    print(json.dumps(fields, ensure_ascii=False), flush=True)


def _report_interrupt(when: str = "") -> int:
    print_remark(f"interrupted {when or 'before the answer was complete'}")
    return INTERRUPTED


def _bug(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    print_remark(f"this is a bug of orbitmc: {type(error).__name__}: {error}".split("\n")[0])
    print_remark("please report it, with what `--debug` prints after the same command")
    return BROKEN


def unwritten(error: OSError) -> int:
    """Say why standard output takes no more; a reader that has seen enough is no mishap."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    print_remark(f"cannot write the answer: {error.strerror}")
    return UNWRITTEN


# `--cluster ADDRESS`: the workers of dask that do the work of a command.

LOCAL = "local"
SCHEMES = ("tcp", "tls", "ucx", "ws", "wss")
SECONDS = 30  # that a scheduler has to answer, and a first worker to come
RETRIES = 3  # of work whose worker was lost


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """The executor at an address, for as long as it is needed; nothing without an address."""
    if address is None:
        yield None
        return

    distributed = extra("distributed", "cluster")
    with ExitStack() as opened:
        client = _client(distributed, address, opened)
        yield client.get_executor(retries=RETRIES, pure=False)


def _client(distributed: Any, address: str, opened: ExitStack) -> Any:
    """Connect to a scheduler, or start one here; `opened` closes both."""
    if address != LOCAL and address.partition("://")[0] not in SCHEMES:
        raise InputError(
            f"--cluster {address}: expected an address such as tcp://HOST:8786, or local"
        )
    try:
        at = opened.enter_context(_local(distributed)) if address == LOCAL else address
        client = distributed.Client(at, timeout=SECONDS, set_as_default=False)
        opened.enter_context(client)
        client.wait_for_workers(1, timeout=SECONDS)
    except (OSError, ValueError, RuntimeError, TimeoutError) as error:
        raise InputError(
            f"--cluster {address}: no scheduler of dask with a worker answers there ({error}); "
            "`dask scheduler` starts one, `dask worker ADDRESS` adds workers"
        ) from None
    return client


def _local(distributed: Any) -> Any:
    return distributed.LocalCluster(
        n_workers=inference.available_cores(), threads_per_worker=1, dashboard_address=":0"
    )
