"""`python -m orbitmc` is the same as `orbitmc`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded shows no traceback either."""
    try:
        from orbitmc.cli.main import main as command_line
    except KeyboardInterrupt:
        print("orbitmc: interrupted before anything was read", file=sys.stderr)
        sys.exit(130)
    command_line()


if __name__ == "__main__":
    main()
