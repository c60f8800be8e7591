"""`python -m orbitmc` is the same as `orbitmc`."""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it at once while it is being loaded, or when it is done.

    A `KeyboardInterrupt` would get lost, or come out as something else, where modules are loaded.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from orbitmc.cli.main import main as command_line

    command_line()


def _leave(number: int, frame: object) -> None:
    os.write(2, b"orbitmc: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
