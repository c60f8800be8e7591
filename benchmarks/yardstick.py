"""The yardstick: `yardstick.c`, compiled with the system's compiler and run in this process."""

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from orbitmc.conditionals.layout import Conditionals
from orbitmc.conditionals.prepared import conditionals
from orbitmc.graph.factor_graph import FactorGraph

SOURCE = Path(__file__).with_suffix(".c")
LANES = 64
LOOPS = {0: "sample_count", 1: "sample_bits", 2: "sample_table", 3: "sample_field"}

Pointer = ctypes.c_void_p


def matrix_product(side: int = 1024, turns: int = 6) -> float:
    """G operations a second of the best product of two matrices of doubles, in CPU time."""
    first, second = np.random.default_rng(0).random((2, side, side))
    seconds = []
    for _ in range(turns):
        begun = time.process_time()
        first @ second
        seconds.append(time.process_time() - begun)
    return 2e-9 * side**3 / min(seconds)


class _Model(ctypes.Structure):
    _fields_ = (
        ("variables", ctypes.c_uint32),
        ("cardinality", Pointer),
        ("neighbour_start", Pointer),
        ("neighbour", Pointer),
        ("role", Pointer),
        ("coupling", Pointer),
        ("bias", Pointer),
        ("start", Pointer),
        ("limit", Pointer),
        ("row", Pointer),
    )


class _Chains(ctypes.Structure):
    _fields_ = (
        ("values", Pointer),
        ("sums", Pointer),
        ("lanes", ctypes.c_uint32 * (4 * LANES)),
        ("common", ctypes.c_uint64 * 4),
    )


@functools.cache
def compiled_yardstick() -> ctypes.CDLL | None:
    """Compile the C file; nothing where there is no C compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    library = Path(tempfile.mkdtemp(prefix="yardstick-")) / "yardstick.so"
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-DLANES={LANES}"]
    options += ["-fno-loop-unroll-and-jam"]  # it would leave the loops over lanes scalar
    command = [compiler, *options, str(SOURCE), "-o", str(library), "-lm"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    return ctypes.CDLL(str(library))


class Yardstick:
    """Chains in C on the conditionals that orbitmc has prepared; all of one kind."""

    def __init__(self, library: ctypes.CDLL, graph: FactorGraph, *, seed: int = 0) -> None:
        self.library, self.graph = library, graph
        self.known = conditionals(graph)
        self.steps = np.array(graph.cardinality, dtype=np.int64) - 1
        self.row = np.concatenate([[0], np.cumsum(self.steps)]).astype(np.uint32)
        self.sums = np.zeros(int(self.row[-1]))
        rng = np.random.default_rng(seed)
        self.values = rng.integers(0, 2, (graph.variables, LANES), dtype=np.uint8)
        self.samples = 0
        self._model = _model(graph, self.known, self.row)
        self._chains = _Chains(
            values=self.values.ctypes.data,
            sums=self.sums.ctypes.data,
            lanes=tuple(rng.integers(1, 2**32, 4 * LANES).tolist()),
            common=tuple(rng.integers(1, 2**63, 4).tolist()),
        )

    def loops(self) -> list[str]:
        """The C loops that serve this model: a plain one, and by hand where there is one."""
        kinds = np.unique(self.known.path)
        if len(kinds) != 1 or int(kinds[0]) not in LOOPS:
            return []
        plain = LOOPS[int(kinds[0])]
        return [name for name in (plain, f"{plain}_avx2") if hasattr(self.library, name)]

    def run(self, loop: str, samples: int, sweeps: int, *, systematic: bool) -> int:
        """Take and record samples; gives the number of updates."""
        call: Any = getattr(self.library, loop)
        model, chains = ctypes.byref(self._model), ctypes.byref(self._chains)
        call(model, chains, ctypes.c_long(samples), ctypes.c_long(sweeps), int(systematic))
        self.samples += samples
        return samples * sweeps * self.graph.variables * LANES

    def forget(self) -> None:
        """End the warm-up."""
        self.sums[:] = 0.0
        self.samples = 0

    def probabilities(self) -> list[list[float]]:
        """Marginals of binary variables."""
        up = self.sums / (self.samples * LANES)
        return [[1.0 - p, p] for p in up.tolist()]

    def random_numbers(self, updates: int) -> int:
        """Draw the random numbers of so many updates, and nothing else."""
        self.library.only_random_numbers(ctypes.byref(self._chains), ctypes.c_long(updates))
        return updates * LANES


def _model(graph: FactorGraph, known: Conditionals, row: Any) -> _Model:
    fields = ("neighbour_start", "neighbour", "role", "coupling", "bias", "start", "limit")
    addresses = {name: getattr(known, name).ctypes.data for name in fields}
    return _Model(
        variables=graph.variables,
        cardinality=graph.cardinality.ctypes.data,
        row=row.ctypes.data,
        **addresses,
    )
