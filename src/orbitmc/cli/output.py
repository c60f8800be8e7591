"""Print an answer, write it to a file, and say what to think of it."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from orbitmc import formats, report
from orbitmc._util.files import write_pieces
from orbitmc._util.text import suffix
from orbitmc.cli.session import INTERRUPTED, NOT_CONVERGED, print_remark
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc import Marginals, Model


KINDS = (".mar", ".json", ".csv")


def deliver(answer: "Marginals", *, json: bool, output: Path | None, quiet: bool) -> int:
    """Give the answer to whoever asked; gives the exit code."""
    unwritten = None
    if output is not None:
        try:
            _write(answer, output)
        except InputError as error:
            unwritten, json = error, True
    if json or output is None:
        _print(answer, json)
    trusted = answer.converged and not answer.about.warnings and not answer.about.interrupted
    if not quiet or not trusted:
        for remark in report.remarks(answer):
            print_remark(remark)
    if unwritten is not None:
        print_remark(f"{unwritten}; the answer is printed as JSON instead")
        return unwritten.exit_code
    if output is not None and not quiet:
        print_remark(f"the answer is in {output}")
    if answer.about.interrupted:
        return INTERRUPTED
    return 0 if answer.converged else NOT_CONVERGED


def delivery_seconds(model: "Model", *, json: bool, output: Path | None) -> float:
    """About how long it takes to give an answer to whoever asked."""
    kinds = [] if output is None else [suffix(output)]
    if json or output is None:
        kinds.append(".json" if json else "")
    return sum(report.writing_seconds(model, _pieces(kind)) for kind in kinds if kind != ".mar")


def require_writable(path: Path | None) -> None:
    """Refuse a place where nothing can be written, before work is spent on an answer."""
    if path is None:
        return
    if path.is_dir():
        raise InputError("this is a folder; give the name of a file", source=str(path))
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}", source=str(path))
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {str(path.parent)!r} is not writable", source=str(path))


def require_other(path: Path | None, sources: Iterable[Path | str]) -> None:
    """Refuse to write over what the same command reads."""
    if path is not None and path.exists():
        for source in sources:
            if os.path.exists(source) and path.samefile(source):
                raise InputError("this would overwrite what is read here", source=str(path))


def require_output(path: Path | None) -> None:
    """Refuse a file for answers that cannot be written, or whose suffix says nothing."""
    require_writable(path)
    if path is not None and suffix(path) not in KINDS:
        raise InputError(
            "an answer is written as .MAR, .json or .csv, each also with .gz", source=str(path)
        )


def write_results(answer: "Marginals", path: Path) -> None:
    """Write a line `Atom probability` for everything that was asked about."""
    columns = answer.columns
    last = columns.probability[columns.start[1:] - 1].tolist()
    write_pieces(path, (f"{name} {p:.6g}\n" for name, p in zip(columns.names, last, strict=True)))


def require_page(path: Path | None, sources: Iterable[Path | str]) -> None:
    """Refuse a page that cannot be written, or that is called after something else."""
    require_writable(path)
    require_other(path, sources)
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InputError("a report is a page: give it a name that ends in .html", source=str(path))


def write_report(answer: "Marginals", path: Path | None, *, quiet: bool) -> int:
    """Write a page, if somebody wants one; gives an exit code if that failed."""
    if path is None:
        return 0

    try:
        answer.report(path)
    except InputError as error:
        print_remark(f"the report was not written: {error}")
        return error.exit_code
    if not quiet:
        print_remark(f"the report is in {path}")
    return 0


def _print(answer: "Marginals", json: bool) -> None:
    if json:
        sys.stdout.writelines(_pieces(".json")(answer))
        return
    from rich.console import Console

    report.show_answer(answer, Console(highlight=False))


def _pieces(kind: str) -> Callable[["Marginals"], Iterator[str]]:
    return {".json": report.json_pieces, ".csv": report.csv_pieces}.get(kind, report.plain_pieces)


def _write(answer: "Marginals", path: Path) -> None:
    if suffix(path) == ".mar":
        formats.write_flat_mar(path, answer.columns.probability, answer.columns.start)
    else:
        write_pieces(path, _pieces(suffix(path))(answer))
