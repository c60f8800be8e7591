"""What the verbs that ask questions share: their options, whom they ask, and how they end."""

import inspect
import json as json_module
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from orbitmc import inference, report
from orbitmc._util.files import write_pieces, write_text
from orbitmc._util.text import MEMORY
from orbitmc.cli import inputs as questions
from orbitmc.cli import options
from orbitmc.cli import output as answers
from orbitmc.cli.options import (
    BUDGET,
    OUTPUT,
    QUESTION,
    argument,
    option,
    parse_assignments,
    part_of,
)
from orbitmc.cli.running import Session
from orbitmc.cli.session import CLOCK, INTERRUPTED, NOT_CONVERGED, print_remark, verb
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc import BestStates, Estimates, Model
    from orbitmc.inference import About, Evidence, MarkovLogic, RunObserver, Settings, Sweep


Text = Callable[[], str | Iterable[str]]
"""Gives a text, or its pieces."""

PREDICATE = r"(?<!\w)(?!v\()[^\W\d]\w*(?=\()"
"""A word with an opening bracket behind it, other than `v`, which means or."""

OUTPUT_HELP = "Write the answer to a file: {}."


@dataclass(frozen=True)
class QuestionCommand:
    """Whom to ask, how, and who watches."""

    source: "Model | MarkovLogic"
    evidence: "Evidence | None"
    settings: "Settings"
    watchers: Sequence["RunObserver"]
    quiet: bool
    is_program: bool

    @property
    def how(self) -> dict[str, Any]:
        """What every question is told."""
        return {
            "evidence": self.evidence,
            "settings": self.settings,
            "watchers": self.watchers,
        }


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
        own_parameters = list(inspect.signature(answer).parameters.values())[1:]

        def command(**given: Any) -> int:
            mine = {parameter.name: given.pop(parameter.name) for parameter in own_parameters}
            query = questions.as_one(mine["query"]) if opens_query else None
            return _run_question(answer, mine, query, kinds, **given)

        command.__name__, command.__doc__ = answer.__name__, answer.__doc__
        parameters = [parameter.replace(kind=KEYWORD) for parameter in (*_model(), *own_parameters)]
        parameters += _common_parameters(without, kinds, method)
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return verb(command)

    return decorated


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _model() -> list[inspect.Parameter]:
    return [inspect.Parameter("model", KEYWORD, annotation=options.ModelFile)]


def _common_parameters(
    without: Collection[str], kinds: Sequence[str], method: Any
) -> Iterable[inspect.Parameter]:
    """The common options, and the file for an answer."""
    listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    file = option("-o --output", OUTPUT, OUTPUT_HELP.format(listed), metavar="FILE")
    for parameter in inspect.signature(_common).parameters.values():
        if parameter.name not in without:
            kind = method if parameter.name == "method" else parameter.annotation
            yield parameter.replace(kind=KEYWORD, annotation=kind)
        if parameter.name == "json":
            written = Annotated[Path | None, file]
            yield inspect.Parameter("output", KEYWORD, default=None, annotation=written)


def _run_question(
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
    files = [value for value in mine.values() if isinstance(value, Path)]
    _require_file(output, [model, *files, *(evidence or ())], kinds)
    logic = {"query": query} if query is not None else {"opened": _predicates(mine)}
    asked, how = _read(
        answer.__name__, model, evidence, more, logic, quiet, standard_error=error,
        executor=cluster, **settings,
    )  # fmt: skip

    with Session(quiet) as session, CLOCK.asking():
        reply = answer(
            QuestionCommand(
                asked.source,
                asked.evidence,
                how,
                session.watchers,
                quiet,
                asked.program is not None,
            ),
            **mine,
        )
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
) -> tuple[questions.ModelInput, "Settings"]:
    """Read whom to ask, with evidence, and how; settings are refused before anything is read.

    Of a program, the `logic` of a question is read with it, unless settings say otherwise.
    """
    assigned = parse_assignments(name, more)
    logic_values = part_of(assigned, questions.LogicOptions)
    settings = options.settings_from(
        assigned, **{k: v for k, v in given.items() if k not in assigned}
    )
    if not questions.is_logic(path):
        plain = questions.LogicOptions(**logic_values)
        return questions.read_question(path, evidence, settings.memory, plain), settings
    chosen = questions.LogicOptions(**{**logic, **logic_values})
    asked = questions.logic_question(path, tuple(evidence or ()), settings.memory, chosen)
    for remark in () if quiet else asked.remarks:
        print_remark(remark)
    return asked, settings


def _predicates(mine: Mapping[str, Any]) -> tuple[str, ...]:
    """Predicates of the atoms that a question names: it asks about them, so they are open."""
    words = [word for given in mine.values() for word in _texts(given)]
    names = [name for text in words for name in re.findall(PREDICATE, text)]
    return tuple(dict.fromkeys(names))


def _texts(given: Any) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    return [text for text in given if isinstance(text, str)] if isinstance(given, list) else []


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
        kind = _kind(output)
        if kind in reply.writers:
            reply.writers[kind](output)
        else:
            write_pieces(output, _pieces(reply.csv if kind == ".csv" else reply.json))
        if not quiet:
            print_remark(f"the answer is in {output}")
    if json or output is None:
        sys.stdout.writelines(_pieces(reply.json if json else reply.table))


def _pieces(text: Text) -> Iterable[str]:
    content = text()
    return [content] if isinstance(content, str) else content


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
            print_remark(f"warning: {warning}")
        print_remark(f"{about.method} ({about.reason}), {about.seconds:.2g} s: {reply.verdict}")
    if about.interrupted:
        print_remark("interrupted: the answer uses what was found so far")
        return INTERRUPTED
    return reply.code or (0 if reply.converged else NOT_CONVERGED)


# `orbitmc ask`: how probable an event is, or what would tell most about a variable.

EVENT_HELP = "As in \"A == 'x' and B != 'y'\", or a formula of ground atoms."
GIVEN_HELP = "What holds, as an event."
ABOUT_HELP = "Instead of EVENT: what would tell most about NAME."
SENSITIVITY_HELP = "List the table entries that change the answer."
THRESHOLD_HELP = "With --sensitivity: how far must each entry move for the answer to reach P?"
ANSWER = "probability"


@question()
def ask(
    asking: QuestionCommand,
    event: Annotated[str | None, argument("EVENT", EVENT_HELP)] = None,
    given: Annotated[str | None, option("--given", QUESTION, GIVEN_HELP, metavar="EVENT")] = None,
    about: Annotated[str | None, option("--about", QUESTION, ABOUT_HELP, metavar="NAME")] = None,
    query: options.Names = None,
    sensitivity: Annotated[bool, option("--sensitivity", QUESTION, SENSITIVITY_HELP)] = False,
    threshold: Annotated[
        float | None, option("--threshold", QUESTION, THRESHOLD_HELP, metavar="P", hidden=True)
    ] = None,
) -> Reply:
    """Say how probable an event is, or what is informative."""
    _require_one(event, about, given, query)
    if sensitivity or threshold is not None:
        return _reply_with_sensitivity(asking, event, given, threshold)
    estimates = _answer(asking.source, event, given, about, query, **asking.how)

    return Reply(
        estimates.about,
        ", ".join(dict.fromkeys(estimate.verdict for estimate in estimates.values())),
        estimates.converged,
        table=lambda: (
            f"{estimates[ANSWER]}\n" if event else report.estimates_table(estimates, "bits")
        ),
        json=lambda: report.estimates_json(estimates),
        csv=lambda: report.estimates_csv(estimates),
    )


def _reply_with_sensitivity(
    asking: QuestionCommand, event: str | None, given: str | None, threshold: float | None
) -> Reply:
    if event is None or given is not None:
        raise InputError("--sensitivity belongs to an event; give what holds by -e")
    answer = inference.sensitivity(asking.source, event, asking.evidence, threshold=threshold)
    return Reply(
        answer.about,
        "exact",
        True,
        table=lambda: f"{answer}\n",
        json=lambda: report.sensitivity_json(answer),
        csv=lambda: report.sensitivity_csv(answer),
    )


def _answer(
    source: Any,
    event: str | None,
    given: str | None,
    about: str | None,
    query: list[str] | None,
    **how: Any,
) -> "Estimates":
    if event is not None:
        estimate = inference.probability(source, event, given=given, **how)
        return inference.Estimates({ANSWER: estimate}, estimate.about)

    return inference.information(
        source, about or "", inference.names_in(query, source) if query else None, **how
    )


def _require_one(
    event: str | None, about: str | None, given: str | None, query: list[str] | None
) -> None:
    if (event is None) == (about is None):
        raise InputError("give an event, or --about a variable")
    if about is not None and given is not None:
        raise InputError("--given belongs to an event; with --about, give evidence by -e")
    if about is None and query:
        raise InputError("-q names what may tell about a variable: it belongs to --about")


# `orbitmc joint`: how probable the joint values of a few variables are.

NAMES_HELP = "Variables, or ground atoms of a program."


@question()
def joint(
    asking: QuestionCommand, names: Annotated[list[str], argument("NAME...", NAMES_HELP)]
) -> Reply:
    """Say how probable the joint values of variables are."""
    table = inference.joint(asking.source, names, **asking.how)
    return Reply(
        table.about,
        table.verdict,
        table.converged,
        table=lambda: report.joint_table(table),
        json=lambda: report.joint_json(table),
        csv=lambda: report.joint_csv(table),
    )


# `orbitmc draw`: states of a model.

MOST_CHAINS = 64
VALUES_PER_SECOND = 1e7  # that are written
WRITING_SHARE = 0.4  # of the time that was asked for
STATES_HELP = "How many states to draw."
CHAINS_HELP = "In how many chains; states of one chain depend on each other."
States = Annotated[int, option("-n --states", BUDGET, STATES_HELP, metavar="N", min=1, shown=True)]
Chains = Annotated[
    int | None, option("--chains", BUDGET, CHAINS_HELP, metavar="N", min=1, shown="up to 64")
]


@question(without=("samples", "error"), kinds=(".csv", ".npz", ".nc"), opens_query=True)
def draw(
    asking: QuestionCommand,
    states: States = 1000,
    chains: Chains = None,
    query: options.Names = None,
) -> Reply:
    """Draw states, independently where that is affordable."""
    names = inference.names_in(query, asking.source) if query and not asking.is_program else None
    each = _chains(states, chains)
    states = _states_in_time(asking, states, each)

    settings = replace(asking.settings, samples=states // each)
    drawn = inference.draws(
        asking.source,
        asking.evidence,
        chains=each,
        query=names,
        settings=settings,
        watchers=asking.watchers,
    )
    return Reply(
        drawn.about,
        drawn.verdict,
        drawn.converged,
        table=lambda: report.csv_lines(drawn),
        json=lambda: report.json_text(drawn),
        csv=lambda: report.csv_lines(drawn),
        writers={kind: partial(writer, drawn) for kind, writer in report.WRITERS.items()},
    )


def _states_in_time(asking: QuestionCommand, states: int, chains: int) -> int:
    """As many states as there is time to write, and the same number in each chain."""
    seconds = asking.settings.seconds
    if seconds is None:
        return states
    source: Any = asking.source
    names = inference.count_names(source) if asking.is_program else len(source.order)
    each = int(WRITING_SHARE * VALUES_PER_SECOND * seconds / (chains * max(1, names)))
    if chains * max(1, each) >= states:
        return states
    states = chains * max(1, each)
    print_remark(f"warning: there is time to write {states:,} states of {names:,} names")
    return states


def _chains(states: int, chains: int | None) -> int:
    """How many chains give exactly so many states: as many as 64 if none are asked for."""
    if chains is None:
        return max(each for each in range(1, MOST_CHAINS + 1) if states % each == 0)
    if states % chains:
        raise InputError(f"{states} states cannot be drawn in {chains} chains of equal length")
    return chains


# `orbitmc best`: the most probable states of a model, or the true atoms of a program.

Count = Annotated[
    int, options.option("-k --states", QUESTION, "How many states.", metavar="K", shown=True)
]
METHOD_HELP = "exact and counting prove them; auto searches where that is too dear."
MethodName = Annotated[
    Literal["auto", "exact", "counting", "toulbar2", "gibbs"],
    options.option("--method", "Method", METHOD_HELP, shown=True),
]


OVER_HELP = "Sum everything but these out: A,B or Smokes,Friends(Anna,x)."
TELL_HELP = "Of the best states of everything, report these only."
Over = Annotated[
    list[str] | None, options.option("-q --query", QUESTION, OVER_HELP, metavar="NAMES")
]
Tell = Annotated[
    list[str] | None, options.option("--tell", QUESTION, TELL_HELP, metavar="NAMES", hidden=True)
]


@question(without=("samples", "error"), method=MethodName, opens_query=True)
def best(asking: QuestionCommand, count: Count = 1, query: Over = None, tell: Tell = None) -> Reply:
    """Find the most probable states, of all variables or of some."""
    source = asking.source
    states = inference.best(
        source,
        asking.evidence,
        k=count,
        over=_names_of(query, source),
        query=_names_of(tell, source),
        settings=asking.settings,
    )
    return Reply(
        states.about,
        states.verdict(),
        states.converged,
        table=lambda: _true_atoms(states) if asking.is_program else f"{states}\n",
        json=lambda: states.to_json() + "\n",
        csv=states.to_csv,
    )


def _names_of(typed: list[str] | None, source: Any) -> list[str] | str | None:
    """Variables of a model, or a query to a program, which need not be ground."""
    if not typed:
        return None
    return ";".join(typed) if hasattr(source, "asking") else inference.names_in(typed, source)


def require_program(model: Path, method: str) -> None:
    """Refuse to ask anything but a program for its world, or by a method that finds none."""
    if not questions.is_logic(model):
        raise InputError(
            "-m and -a are for programs; orbitmc best takes any model", source=str(model)
        )
    if method not in ("auto", "exact", "counting", "toulbar2", "gibbs"):
        raise InputError(
            f"-m and -a find worlds by auto, exact, counting, toulbar2 or gibbs, not by {method}"
        )


def best_world(
    model: Path,
    evidence: list[str] | None,
    settings: "Settings",
    logic: questions.LogicOptions,
    whole: bool,
    results: Path | None,
    quiet: bool,
) -> int:
    """Print the most probable world of a program as Alchemy does, or write it to a file."""
    program = questions.read_program(model, tuple(evidence or ()), settings.memory, logic)
    for remark in () if quiet else program.remarks:
        print_remark(remark)
    with Session(quiet), CLOCK.asking():
        states = inference.best_of_program(program, settings, 1)
    state = next(iter(states))
    lines = [
        f"{name} {int(value == 'true')}" if whole else name
        for name, value in state.items()
        if whole or value == "true"
    ]
    text = "".join(f"{line}\n" for line in lines)
    if results is not None:
        write_text(results, text)
    else:
        print(text, end="")
    return _exit_code_for(states, quiet)


def _true_atoms(states: "BestStates") -> str:
    """For each state a line with its weight, then the atoms that are true in it."""
    lines = []
    for rank, state in enumerate(states, 1):
        weight = f"log weight {state.log_weight:.6g}"
        if state.probability is not None:
            weight = f"probability {state.probability:.6g}"
        lines.append(f"# state {rank}, {weight}")
        lines += [name for name, value in state.items() if value == "true"]
    return "".join(f"{line}\n" for line in lines)


def _exit_code_for(states: "BestStates", quiet: bool) -> int:
    """Say what to think of the answer; gives the exit code."""
    for warning in states.about.warnings:
        print_remark(f"warning: {warning}")
    if not quiet or not states.proven:
        about = states.about
        print_remark(f"{about.method} ({about.reason}), {about.seconds:.2g} s: {states.verdict()}")
    if states.about.interrupted:
        print_remark("interrupted: the best states so far")
        return INTERRUPTED
    return 0


# `orbitmc sweep`: a model at several inverse temperatures.

MOST = 10_000
BETA_HELP = "Inverse temperatures: FIRST:LAST:COUNT, or numbers with commas; may be repeated."
OBSERVABLES_HELP = "Also measure some of m, |m|, susceptibility, binder, correlation(3) and others."
OUTSIDE_BRACKETS = re.compile(r"\s*,\s*(?![^()]*\))")
COLUMNS = ("value", "standard_error", "low", "high", "verdict")


@question()
def sweep(
    asking: QuestionCommand,
    beta: Annotated[list[str], option("--beta", QUESTION, BETA_HELP, metavar="BETAS")],
    observables: Annotated[
        str | None, option("--observables", QUESTION, OBSERVABLES_HELP, metavar="NAMES")
    ] = None,
) -> Reply:
    """Give energies and heat capacities at several temperatures."""
    rungs = inference.sweep(
        asking.source,
        [number for text in beta for number in betas_in(text)],
        observables=None if observables is None else OUTSIDE_BRACKETS.split(observables),
        **asking.how,
    )
    return Reply(
        rungs[-1].marginals.about,
        rungs[-1].verdict,
        rungs.converged,
        table=lambda: f"{rungs}\n",
        json=lambda: sweep_json(rungs),
        csv=lambda: sweep_csv(rungs),
    )


def betas_in(text: str) -> list[float]:
    """Read `FIRST:LAST:COUNT`, or a list of numbers."""
    try:
        if ":" not in text:
            return [float(word) for word in text.split(",")]
        first, last, count = text.split(":")
        if not 1 <= int(count) <= MOST:
            raise InputError(f"a sweep has 1 to {MOST:,} temperatures, not {count}")
        gap = (float(last) - float(first)) / max(int(count) - 1, 1)
        return [float(first) + gap * place for place in range(int(count))]
    except ValueError:
        raise InputError(
            f"{text!r} names no inverse temperatures: write 0.1:1:10 or 0.1,0.5,1"
        ) from None


def sweep_json(sweep: "Sweep") -> str:
    rungs = [
        {
            **rung.record(),
            "marginals": {
                name: dict(zip(marginal.values, marginal.probability.tolist(), strict=True))
                for name, marginal in rung.marginals.items()
            },
        }
        for rung in sweep
    ]
    return json_module.dumps({"betas": rungs}, indent=2, ensure_ascii=False) + "\n"


def sweep_csv(sweep: "Sweep") -> str:
    """A line for each number at each temperature."""
    numbers = [
        (rung.beta, name, one.record()) for rung in sweep for name, one in rung.quantities.items()
    ]
    rows = [(beta, name, *(record[column] for column in COLUMNS)) for beta, name, record in numbers]
    return report.csv_text(("beta", "quantity", *COLUMNS), rows)
