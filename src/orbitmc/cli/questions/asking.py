"""What the verbs that ask questions share: their options, whom they ask, and how they end."""

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc._util.text import MEMORY
from orbitmc.cli.session import answers, options, questions
from orbitmc.cli.session.exits import INTERRUPTED, NOT_CONVERGED, say, verb
from orbitmc.cli.session.help import OUTPUT
from orbitmc.cli.session.options import option
from orbitmc.cli.session.settable import assigned, part_of
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import About
    from orbitmc.graph.model import Model
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.settings import Settings
    from orbitmc.sampling.run import Watcher

Text = Callable[[], str | Iterable[str]]
"""Gives a text, or its pieces."""

PREDICATE = r"(?<!\w)(?!v\()[^\W\d]\w*(?=\()"
"""A word with an opening bracket behind it, other than `v`, which means or."""

OUTPUT_HELP = "Write the answer to a file: {}."


@dataclass(frozen=True)
class Asking:
    """Whom to ask, how, and who watches."""

    source: "Model | MarkovLogic"
    settings: "Settings"
    watchers: Sequence["Watcher"]
    quiet: bool
    show: Callable[[float, str], None]

    @property
    def how(self) -> dict[str, Any]:
        """What every question is told."""
        return {"settings": self.settings, "watchers": self.watchers}


@dataclass(frozen=True)
class Reply:
    """An answer: how to print it and to write it, by suffix, and what to think of it.

    `writers` write what is no text. A `code` other than 0 ends a command that has an answer.
    """

    about: "About"
    verdict: str
    converged: bool
    table: Text
    json: Text
    csv: Text
    writers: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    code: int = 0


def _common(
    evidence: options.EvidenceList = None,
    method: options.MethodName = "auto",
    more: options.More = None,
    seconds: options.Seconds = None,
    samples: options.Samples = None,
    error: options.StandardError = None,
    seed: options.Seed = 0,
    memory: options.Memory = MEMORY,
    cluster: options.Cluster = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> None:
    """The options of every question."""


def question(
    *,
    without: Collection[str] = (),
    kinds: Sequence[str] = (".json", ".csv"),
    method: Any = options.MethodName,
    opens_query: bool = False,
) -> Callable[[Callable[..., Reply]], Callable[..., None]]:
    """Make a verb of a function from `Asking` and its own options to a reply.

    It gets the common options, `without` some, and writes files of some `kinds`. The query of one
    that `opens_query` says which predicates of a program are open, as it does for `infer`.
    """

    def decorated(answer: Callable[..., Reply]) -> Callable[..., None]:
        own = list(inspect.signature(answer).parameters.values())[1:]

        def command(**given: Any) -> int:
            mine = {one.name: given.pop(one.name) for one in own}
            query = questions.as_one(mine["query"]) if opens_query else None
            return _carried_out(answer, mine, query, kinds, **given)

        command.__name__, command.__doc__ = answer.__name__, answer.__doc__
        parameters = [one.replace(kind=KEYWORD) for one in (*_model(), *own)]
        parameters += _shared(without, kinds, method)
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return verb(command)

    return decorated


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _model() -> list[inspect.Parameter]:
    return [inspect.Parameter("model", KEYWORD, annotation=options.ModelFile)]


def _shared(
    without: Collection[str], kinds: Sequence[str], method: Any
) -> Iterable[inspect.Parameter]:
    """The common options, and the file for an answer."""
    listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    file = option("-o --output", OUTPUT, OUTPUT_HELP.format(listed), metavar="FILE")
    for one in inspect.signature(_common).parameters.values():
        if one.name not in without:
            kind = method if one.name == "method" else one.annotation
            yield one.replace(kind=KEYWORD, annotation=kind)
        if one.name == "json":
            written = Annotated[Path | None, file]
            yield inspect.Parameter("output", KEYWORD, default=None, annotation=written)


def _carried_out(
    answer: Callable[..., Reply],
    mine: dict[str, Any],
    query: str | None,
    kinds: Sequence[str],
    *,
    model: Path,
    output: Path | None,
    json: bool,
    quiet: bool,
    evidence: list[str] | None = None,
    more: list[str] | None = None,
    error: float | None = None,
    cluster: Any = None,
    debug: bool = False,
    help_all: bool = False,
    **settings: Any,
) -> int:
    """Read, ask with progress, and deliver; Ctrl-C ends the question early."""
    files = [one for one in mine.values() if isinstance(one, Path)]
    _require_file(output, [model, *files, *(evidence or ())], kinds)
    logic = {"query": query} if query is not None else {"opened": _predicates(mine)}
    source, how = _read(
        answer.__name__, model, evidence, more, logic, quiet, standard_error=error,
        executor=cluster, **settings,
    )  # fmt: skip
    from orbitmc.cli.session.sampling import Session

    with Session(quiet, None, None, {}) as session:
        reply = answer(Asking(source, how, session.watchers, quiet, session.progress.show), **mine)
    _deliver(reply, json, output, quiet)
    return _exit_code(reply, quiet)


def _read(
    name: str,
    path: Path,
    evidence: Sequence[str] | None,
    more: Sequence[str] | None,
    logic: Mapping[str, Any],
    quiet: bool,
    **given: Any,
) -> tuple["Model | MarkovLogic", "Settings"]:
    """Read whom to ask, with evidence, and how; settings are refused before anything is read.

    Of a program, the `logic` of a question is read with it, unless settings say otherwise.
    """
    from orbitmc.cli.infer import settings_from

    found = assigned(name, more)
    own = part_of(found, questions.LogicOptions)
    settings = settings_from(found, **{k: v for k, v in given.items() if k not in found})
    if not questions.is_logic(path):
        plain = questions.LogicOptions(**own)
        return questions.read_question(path, evidence, settings.memory, plain).model, settings
    asked = questions.LogicOptions(**{**logic, **own})
    program = questions.read_program(path, tuple(evidence or ()), settings.memory, asked)
    for remark in () if quiet else program.remarks:
        say(remark)
    return program, settings


def _predicates(mine: Mapping[str, Any]) -> tuple[str, ...]:
    """Predicates of the atoms that a question names: it asks about them, so they are open."""
    words = [one for given in mine.values() for one in _texts(given)]
    found = [name for text in words for name in re.findall(PREDICATE, text)]
    return tuple(dict.fromkeys(found))


def _texts(given: Any) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _require_file(path: Path | None, sources: Iterable[Path | str], kinds: Sequence[str]) -> None:
    """Refuse a file that cannot be written, or whose suffix says nothing."""
    answers.require_writable(path)
    answers.require_other(path, sources)
    if path is not None and _kind(path) not in kinds:
        listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        raise InputError(f"an answer is written as {listed}; text also with .gz", source=str(path))


def _deliver(reply: Reply, json: bool, output: Path | None, quiet: bool) -> None:
    """Write an answer to a file, or print it."""
    if output is not None:
        from orbitmc._util.files import write_pieces

        kind = _kind(output)
        if kind in reply.writers:
            reply.writers[kind](output)
        else:
            write_pieces(output, _pieces(reply.csv if kind == ".csv" else reply.json))
        if not quiet:
            say(f"the answer is in {output}")
    if json or output is None:
        sys.stdout.writelines(_pieces(reply.json if json else reply.table))


def _pieces(text: Text) -> Iterable[str]:
    found = text()
    return [found] if isinstance(found, str) else found


def _kind(path: Path) -> str:
    """The suffix that says how an answer is written; only text is packed."""
    name = path.name.lower()
    plain = Path(name.removesuffix(".gz")).suffix
    return plain if plain in (".csv", ".json") else path.suffix.lower()


def _exit_code(reply: Reply, quiet: bool) -> int:
    """Say how an answer was found and what to think of it; gives the exit code."""
    about = reply.about
    if not quiet or not reply.converged or about.warnings or about.interrupted:
        for warning in about.warnings:
            say(f"warning: {warning}")
        say(f"{about.method} ({about.reason}), {about.seconds:.2g} s: {reply.verdict}")
    if about.interrupted:
        say("interrupted: the answer uses what was found so far")
        return INTERRUPTED
    return reply.code or (0 if reply.converged else NOT_CONVERGED)
