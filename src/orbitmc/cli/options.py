"""Options that several verbs share, and how their words are read."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_origin

import typer
from typer.core import TyperCommand

from orbitmc import inference
from orbitmc._util.settings import Setting, settings_of
from orbitmc._util.text import suggestion
from orbitmc.cli.inputs import LogicOptions, read_moves
from orbitmc.errors import InputError

# Help that fits on a screen: options in groups, an example, and all settings only if asked.

GROUPS = ("Arguments", "Question", "Method", "Budget", "Output")
HELP = ("-h", "--help")
ARGUMENTS, QUESTION, METHOD, BUDGET, OUTPUT = GROUPS


class Verb(TyperCommand):
    """A command that shows its options in groups; its epilog is an example."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; some settings may be written as options."""
        options = {name for parameter in self.params for name in parameter.opts}
        if any(word.startswith("-") and word.partition("=")[0] not in options for word in args):
            args = translate_alchemy_options(
                ctx, args, {*options, *HELP}, written_as_options(self.name or "")
            )
        self._refuse_misplaced(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_misplaced(self, ctx: Any, args: list[str]) -> None:
        """Refuse a second model, and an option that is given twice and has one value."""
        _, left, given = self.make_parser(ctx).parse_args(args=list(args))
        if left and any("--evidence" in parameter.opts for parameter in self.params):
            ctx.fail(f"{left[0]} is one too many; a database or other evidence needs -e before it")
        for parameter, count in Counter(given).items():
            if count > 1 and _keeps_one(parameter):
                ctx.fail(f"{' / '.join(parameter.opts)} is given {count} times; give it once")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None:
                rows[_group(parameter)].append(row)
        for group, records in rows.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Example"):
                formatter.write(f"{'':2}{self.epilog}\n")

    def everything(self, ctx: Any) -> str:
        """The help with what it leaves out: hidden options, and all settings."""
        hidden = [parameter for parameter in self.params if getattr(parameter, "hidden", False)]
        for parameter in hidden:
            parameter.hidden = False  # type: ignore[attr-defined]
        formatter = ctx.make_formatter()
        self.format_help(ctx, formatter)
        with formatter.section(
            "Settings, by --set NAME=VALUE; threads and those of programs by --NAME, too"
        ):
            known = settable(self.name or "").values()
            formatter.write_dl(
                [(f"{setting.name}={metavar(setting)}", setting.about) for setting in known]
            )
        for parameter in hidden:
            parameter.hidden = True  # type: ignore[attr-defined]
        return str(formatter.getvalue())


def _keeps_one(parameter: Any) -> bool:
    """Whether giving an option again would forget what was given before."""
    if parameter.param_type_name == "argument" or parameter.multiple:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)


def _group(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    if parameter.name == "help":
        return OUTPUT
    return getattr(parameter, "rich_help_panel", None) or METHOD


def show_everything(ctx: typer.Context, asked: bool) -> None:
    """Print all help and end, if that was asked for."""
    if asked and isinstance(ctx.command, Verb):
        print(ctx.command.everything(ctx).rstrip())
        raise typer.Exit


UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MODEL_HELP = (
    "A model: .uai, .bif, .xmlbif, .json, .net, .xdsl, .coo, .ising, .bqm, or a program: .mln, "
    ".pracmln."
)


def size_in_bytes(words: str) -> int:
    """Read a size such as `4G`, `512 MiB` or `1000000`.

    >>> size_in_bytes("1.5G")
    1610612736
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", str(words), re.IGNORECASE)
    size = round(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise typer.BadParameter(f"{words!r} is no size; write for example 512M or 4G")
    return size


def words_in(pieces: Sequence[str] | None) -> list[str]:
    """Words with commas between, from an option that may be repeated; each once."""
    words = (word.strip() for piece in pieces or () for word in piece.split(","))
    return list(dict.fromkeys(word for word in words if word))


def argument(metavar: str, about: str) -> Any:
    """What has no name on the command line."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


def option(names: str, group: str, about: str, *, shown: bool | str = False, **more: Any) -> Any:
    """What has a name, and a group in the help, which says of its default what is `shown`."""
    return typer.Option(
        *names.split(), help=about, rich_help_panel=group, show_default=shown, **more
    )


ModelFile = Annotated[Path, argument("MODEL", MODEL_HELP)]
OptionalModelFile = Annotated[Path | None, argument("MODEL", MODEL_HELP)]
PROGRAM_HELP = "The program, instead of MODEL, as in Alchemy."
ProgramFile = Annotated[
    Path | None, option("-i", QUESTION, PROGRAM_HELP, metavar="PROGRAM", hidden=True)
]
EVIDENCE_HELP = "NAME=VALUE, an atom, or a file; may be repeated."
EvidenceList = Annotated[
    list[str] | None, option("-e --evidence", QUESTION, EVIDENCE_HELP, metavar="EVIDENCE")
]
NAMES_HELP = "What to report: A,B or Smokes,Friends(Anna,x)."
Names = Annotated[list[str] | None, option("-q --query", QUESTION, NAMES_HELP, metavar="NAMES")]
QUERY_HELP = "Atoms to ask a program about: Smokes,Friends(Anna,x)."
Query = Annotated[list[str] | None, option("-q --query", QUESTION, QUERY_HELP, metavar="ATOMS")]
METHOD_HELP = (
    "auto is exact where that is affordable; lifted jumps along exact symmetries, lmh along "
    "approximate ones."
)
MethodName = Annotated[
    Literal["auto", "exact", "counting", "gibbs", "mcsat", "lifted", "lmh"],
    option("--method", METHOD, METHOD_HELP, shown=True),
]
GENERATORS_HELP = (
    "Permutations to jump by, as '(A B)(C D)', or a file of them; may be repeated. A wrong one "
    "does not bias the answer."
)
Generators = Annotated[
    list[str] | None,
    option("-g --generators", METHOD, GENERATORS_HELP, metavar="CYCLES", hidden=True),
]
SeldomGenerators = Annotated[
    list[str] | None,
    option("-g --generators", METHOD, GENERATORS_HELP, metavar="CYCLES", hidden=True),
]
"""The same, for a verb that has more important options to show."""

More = Annotated[
    list[str] | None,
    option("--set", METHOD, "Any other setting; --help-all lists them.", metavar="NAME=VALUE"),
]
HelpAll = Annotated[
    bool,
    option(
        "--help-all",
        OUTPUT,
        "Show all options and settings.",
        is_eager=True,
        callback=show_everything,
        expose_value=False,
    ),
]
SECONDS_HELP = "Answer after X seconds of work, compiling aside."
Seconds = Annotated[
    float | None, option("--seconds", BUDGET, SECONDS_HELP, metavar="X", shown="10")
]
SAMPLES_HELP = "Or record N samples in every chain."
Samples = Annotated[int | None, option("--samples", BUDGET, SAMPLES_HELP, metavar="N")]
ERROR_HELP = "Or sample until standard errors are about X."
StandardError = Annotated[float | None, option("--error", BUDGET, ERROR_HELP, metavar="X")]
SEED_HELP = "The same seed gives the same samples."
Seed = Annotated[int, option("--seed", BUDGET, SEED_HELP, metavar="N", min=0, shown=True)]
Memory = Annotated[
    int,
    option(
        "--memory",
        BUDGET,
        "Refuse a run that needs more; 512M, 4G.",
        parser=size_in_bytes,
        metavar="SIZE",
        shown="4G",
    ),
]
CLUSTER_HELP = "Let dask workers do the work: tcp://HOST:PORT, or local."
Cluster = Annotated[
    Any, option("--cluster", BUDGET, CLUSTER_HELP, parser=str, metavar="ADDRESS", hidden=True)
]
"""An address; commands are given the executor that was found there."""

Json = Annotated[bool, option("--json", OUTPUT, "Print one JSON object.")]
OUTPUT_HELP = "Write the answer to a file: .MAR, .json or .csv."
Output = Annotated[Path | None, option("-o --output", OUTPUT, OUTPUT_HELP, metavar="FILE")]
LOG_Z_HELP = "Give log Z too; sampling it takes as long again."
LogZ = Annotated[bool, option("--log-z", QUESTION, LOG_Z_HELP, hidden=True)]
RESULTS_HELP = "Write lines `Atom probability`, as Alchemy does."
Results = Annotated[
    Path | None, option("-r --results", OUTPUT, RESULTS_HELP, metavar="FILE", hidden=True)
]
WORLD_HELP = "Print the most probable world, its true atoms, as Alchemy does."
World = Annotated[bool, option("-m", OUTPUT, WORLD_HELP, hidden=True)]
ATOMS_HELP = "Print the most probable world, all atoms with 0 or 1, as Alchemy does."
WorldOfAll = Annotated[bool, option("-a", OUTPUT, ATOMS_HELP, hidden=True)]
REPORT_HELP = "Write a page with tables, charts and the verdict: .html."
Report = Annotated[Path | None, option("--report", OUTPUT, REPORT_HELP, metavar="FILE")]
CHECKPOINT_HELP = "Save the run to a file, for `orbitmc resume`."
CheckpointFile = Annotated[
    Path | None, option("--checkpoint", OUTPUT, CHECKPOINT_HELP, metavar="FILE")
]
Quiet = Annotated[bool, option("--quiet", OUTPUT, "Print no progress and no remarks.")]
Debug = Annotated[bool, option("--debug", OUTPUT, "Print the traceback of a bug.", hidden=True)]


# `--set NAME=VALUE`: settings that have no option of their own.

OPTIONS = {
    "method": "--method",
    "generators": "-g",
    "samples": "--samples",
    "seconds": "--seconds",
    "standard_error": "--error",
    "seed": "--seed",
    "memory": "--memory",
    "checkpoint": "--checkpoint",
    "executor": "--cluster",
}
"""Settings that have an option of their own on the command line."""

QUESTIONS = ("ask", "joint", "draw", "predict", "sweep")
"""Verbs that ask something else than marginals; all settings that decide how are theirs."""

TRUTHS = {"yes": True, "true": True, "no": False, "false": False}

Kind = TypeVar("Kind")


def settable(verb: str) -> Mapping[str, Setting]:
    """What `--set` may set for a verb, by name."""
    how, reading = settings_of(inference.Settings), settings_of(LogicOptions)
    plain = {name: setting for name, setting in how.items() if name not in OPTIONS}
    asking = {name: setting for name, setting in plain.items() if name != "checkpoint_every"}
    return {
        "infer": {**plain, **reading},
        **{question: {**asking, **reading} for question in QUESTIONS},
        "best": {**_some(how, "samples", "lanes"), **reading},
        "resume": _some(how, "threads", "checkpoint_every"),
        "compare": {"estimator": replace(how["estimator"], default="rao-blackwell"), **reading},
        "learn": _some(reading, "dialect", "meaning", "max_groundings"),
    }.get(verb, reading)


def written_as_options(verb: str) -> set[str]:
    """Settings of a verb that may be written as options: threads, and what is about programs."""
    return settable(verb).keys() & {"threads", *settings_of(LogicOptions)}


def parse_assignments(verb: str, pieces: Iterable[str] | None) -> dict[str, Any]:
    """Read all `NAME=VALUE` that were given to a verb."""
    known, values = settable(verb), dict[str, Any]()
    for piece in pieces or ():
        name, equals, text = piece.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"--set {piece}: expected NAME=VALUE")
        if name not in known:
            raise InputError(f"--set {name}: {_unknown(name, known)}")
        value = _read(known[name], text.strip())
        if name in values and not isinstance(value, tuple):
            raise InputError(f"--set {name}: it is set twice; set it once")
        values[name] = (*values[name], *value) if name in values else value
    return values


def settings_from(given: dict[str, Any], **options: Any) -> "inference.Settings":
    """Settings from options and from what `--set` gave; refused where they make no sense."""
    if sum(options.get(end) is not None for end in inference.ENDS) > 1:
        raise InputError("give only one of --seconds, --samples and --error")
    settings = inference.Settings(**options, **part_of(given, inference.Settings))
    settings.schedule()  # refuses what makes no sense before anything is read
    settings.require_use()
    return settings


def part_of(settings: Mapping[str, Any], kind: type[Kind]) -> dict[str, Any]:
    """The settings that are fields of a dataclass."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return {name: value for name, value in settings.items() if name in names}


def _some(settings: Mapping[str, Setting], *names: str) -> dict[str, Setting]:
    return {name: settings[name] for name in names}


def _unknown(name: str, known: Mapping[str, Setting]) -> str:
    dashed = name.replace("-", "_")
    if dashed in OPTIONS:
        return f"it has an option of its own, {OPTIONS[dashed]}"
    near = suggestion(dashed, known) or ";"
    return f"there is no such setting{near} --help-all lists them"


def _read(setting: Setting, text: str) -> Any:
    """Turn text into what a setting may be."""
    try:
        value = _value(setting, text)
    except ValueError:
        value = None
    if value is None or not setting.accepts(value):
        raise InputError(f"--set {setting.name}: expected {describe_values(setting)}, not {text!r}")
    return value


def _value(setting: Setting, text: str) -> Any:
    if setting.choices:
        return text
    plain = next(kind for kind in setting.kinds if kind is not NoneType)
    origin = get_origin(plain)
    if origin is Sequence:
        return tuple(word for part in text.split(",") if (word := part.strip()))
    if origin is Mapping:
        return read_moves(text)
    return TRUTHS.get(text.lower()) if plain is bool else plain(text)


def describe_values(setting: Setting) -> str:
    """What may be typed for a setting, in words."""
    if setting.choices:
        return f"{', '.join(setting.choices[:-1])} or {setting.choices[-1]}"
    if Path in setting.kinds or get_origin(setting.kind) is Sequence:
        return "words with commas between"
    return setting.expected


def metavar(setting: Setting) -> str:
    """What may be typed for a setting, in few letters."""
    if setting.choices:
        return "|".join(setting.choices)
    kinds = [kind for kind in setting.kinds if kind is not NoneType]
    letters = {int: "N", float: "X", bool: "yes|no"}
    return letters.get(kinds[0], "FILE" if get_origin(kinds[0]) is Mapping else "WORDS")


# Options for programs: settings by their own names, and what Alchemy's infer calls them.
#
# `--dialect pracmln` means `--set dialect=pracmln`. Options of Alchemy, LoMRF and Tuffy that mean a
# setting are taken for it; of the others, an error says what to write here.

ALIASES = {
    "-cw": "closed",
    "-cwa": "closed",
    "-ow": "opened",
    "-owa": "opened",
    "-f": "query_file",
    "-queryFile": "query_file",
}
"""Options of Alchemy, LoMRF and Tuffy that are settings here."""

CHAINS = "--samples N or --seconds X (the warm-up is chosen by itself)"
SEARCH = "--seconds X for how long to search for the most probable world (-m)"
LAZY = "--memory SIZE: programs are ground as far as evidence requires"
LIFTED = "--method lifted (jumps along exact symmetries)"
PROPAGATION = "--method auto: there is no belief propagation here, but answers have errors"
TEMPERED = "--method lmh, or --method auto, which tempers where that pays"
LEARNING = "orbitmc learn PROGRAM DATABASE -o LEARNED"
NOTHING = "nothing: it is not supported"
NEEDLESS = "nothing: it is not needed"
HINTS = {
    "-ms": "--method mcsat",
    "-p": "--method gibbs",
    "-gibbs": "--method gibbs",
    **dict.fromkeys(("-simtp", "-subInterval", "-numRuns", "-numSwap"), TEMPERED),
    **dict.fromkeys(("-bp", "-efbp", "-convThresh", "-convIterations"), PROPAGATION),
    **dict.fromkeys(("-lifted", "-ptpe", "-lis", "-lvg", "-cls", "-useHC", "-useCT"), LIFTED),
    **dict.fromkeys(("-noHC", "-hcCreateType", "-hcCreateNoise", "-lncIter"), LIFTED),
    "-explicitRep": LIFTED,
    "-seed": "--seed N",
    "-maxSeconds": "--seconds X",
    **dict.fromkeys(("-maxSteps", "-burnMinSteps", "-burnMaxSteps", "-minSteps"), CHAINS),
    "-numChains": "--set packs=N, each of 64 chains",
    **dict.fromkeys(("-testConvergence", "-delta", "-epsilonError", "-fracConverged"), "--error X"),
    "-samplesPerTest": "--error X",
    **dict.fromkeys(("-mwsMaxSteps", "-tries", "-targetWt", "-heuristic", "-tabuLength"), SEARCH),
    **dict.fromkeys(("-numSolutions", "-saRatio", "-saTemperature", "-lateSa"), "--method mcsat"),
    **dict.fromkeys(("-lazy", "-lazyNoApprox", "-memLimit", "-lazyLowState"), LAZY),
    **dict.fromkeys(("--db", "-db"), "-e FILE"),
    "-queryEvidence": "--closed P,Q with the predicates of the query and no -q for them",
    "-outputNetwork": "orbitmc ground PROGRAM DATABASE -o model.uai",
    "-counts": "orbitmc ground PROGRAM DATABASE",
    **dict.fromkeys(("-decision", "-hybrid", "-SA", "-propstdev"), NOTHING),
    "-inferType": "orbitmc best PROGRAM for map; marginals are what infer gives",
    "-mapType": "orbitmc best PROGRAM",
    "-marginal": "nothing: marginals are what infer gives",
    "-mcsatSamples": "--samples N",
    **dict.fromkeys(("-maxFlips", "-maxTries", "-walksatType", "-breakHardClauses"), SEARCH),
    "-dual": "orbitmc best PROGRAM, and orbitmc infer PROGRAM",
    **dict.fromkeys(("-learnwt", "-mle", "-dMaxIter"), LEARNING),
    "-minProb": "--json and leave out what is below",
    "-timeout": "--seconds X",
    "-threads": "--threads N",
    "-gz": "-o FILE.gz",
    **dict.fromkeys(("-nopart", "-keepData", "-rawString", "-activateAll", "-conf"), NEEDLESS),
}
"""Options of other programs, and what to write instead."""


SEVERAL_LETTERS = re.compile(r"-[A-Za-z]{2,}")


def translate_alchemy_options(
    context: typer.Context,
    words: Sequence[str],
    options: Collection[str],
    settings: Collection[str],
) -> list[str]:
    """The words of a command line with settings behind `--set`; foreign options are refused."""
    translated: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*translated, word, *waiting]
        name, equals, value = word.partition("=")
        setting = _setting(name, options, settings)
        if setting:
            if not equals and not waiting:
                context.fail(f"{name}: expected a value after it")
            translated += ["--set", f"{setting}={value if equals else waiting.pop(0)}"]
        elif name in HINTS and name not in options:
            context.fail(f"{name} belongs to another program; here write {HINTS[name]}")
        elif SEVERAL_LETTERS.fullmatch(name) and not {name, name[:2]} & {*options}:
            context.fail(f"No such option: {name}")
        else:
            translated.append(word)
    return translated


def _setting(name: str, options: Collection[str], settings: Collection[str]) -> str:
    """The setting that a word names, if it is no option of its own."""
    if name in options:
        return ""
    meant = ALIASES.get(name) or (name[2:].replace("-", "_") if name.startswith("--") else "")
    return meant if meant in settings else ""
