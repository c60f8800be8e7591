"""`python -m orbitmc` is the same as `orbitmc`."""

from orbitmc.cli.main import main

main()
