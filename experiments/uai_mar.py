"""UAI 2014, task MAR: mean Hellinger distance of our answer after ten seconds and after sixty.

The method is `auto`: exact where that is affordable, else Lifted Metropolis-Hastings with raced
jumps. The distance is the mean over variables that are not observed, as in the competition; the
published answers have six decimals, so distances below about 1e-4 are rounding.
"""

import argparse
import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from figure import FOLDER, SHARED, note, write

import orbitmc as om
from orbitmc.workshop import divergence, manifest_text, read_evidence, read_mar

FOLDERS = ("uai2014-mar", "uai2014-relational")
COLUMNS = ("instance", "seconds", "took", "method", "hellinger", "kl_of_truth", "verdicts", "why")


def instances(data: Path, only: Sequence[str]) -> list[Path]:
    answers = sorted(path for name in FOLDERS for path in (data / name).glob("*.uai.MAR"))
    return [path for path in answers if not only or path.name.split(".")[0] in only]


def measured(answer: Path, seconds: float) -> list[object]:
    """One row: how far our answer is from the published one."""
    plain = answer.with_suffix("")
    model = om.read(plain if plain.exists() else plain.with_name(plain.name + ".gz"))
    evidence = read_evidence(plain.with_name(plain.name + ".evid"), model)
    begun = time.perf_counter()
    try:
        found = om.marginals(model, evidence, seconds=seconds, seed=1)
    except om.OrbitError as error:
        return [plain.stem, seconds, "", "none", "", "", "", str(error)]
    took = time.perf_counter() - begun
    truth = read_mar(answer)
    free = [place for place, name in enumerate(model.names) if name not in evidence]
    pairs = [(truth[place], found[model.names[place]].probability) for place in free]
    start = np.concatenate([[0], np.cumsum([len(right) for right, _ in pairs])])
    right, guess = (np.concatenate(side) for side in zip(*pairs, strict=True))
    apart = divergence(right, guess, start)
    return [
        plain.stem,
        seconds,
        f"{took:.1f}",
        found.about.method,
        f"{apart.hellinger:.3g}",
        f"{apart.of_truth:.3g}",
        found.verdicts(),
        found.about.reason,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two instances, a second each")
    parser.add_argument("--seconds", type=float, nargs="*", default=[10.0, 60.0])
    parser.add_argument("--only", nargs="*", default=[], help="only these instances")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the folders")
    parser.add_argument("--out", type=Path, default=FOLDER / "out", help="folder for results")
    asked = parser.parse_args()
    only = asked.only or (["Grids_12", "Alchemy_11"] if asked.quick else [])
    rows: list[Sequence[object]] = [COLUMNS]
    for answer in instances(asked.data, only):
        for seconds in [1.0] if asked.quick else asked.seconds:
            rows.append(measured(answer, seconds))
            note(" ".join(str(cell) for cell in rows[-1][:6]))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    write(asked.out / "uai_mar.csv", written.getvalue())
    write(asked.out / "uai_mar.json", manifest_text(seed=1, seconds=asked.seconds))


if __name__ == "__main__":
    main()
