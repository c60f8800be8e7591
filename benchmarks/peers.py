"""Peers live in an environment of their own and answer from a child process.

`python benchmarks/peers.py` makes the environment. A peer that is not there, or that cannot do
what is asked, is reported as missing; nothing fails because of it.
"""

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ENVIRONMENT = FOLDER / ".peers-venv"
PACKAGES = (
    "dwave-samplers", "thrml", "openjij", "pyagrum", "numba", "numbskull", "pgmpy", "pymc",
)  # fmt: skip
# numbskull needs numba and does not say so.
# pgmpy only answers exactly, in `questions.py`: its Gibbs sampler tabulates the joint distribution
# of all other variables, so none of these models fits into memory


@dataclass(frozen=True)
class Peer:
    """What to call a peer, its worker script, and what kind of model it takes."""

    name: str
    script: str
    kind: str
    argument: str = ""


DWAVE = Peer("dwave", "dwave_marginals.py", "spins")
DWAVE_INNER = Peer("dwave inner loop", "dwave_inner.py", "spins")
THRML = Peer("thrml", "thrml_marginals.py", "spins")
OPENJIJ = Peer("openjij", "openjij_marginals.py", "spins")
PYMC = Peer("pymc", "pymc_marginals.py", "spins")
PYAGRUM_GIBBS = Peer("pyagrum Gibbs", "pyagrum_marginals.py", "network", "GibbsSampling")
PYAGRUM_IMPORTANCE = Peer(
    "pyagrum importance", "pyagrum_marginals.py", "network", "ImportanceSampling"
)
PYAGRUM_WEIGHTED = Peer("pyagrum weighted", "pyagrum_marginals.py", "network", "WeightedSampling")
PYAGRUM_FACTORS = Peer("pyagrum Gibbs", "pyagrum_factors.py", "factors", "GibbsSampling")


class Worker:
    """A running peer with a model in it; compiled and warm after its first turn."""

    def __init__(self, peer: Peer, model: dict[str, Any]) -> None:
        command = [str(python()), str(FOLDER / "workers" / peer.script)]
        self.peer = peer
        self.process = subprocess.Popen(
            [*command, *([peer.argument] if peer.argument else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.about = self._exchange(model)

    def turn(self, seconds: float, *, seed: int, marginals: bool = False) -> dict[str, Any]:
        """Let the peer sample for that long."""
        return self._exchange({"seconds": seconds, "seed": seed, "marginals": marginals})

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]
        except (OSError, ValueError):
            self.close()
            raise MissingPeerError(self.peer.name) from None


class MissingPeerError(Exception):
    """A peer is not installed, or has given up."""


def start(peers: tuple[Peer, ...], model: dict[str, Any] | None) -> dict[str, Worker]:
    """Start those peers that take this kind of model; says which are missing."""
    found: dict[str, Worker] = {}
    for peer in peers:
        if model is None or model["kind"] != peer.kind or not python().exists():
            continue
        try:
            found[peer.name] = Worker(peer, model)
        except MissingPeerError:
            print(f"missing: {peer.name}", file=sys.stderr)
    return found


def install() -> None:
    """Make the environment; packages that cannot be had are left out."""
    venv.create(ENVIRONMENT, with_pip=True)
    for package in PACKAGES:
        command = [str(python()), "-m", "pip", "install", "--quiet", package]
        if subprocess.run(command, check=False).returncode:
            print(f"missing: {package}", file=sys.stderr)


def python() -> Path:
    """The interpreter of that environment."""
    return ENVIRONMENT / "bin" / "python"


if __name__ == "__main__":
    install()
