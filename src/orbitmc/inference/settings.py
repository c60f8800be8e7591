"""How to answer a question: the method, how long, and what decides its kernel."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar, get_args

from orbitmc import _numba, _util
from orbitmc._util.settings import format_settings, require_values, setting, settings_of
from orbitmc._util.text import MEMORY, suggestion
from orbitmc.errors import InputError
from orbitmc.inference.progress import Show, show_progress
from orbitmc.sampling.schedule import LANES, PACKS, Schedule

if TYPE_CHECKING:
    from orbitmc.kernels.protocol import Kernel
else:
    Kernel = tuple  # kernels are NamedTuples; what they are made of is loaded when one is used

Method = Literal["auto", "exact", "counting", "toulbar2", "gibbs", "mcsat", "lifted", "lmh"]
Base = Literal["gibbs", "mcsat", "low-width", "relations", "counts"]
Slices = Literal["walk", "samplesat"]
Scan = Literal["systematic", "random"]
Estimator = Literal["control-variates", "rao-blackwell", "values"]
Approximation = Literal["rank", "evidence", "messages", "weights"]
Blocks = Literal["pilot", "paper"]

METHODS: tuple[str, ...] = get_args(Method)
DEFAULT_SECONDS = 10.0
ENDS = ("samples", "seconds", "standard_error")
LOCAL = ("checkpoint", "checkpoint_every", "threads", "moves")  # not to be asked for again

PAPER_SHAPES = ("clusters", "rank", "max_moved", "min_acceptance")
"""What shapes the blocks of the paper."""

SHAPES = ("approximation", "blocks", *PAPER_SHAPES)
"""What decides the jumps of lmh."""

APPROXIMATIONS: Mapping[str, tuple[str, ...]] = {
    "rank": ("clusters", "rank"),
    "evidence": ("clusters",),
    "messages": ("clusters",),
    "weights": ("clusters", "max_moved", "min_acceptance"),
}
"""Relational approximations of programs, and what shapes each."""

SWAPPED: Approximation = "evidence"
"""Which constants are swapped in relations that are not ground, unless an approximation says."""

LMH, LIFTED, BASED = ("lmh",), ("lifted", "lmh"), ("gibbs", "lifted", "lmh")


@dataclass(frozen=True)
class Settings:
    """How to answer; what is not set has a default that suits most models."""

    method: Method = setting(
        "auto",
        "auto is exact where that is affordable, and samples elsewhere; counting is exact for "
        "symmetric Markov logic programs of any size; toulbar2 proves best states; mcsat is for "
        "hard constraints and large weights; lifted jumps along exact symmetries, lmh along "
        "approximate ones.",
        kernel=True,
    )
    base: Base | Kernel = setting(
        "gibbs",
        "The chain that jumps are mixed with; from Python also a kernel. low-width draws blocks of "
        "variables at once, which the method gibbs does by itself where zeros freeze single ones. "
        "relations draws a program's equivalence relations, orders, matchings and forests, and "
        "counts samples cells of a program's constants, which auto does by itself. With any other "
        "than gibbs, lmh shuffles blocks, without a race; with relations and counts it swaps "
        "constants.",
        methods=BASED,
        kernel=True,
    )
    block_work: int | None = setting(
        None,
        "Visits of factors while the blocks of low-width are chosen; more visits find more blocks.",
        unset="a fifth of the time",
        methods=BASED,
        least=1,
        kernel=True,
    )
    scan: Scan | None = setting(
        None,
        "The order in which variables are updated, one at a time.",
        unset="systematic",
        methods=("gibbs",),
        kernel=True,
    )
    slices: Slices | None = setting(
        None,
        "How MC-SAT samples a slice that is too large to count: walk is exact, samplesat is not.",
        unset="walk",
        methods=("mcsat",),
        kernel=True,
    )
    estimator: Estimator = setting(
        "control-variates",
        "Average conditional probabilities, with most of their noise subtracted where a trial "
        "shows that it pays, or without; or count values.",
        kernel=True,
    )
    samples: int | None = setting(None, "Record this many samples in every chain.")
    seconds: float | None = setting(
        None,
        "Answer after this many seconds; compiling is not counted.",
        unset=f"{DEFAULT_SECONDS:g}",
    )
    standard_error: float | None = setting(None, "Sample until standard errors are about this.")
    warm_up: int | None = setting(
        None, "Samples to discard first.", unset="a fifth of the run, at least 20", least=0
    )
    spacing: int | None = setting(
        None,
        "Steps between two samples.",
        unset="four for each variable, fewer if a large model has little time",
        least=1,
    )
    alpha: float | None = setting(
        None,
        "The probability of a base step; other steps are jumps. With alpha, approximation, blocks, "
        "clusters, rank, max_moved or min_acceptance, lmh shuffles or swaps, without a race.",
        unset="0.8",
        methods=LIFTED,
        kernel=True,
    )
    approximation: Approximation | None = setting(
        None,
        "How lmh makes a program symmetric: evidence of low Boolean rank, constants clustered by "
        "their evidence or by the messages of their atoms, or clustered rule weights.",
        unset="blocks decides",
        methods=LMH,
        kernel=True,
    )
    blocks: Blocks | None = setting(
        None,
        "Which variables lmh shuffles: those that a pilot run finds about equally probable, or "
        "those that the paper finds, by orbits of an approximation, degrees and fields.",
        unset="pilot, or paper with clusters, rank, max_moved or min_acceptance",
        methods=LMH,
        kernel=True,
    )
    clusters: int | None = setting(
        None,
        "How many different weights the approximation leaves.",
        unset="6",
        methods=LMH,
        least=1,
        kernel=True,
    )
    rank: int | None = setting(
        None,
        "Boolean rank of links in the approximation; 0 leaves links as they are.",
        unset="5, or 0 beyond 10,000 variables",
        methods=LMH,
        least=0,
        kernel=True,
    )
    max_moved: int | None = setting(
        None,
        "How many factors a jump may move.",
        unset="enough for 20 variables",
        methods=LMH,
        least=1,
        kernel=True,
    )
    min_acceptance: float | None = setting(
        None,
        "Exchange only variables whose fields alone would accept this share of jumps.",
        methods=LMH,
        kernel=True,
    )
    generators: Sequence[str] = setting(
        (),
        "Permutations of your own to jump by, as (A B)(C D); a wrong one does not bias the answer.",
        kernel=True,
    )
    moves: Mapping[str, Any] | None = setting(
        None,
        "The jumps that an earlier answer recorded, instead of a race.",
        unset="a race decides",
        methods=LMH,
        kernel=True,
    )
    seed: int = setting(0, "The same seed gives the same samples.", least=0)
    packs: int | None = setting(
        None,
        "Packs of chains; each is one task.",
        unset=f"{PACKS}, fewer if memory or time is short",
        least=1,
    )
    lanes: int | None = setting(
        None,
        "Chains in a pack, a multiple of 32.",
        unset=f"{LANES}, or 32 for a large model",
        least=1,
    )
    threads: int | None = setting(
        None, "Cores to use; results do not depend on it.", unset="all", least=1
    )
    executor: Executor | None = setting(
        None,
        "Where packs of chains advance: any concurrent.futures.Executor, of processes or of many "
        "machines; results do not depend on it.",
        unset="threads of this process",
    )
    memory: int = setting(MEMORY, "Refuse a run that needs more bytes.", unset="4 GiB", least=1)
    checkpoint: Path | str | None = setting(
        None, "Save the run to this file, so that it can be resumed."
    )
    checkpoint_every: float | None = setting(
        None,
        "Seconds between two saves of the run.",
        unset="30, less often if that is slow",
        least=0,
    )

    @property
    def pack_count(self) -> int:
        """How many packs there are: those that were asked for, or the usual number."""
        return PACKS if self.packs is None else self.packs

    @property
    def lane_count(self) -> int:
        """How many chains a pack has: those that were asked for, or the usual number."""
        return LANES if self.lanes is None else self.lanes

    def kernel(self) -> dict[str, object]:
        """The settings that decide which kernel is used, for those who build it again."""
        every = settings_of(Settings).values()
        values = {option.name: getattr(self, option.name) for option in every if option.kernel}
        own_base = None if isinstance(self.base, str) else {"own": type(self.base).__name__}
        return {**values, "base": own_base or self.base, "generators": list(self.generators)}

    def require_use(self) -> None:
        """Refuse values that make no sense, and settings that nothing would listen to."""
        require_values(self)

        require_consistent(self)

    @property
    def by_pilot(self) -> bool:
        """Whether a pilot run finds the blocks of lmh; what shapes the paper's asks for those."""
        shaped = any(getattr(self, name) is not None for name in PAPER_SHAPES)
        return self.blocks == "pilot" or (self.blocks is None and not shaped)

    @property
    def names_jumps(self) -> bool:
        """Whether the jumps of lmh are settled, so that there is nothing to race for."""
        choices = (self.alpha, self.moves, *(getattr(self, name) for name in SHAPES))
        settled = any(x is not None for x in choices)
        return settled or bool(self.generators) or self.base != "gibbs"

    @cached_property
    def changes(self) -> Mapping[str, Any]:
        """The settings that are not the usual ones."""
        every = settings_of(Settings).values()
        values = {option.name: getattr(self, option.name) for option in every}
        return {each.name: values[each.name] for each in every if values[each.name] != each.default}

    def changed(self) -> dict[str, Any]:
        """The settings of a question that are not the usual ones: those to ask it again with."""
        return {name: value for name, value in self.changes.items() if name not in LOCAL}

    def schedule(self) -> Schedule:
        given = any(getattr(self, end) is not None for end in ENDS)
        return Schedule(
            samples=self.samples,
            seconds=self.seconds if given else DEFAULT_SECONDS,
            standard_error=self.standard_error,
            spacing=self.spacing,
            warm_up=self.warm_up,
        )


Settings.__doc__ = f"{Settings.__doc__}\n\n{format_settings(Settings)}\n"


# Settings as keywords of a question, with types, help and kind errors.

KEYWORD = inspect.Parameter.KEYWORD_ONLY
P = ParamSpec("P")
R = TypeVar("R")


PARAMETERS: Mapping[str, str] = {
    "model": "`Model` or `MarkovLogic`: what is asked about",
    "evidence": "mapping; default: none: a value, or weights of the values, for each observed name",
    "query": "names; default: all: the variables or atoms to report",
    "kernel": "`Kernel`; default: that of the method: samples the model with its evidence",
    "settings": "`Settings`; default: the usual ones: keywords beside them change them",
    "watchers": "functions of a `Run`; default: none: called after every round of sampling",
    "names": "list of names: the variables or atoms whose joint values are asked for",
    "event": "text: an expression such as `rain != 'none' and grass == 'wet'`",
    "given": "text; default: nothing: an event that is known to have happened",
    "features": "mapping: a function of states, or a table, for each name",
    "rows": "DataFrame or list of mappings: evidence, one question for each row",
    "ignore": "names; default: none: columns of the rows that are no evidence",
    "id": "names; default: none: columns that are no evidence and become the index of the answer",
    "progress": "yes or no, or a function of a share and words; default: yes in notebooks: show "
    "how far it is, by a bar, or by lines where standard error is no terminal",
    "target": "name: the variable or atom that one wants to know",
    "candidates": "names; default: all others: what might be observed",
    "betas": "list of numbers above 0: inverse temperatures",
    "chains": "whole number; default: 64: how many chains are drawn from",
    "k": "whole number; default: 1: how many states",
    "explain": "yes or no; default: no: find the most probable state of each row, too",
    "over": "names; default: all: what is maximised over; everything else is summed out",
}
"""What questions take beside settings: the type, the default and the meaning."""


class Options(TypedDict, total=False):
    """The fields of `Settings` as keywords of a question, and whether progress is shown."""

    progress: bool | Show | None
    method: Method
    base: Base | Kernel
    block_work: int | None
    scan: Scan | None
    slices: Slices | None
    estimator: Estimator
    samples: int | None
    seconds: float | None
    standard_error: float | None
    warm_up: int | None
    spacing: int | None
    alpha: float | None
    approximation: Approximation | None
    blocks: Blocks | None
    clusters: int | None
    rank: int | None
    max_moved: int | None
    min_acceptance: float | None
    generators: Sequence[str]
    moves: Mapping[str, Any] | None
    seed: int
    packs: int | None
    lanes: int | None
    threads: int | None
    executor: Executor | None
    memory: int
    checkpoint: Path | str | None
    checkpoint_every: float | None


def merge_options(settings: Settings | None, options: Options) -> Settings:
    """Settings with some of them changed."""
    if isinstance(settings, Settings):
        require_values(settings)
    elif settings is not None:
        raise InputError(f"settings: expected om.Settings, not {settings!r}; others are keywords")
    for name, value in options.items():
        known = settings_of(Settings)[name]
        if not known.accepts(value):
            raise known.refusal(value)
    if settings is None:
        return Settings(**options)  # type: ignore[misc]
    return replace(settings, **options)  # type: ignore[misc]


def accepts_settings(question: Callable[P, R]) -> Callable[P, R]:
    """Let a question show all settings as keywords, in its signature and its docstring.

    It takes them as `**options: Unpack[Options]`. A keyword that does not exist raises a
    `TypeError` that says which one was probably meant.
    """
    signature = inspect.signature(question)
    plain = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    plain.append(
        inspect.Parameter("progress", KEYWORD, default=None, annotation=bool | Show | None)
    )
    shown = [
        inspect.Parameter(option.name, KEYWORD, default=option.default, annotation=option.kind)
        for option in settings_of(Settings).values()
    ]
    known = [parameter.name for parameter in (*plain, *shown)]

    @wraps(question)
    def asked(*arguments: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                hint = suggestion(name, known)
                if arguments and name in getattr(arguments[0], "order", ()):
                    hint = (
                        f"; {name!r} is a variable: evidence is a mapping, as in "
                        f"{question.__name__}(model, {{{name!r}: {options[name]!r}}})"
                    )
                raise TypeError(f"{question.__name__}() has no setting {name!r}{hint}")
        progress: Any = options.pop("progress", None)
        with _numba.asked_now(), show_progress(progress):
            return question(*arguments, **options)

    asked.__signature__ = signature.replace(parameters=[*plain, *shown])  # type: ignore[attr-defined]
    summary = inspect.cleandoc(question.__doc__ or "")
    own_lines = "\n".join(
        _line(parameter.name) for parameter in plain if parameter.name in PARAMETERS
    )
    asked.__doc__ = (
        f"{summary}\n\nParameters:\n\n{own_lines}\n\nSettings:\n\n{format_settings(Settings)}"
    )
    return asked


def _line(name: str) -> str:
    """A parameter in a line of a docstring."""
    kind, _, meaning = PARAMETERS[name].rpartition(": ")
    return f"- `{name}` ({kind}): {meaning}"


# Which settings go together: what nothing would listen to is refused.

SAMPLED = (
    "estimator",
    "samples",
    "standard_error",
    "warm_up",
    "spacing",
    "generators",
    "packs",
    "lanes",
    "checkpoint",
)
"""Beside what only some methods listen to: settings that mean nothing to an exact answer."""


def describe_unused_settings(settings: Settings, *heeded: str) -> str:
    """Say which settings an exact answer had no use for, as the end of a reason."""
    known = settings_of(Settings)
    idle = [
        name
        for name in settings.changes
        if (known[name].methods or name in SAMPLED) and name not in heeded
    ]
    return f"; only sampling would use {', '.join(idle)}" if idle else ""


def require_consistent(settings: Settings) -> None:
    """Refuse values that make no sense together, and settings that nothing would listen to."""
    _require_generators(settings)
    _require_used_settings(settings)
    if settings.alpha is not None and not 0 < settings.alpha < 1:
        raise InputError(f"alpha lies between 0 and 1, not at {settings.alpha}")
    _require_lanes(settings)
    _require_base(settings)
    _require_approximation(settings)
    _require_paper(settings)
    _require_one_source(settings)


def _require_used_settings(settings: Settings) -> None:
    """Refuse what the method does not listen to, nor MC-SAT where it is the base chain."""
    based = settings.method in LIFTED and settings.base == "mcsat"
    listening = {settings.method, "mcsat"} if based else {settings.method}
    for name in settings.changes:
        option = settings_of(Settings)[name]
        if option.methods and listening.isdisjoint(("auto", *option.methods)):
            raise InputError(
                f"{option.name} is for {' and '.join(option.methods)}, not for {settings.method}"
            )


def _require_lanes(settings: Settings) -> None:
    if settings.lanes is not None and settings.lanes % _util.LANE_UNIT:
        raise InputError(f"lanes are a multiple of {_util.LANE_UNIT}, not {settings.lanes}")


def _require_base(settings: Settings) -> None:
    """Refuse a base that Gibbs is not, and an order of single variables for blocks."""
    if settings.method == "gibbs" and settings.base == "mcsat":
        raise InputError("such a base is for lifted and lmh, not for gibbs")
    swapping = settings.base in ("relations", "counts")
    chosen = settings.method == "auto" and settings.base == "relations"
    if swapping and settings.method not in ("gibbs", "lmh") and not chosen:
        methods = "the methods gibbs and lmh"
        raise InputError(f"base={settings.base} is for {methods}, not for {settings.method}")
    if swapping and (settings.generators or settings.approximation == "weights"):
        unheard = "generators" if settings.generators else "weights"
        raise InputError(f"lmh with base={settings.base} swaps constants: it has no {unheard}")
    if settings.base in ("low-width", "relations", "counts") and settings.scan is not None:
        raise InputError(f"scan is for variables one at a time, base={settings.base} draws blocks")


def _require_approximation(settings: Settings) -> None:
    """Refuse shapes of jumps that the approximation does not have."""
    if settings.base == "counts":
        for name in SHAPES:
            if name != "clusters" and getattr(settings, name) is not None:
                raise InputError(f"lmh with base=counts swaps alike constants: it has no {name}")
        return
    usual = SWAPPED if settings.base == "relations" else None
    if (approximation := settings.approximation or usual) is None:
        return
    heard = ("approximation", *APPROXIMATIONS[approximation])
    for name in SHAPES:
        if name not in heard and getattr(settings, name) is not None:
            raise InputError(f"the approximation {approximation} has no {name}")


def _require_paper(settings: Settings) -> None:
    """Refuse shapes of the paper's blocks beside those of a pilot run."""
    for name in PAPER_SHAPES if settings.blocks == "pilot" else ():
        if getattr(settings, name) is not None:
            raise InputError(f"{name} is for blocks=paper, a pilot run needs none")


def _require_generators(settings: Settings) -> None:
    """Refuse generators that nothing would use."""
    if settings.generators and settings.method != "lmh":
        raise InputError(f"generators are for the method lmh, not for {settings.method}")


def _require_one_source(settings: Settings) -> None:
    """Refuse jumps that are recorded, given and shaped at the same time."""
    given = ["generators"] if settings.generators else []
    shaped = [name for name in SHAPES if getattr(settings, name) is not None]
    weighed = ["alpha"] if settings.alpha is not None else []
    other = ["base"] if settings.base not in ("gibbs", "relations") else []
    if settings.moves is not None and (unheard := given + shaped + weighed + other):
        raise InputError(f"the recorded moves are all the jumps there are: no {unheard[0]}")
    if given and shaped:
        raise InputError(f"the given generators are all the jumps there are: no {shaped[0]}")
