"""Files of a program: alone, or inside a project of pracmln, which is a zip archive.

`project.pracmln:file.mln` names a file of a project; the archive keeps programs in `mlns/` and
databases in `dbs/`, and what was asked last in `query.conf`.
"""

import json
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbitmc._util.text import MEMORY, Text, format_bytes, quote, read_text, suggestion
from orbitmc.errors import InputError, LimitError
from orbitmc.mln.language.syntax import Program

PROJECT = ".pracmln"
INSIDE = re.compile(r"(?P<project>.*\.pracmln):(?P<name>.+)", re.DOTALL)
FOLDERS = ("mlns/", "dbs/", "")
SETTINGS = "query.conf"
MOST_SETTINGS = 2**22  # bytes
MARKED = re.compile(r"(?:[(,+\s]|^)\?[^\W\d]\w*\s*[,)=]")


def has_marks(content: str) -> bool:
    """Whether formulas have variables that begin with ?, as one of pracmln's grammars wants."""
    return MARKED.search(content) is not None


def is_project(path: str | Path) -> bool:
    """Whether a path names a project, or a file of one."""
    return str(path).lower().endswith(PROJECT) or INSIDE.fullmatch(str(path)) is not None


def read_source(path: str | Path, *, memory: int = MEMORY) -> Text:
    """Read the text of a file, packed or not, or of a file of a project."""
    inside = INSIDE.fullmatch(str(path))
    if inside is None and is_project(path):
        raise InputError(
            f"name a file of the project, as {Path(path).name}:file.mln", source=str(path)
        )
    if inside is None:
        return read_text(path, memory=memory)
    return read_packed(inside["project"], inside["name"], memory=memory)


def read_packed(project: str | Path, name: str, *, memory: int = MEMORY) -> Text:
    """Read a file of a project."""
    try:
        with zipfile.ZipFile(project) as archive:
            names = archive.namelist()
            path = next((f + name for f in FOLDERS if f + name in names), None)
            if path is None:
                near = suggestion(name, [member.split("/")[-1] for member in names])
                raise InputError(
                    f"the project has no file {quote(name)}{near}", source=str(project)
                )
            data = _read_member(archive, path, memory // 4)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(
            f"it is no project that can be read: {error}", source=str(project)
        ) from None
    except ValueError as error:
        raise InputError(
            f"it is no project that can be read: {error}", source=str(project)
        ) from None
    source = f"{project}:{name}"
    try:
        return Text(source, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text", source=source) from None


def _read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of a file, and never more than memory can hold, whatever the archive claims."""
    with archive.open(name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise LimitError(f"{archive.filename}:{name}: holds more than {format_bytes(most)}")
    return data


def included_path(source: str, name: str, *, packed: bool) -> Path | str:
    """Give the path of a file that another one includes: in its folder, or in its project."""
    inside = INSIDE.fullmatch(source)
    if inside is not None:
        return f"{inside['project']}:{name}"
    if packed:
        raise InputError(f"<{name}> is a file of a project, but {source} is in none")
    return Path(source).parent / name


def resolve_path(path: str | Path) -> Path:
    """Give a path by which a file can be recognised."""
    try:
        return Path(path).resolve()
    except (OSError, ValueError):
        return Path(path)


@dataclass(frozen=True)
class ProjectQuestion:
    """What a project asked last: files, the query, and which predicates are closed."""

    programs: tuple[str, ...]
    databases: tuple[str, ...]
    query: str | None
    marked: bool
    all_closed: bool
    closed_names: tuple[str, ...]
    remark: str

    def closed(self, program: Program, query: str | None) -> Iterable[str]:
        """The predicates whose unlisted atoms are false."""
        if not self.all_closed:
            return self.closed_names
        queried = set(re.findall(r"[\w'-]+", query or ""))
        return [name for name in program.predicates if name not in queried]


def project_question(path: str | Path, *, memory: int = MEMORY) -> ProjectQuestion:
    """Read what a project asked last; `project.pracmln:file.mln` chooses another program."""
    inside = INSIDE.fullmatch(str(path))
    project = inside["project"] if inside else str(path)
    settings = _settings(project, memory)
    named = inside["name"] if inside else settings["mln"]
    if not named:
        raise InputError(
            f"{SETTINGS} names no program; write {Path(project).name}:file.mln", source=project
        )
    more = [settings["emln"]] if settings["use_emln"] and settings["emln"] and not inside else []
    remark = (
        f"{project}: program {named}, database {settings['db'] or 'none'}, query "
        f"{settings['queries'] or 'everything'}, as its {SETTINGS} says unless others are given"
    )
    return ProjectQuestion(
        programs=tuple(f"{project}:{name}" for name in (named, *more)),
        databases=(f"{project}:{settings['db']}",) if settings["db"] else (),
        query=settings["queries"] or None,
        marked=settings["grammar"] == "PRACGrammar",
        all_closed=bool(settings["cw"]),
        closed_names=tuple(
            name for part in settings["cw_preds"].split(",") if (name := part.strip())
        ),
        remark=remark,
    )


TOLD: dict[str, Any] = {
    "mln": "",
    "emln": "",
    "use_emln": 0,
    "db": "",
    "queries": "",
    "grammar": "",
    "cw": 0,
    "cw_preds": "",
}


def _settings(project: str, memory: int) -> dict[str, Any]:
    """What query.conf says, each setting of the type that it should have."""
    text = read_packed(project, SETTINGS, memory=min(memory, MOST_SETTINGS))
    try:
        content = json.loads(text.content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected a JSON object: {error}", source=text.source) from None
    if not isinstance(content, dict):
        raise InputError("expected a JSON object with settings", source=text.source)
    settings = dict(TOLD)
    for name, usual in TOLD.items():
        value = content.get(name, usual)
        if isinstance(usual, str) != isinstance(value, str) or not isinstance(value, str | int):
            raise InputError(f"{name} cannot be {quote(str(value))}", source=text.source)
        settings[name] = value.strip() if isinstance(value, str) else value
    return settings
