"""What asks for machine code: the questions of `orbitmc warm`, and documented commands.

`python -m tests.cli.warmed questions gibbs exact` and `… commands some` print a JSON object: the
compiled functions that were asked for, each with its types and who asked first, and how many had to
be compiled. Nothing is interpreted, so small models ask for what large ones need.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from orbitmc._numba import dispatchers, store, tiers
from orbitmc._numba.compile_log import LOGGER, REMARKS

ROOT = Path(__file__).parents[2]
SPRINKLER, RING = "examples/sprinkler.bif", "examples/ring.uai"
SMOKERS = ("examples/smokers.mln", "-e", "examples/smokers.db")
FEW = ("--samples", "4")
SHORT = ("--seconds", "0.3")
METHODS = ("auto", "exact", "gibbs", "mcsat", "lifted", "lmh")

SOME = (
    ("infer", SPRINKLER),
    ("infer", SPRINKLER, "--method", "exact"),
    ("infer", SPRINKLER, "--method", "gibbs", *FEW),
    ("infer", "grid.uai", "--method", "exact", "--log-z"),
    ("infer", "grid.uai", "--method", "gibbs", *FEW),
    ("infer", "munin.json"),
    ("ask", SPRINKLER, "rain != 'none'", "--given", "grass == 'wet'"),
    ("ask", SPRINKLER, "rain != 'none'", "--method", "gibbs", *FEW),
    ("joint", SPRINKLER, "rain", "grass", "--method", "gibbs", *FEW),
    ("draw", SPRINKLER, "-n", "8"),
    ("draw", SPRINKLER, "-n", "8", "--method", "gibbs"),
    ("draw", SPRINKLER, "-n", "64", "--method", "gibbs"),
    ("predict", SPRINKLER, "examples/days.csv", "-q", "rain"),
    ("best", SPRINKLER, "-k", "3"),
    ("sweep", RING, "--beta", "0.1:1:3"),
    ("symmetry", "grid.uai", "--exact-only"),
    ("symmetry", RING, "--exact-only", "--values"),
    ("check", SPRINKLER),
    ("convert", SPRINKLER, "sprinkler.uai"),
)
"""Commands that `warm gibbs exact symmetry` should be enough for."""


def every() -> list[tuple[str, ...]]:
    """All verbs and methods, on models that are answered exactly and on some that are not."""
    found = [*SOME]
    for model in (SPRINKLER, RING, "grid.uai", "potts.uai", "network.json", "munin.json"):
        found += [("infer", model, "--method", method, *FEW) for method in METHODS]
        found += [
            ("best", model, "--method", "gibbs", *SHORT, "-k", "2"),
            ("draw", model, "-n", "64", "--method", "lmh"),
            ("sweep", model, "--beta", "0.5,1", "--method", "gibbs", *FEW),
            ("symmetry", model),
            ("compare", model, *SHORT, "--seeds", "1", "--methods", "gibbs,lifted,lmh,mcsat"),
        ]
    for model in ("wide.uai", "plain.uai", "labels.uai", "glass.uai"):  # too wide to be exact
        found += [
            ("infer", model, *SHORT),
            ("infer", model, *SHORT, "--log-z"),
            ("best", model, *SHORT),
            ("draw", model, "-n", "7"),
            ("compare", model, *SHORT, "--seeds", "1", "--reference-seconds", "0.3"),
        ]
    found += [("infer", *SMOKERS, "--method", method, *FEW) for method in METHODS]
    found += [
        ("best", *SMOKERS),
        ("symmetry", *SMOKERS),
        ("ground", SMOKERS[0], SMOKERS[2]),
        ("learn", SMOKERS[0], SMOKERS[2], "-o", "learned.mln"),
        ("learn", SMOKERS[0], SMOKERS[2], "-o", "l.mln", "--method", "discriminative"),
        ("ask", SPRINKLER, "--about", "rain", "--method", "gibbs", *FEW),
        ("predict", SPRINKLER, "examples/days.csv", "-q", "rain", "--method", "gibbs", *FEW),
        ("infer", SPRINKLER, "--method", "gibbs", *FEW, "--checkpoint", "sprinkler.run"),
        ("resume", "sprinkler.run"),
        ("infer", "wide.uai", "--method", "lmh", *FEW, "--set", "base=low-width"),
        ("infer", SPRINKLER, "--method", "lmh", *FEW, "--set", "base=mcsat"),
        ("infer", SPRINKLER, "--method", "mcsat", *FEW, "--set", "slices=samplesat"),
        ("infer", RING, "--method", "gibbs", *FEW, "--set", "scan=random"),
        ("infer", RING, "--method", "gibbs", *FEW, "--set", "estimator=values"),
        ("demo",),
    ]
    return found


COMMANDS = {"some": lambda: list(SOME), "every": every}


def write_models() -> None:
    """Put the small models of the commands into this folder."""
    import numpy as np

    import orbitmc as om

    rng = np.random.default_rng(1)
    om.write(om.ising_grid(5, 5, 0.3, 0.1), "grid.uai")
    om.write(om.potts_grid(3, 3, 3, 0.5), "potts.uai")
    om.write(om.ising_grid(30, 30, 0.4, rng.normal(size=(30, 30))), "wide.uai")
    om.write(om.ising_grid(30, 30, 0.44), "plain.uai")
    om.write(om.potts_grid(20, 20, 3, 0.5, rng.normal(size=(20, 20, 3))), "labels.uai")
    pairs = [(one, other) for one in range(60) for other in range(one)]
    couplings = 0.2 * rng.normal(size=len(pairs))
    om.write(om.ising(rng.normal(size=60), pairs, couplings), "glass.uai")
    om.write(random_network(rng, variables=12, values=3, parents=2, zeros=0.05), "network.json")
    om.write(random_network(rng, variables=60, values=12, parents=2, zeros=0.0), "munin.json")


def random_network(rng, *, variables, values, parents, zeros):
    """A network with tables by chance, some entries zero; parents are near, so it stays narrow."""
    import numpy as np

    import orbitmc as om

    factors = []
    for child in range(variables):
        near = list(range(max(0, child - parents), child))
        table = rng.dirichlet(np.ones(values), size=values ** len(near))
        table = np.where(table < zeros, 0.0, table)
        table /= table.sum(axis=-1, keepdims=True)
        names = [f"v{number}" for number in (*near, child)]
        factors.append((names, table.reshape((values,) * len(names))))
    domains = {f"v{number}": [str(value) for value in range(values)] for number in range(variables)}
    return om.model(domains, factors)


def asked_for(what: str, *names: str, **environment: str) -> dict[str, object]:
    """What questions or commands ask for, found by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.warmed", what, *names],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Recorder:
    """Hears of every function that is asked for.

    What a function calls is asked for only while that function is compiled. So it depends on what
    is in the store already, and does not count: who asks for the function gets all of it.
    """

    def __init__(self) -> None:
        self.asking, self.found = "", {}
        loading = store.MachineCode.load_overload

        def load(code, signature, context):
            function = code._function
            name = f"{function.__module__}.{function.__qualname__} {signature}"
            if REMARKS.compiling in ("", dispatchers._name(function, signature)):
                self.found.setdefault(name, self.asking)
            return loading(code, signature, context)

        store.MachineCode.load_overload = load

    def ask_questions(self, names):
        from orbitmc.inference.precompile import QUESTIONS

        for name in names or QUESTIONS:
            self.asking = name
            QUESTIONS[name]()

    def give_commands(self, commands):
        from tests.cli.commands import orbitmc

        os.symlink(ROOT / "examples", "examples")
        write_models()
        for words in commands:
            self.asking = " ".join(words)
            done = orbitmc(*words)
            assert done.returncode in (0, 3), (self.asking, done.stderr)


def main(what: str, *names: str) -> None:
    LOGGER.disabled = True
    tiers.compile_everything()
    recorder = Recorder()
    if what == "questions":
        recorder.ask_questions(names)
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            recorder.give_commands(COMMANDS[names[0]]())
            os.chdir(ROOT)
    print(json.dumps({"asked": recorder.found, "compiled": REMARKS.functions}))


if __name__ == "__main__":
    main(*sys.argv[1:])
