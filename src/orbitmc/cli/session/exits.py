"""How a command ends: an exit code for every outcome, one line for every mishap."""

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from orbitmc.cli.session.stopping import heard
from orbitmc.errors import OrbitError, is_interrupt

BROKEN, UNWRITTEN, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

P = ParamSpec("P")


def verb(command: Callable[P, int]) -> Callable[P, None]:
    """Turn a function that gives an exit code into a command that never shows a traceback."""

    @functools.wraps(command)
    def guarded(*arguments: P.args, **options: P.kwargs) -> None:
        debug = bool(options.get("debug"))
        raise typer.Exit(_exit_code(lambda: _done(command, *arguments, **options), debug))

    return guarded


def _done(command: Callable[P, int], *arguments: P.args, **options: P.kwargs) -> int:
    """Carry a command out; one that names a cluster gets its executor instead of the name."""
    if not options.get("cluster"):
        return command(*arguments, **options)
    from orbitmc.cli.cluster import cluster

    with cluster(str(options["cluster"])) as executor:
        options["cluster"] = executor
        return command(*arguments, **options)


def say(message: str) -> None:
    """Say one line on standard error; where nobody can hear it, go on without."""
    try:
        print(f"orbitmc: {message}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _exit_code(command: Callable[[], int], debug: bool) -> int:
    try:
        with heard():
            code = command()
            sys.stdout.flush()
        return code
    except BrokenPipeError as error:
        return unwritten(error)
    except OrbitError as error:
        say(str(error))
        return error.exit_code
    except OSError as error:
        return unwritten(error) if error.errno in FULL else _bug(error, debug)
    except KeyboardInterrupt as stop:
        return _interrupted(str(stop))
    except MemoryError:
        say("out of memory; with a smaller --memory, such a run is refused before it starts")
        return 5
    except Exception as error:
        return _interrupted() if is_interrupt(error) else _bug(error, debug)


def _interrupted(when: str = "") -> int:
    say(f"interrupted {when or 'before the answer was complete'}")
    return INTERRUPTED


def _bug(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    say(f"this is a bug of orbitmc: {type(error).__name__}: {error}".split("\n")[0])
    say("please report it, with what `--debug` prints after the same command")
    return BROKEN


def unwritten(error: OSError) -> int:
    """Say why standard output takes no more; a reader that has seen enough is no mishap."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    say(f"cannot write the answer: {error.strerror}")
    return UNWRITTEN
