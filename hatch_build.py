"""Put machine code into wheels, if the environment asks for it.

`ORBITMC_MACHINE_CODE=x86-64-v3 python -m build --wheel` compiles what the usual commands need for
all processors of that level. Without the variable a wheel has sources only.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "ORBITMC_MACHINE_CODE"
LEVEL = "x86-64-v3"
PLACE = "orbitmc/machine/code/shipped"


class MachineCodeHook(BuildHookInterface):
    """Compiles in processes of their own, and adds the files that they leave."""

    def dependencies(self) -> list[str]:
        return list(self.metadata.core.dependencies) if _asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not _asked() or version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        for file in compiled_files(Path(self.root), Path(self._folder.name)):
            build_data["force_include"][str(file)] = f"{PLACE}/{file.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def _asked() -> bool:
    asked = os.environ.get(VARIABLE)
    if asked not in (None, "", LEVEL):
        raise ValueError(f"{VARIABLE} can be {LEVEL}, not {asked!r}")
    return bool(asked)


def compiled_files(root: Path, folder: Path) -> list[Path]:
    """Compile for the level into a folder; gives the files."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(root / "src"),
        "NUMBA_CACHE_DIR": str(folder),
        "NUMBA_CPU_NAME": LEVEL,
        "NUMBA_CPU_FEATURES": "",
    }
    subprocess.run([sys.executable, "-m", "orbitmc", "warm"], env=environment, check=True)
    files = sorted((folder / "orbitmc").iterdir())
    if not files:
        raise RuntimeError("nothing was compiled: does this processor have AVX2?")
    return files
