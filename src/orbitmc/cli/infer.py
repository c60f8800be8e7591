"""`orbitmc infer`: a model and evidence in, marginals with their errors out."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orbitmc.cli.session.answers import (
    deliver,
    delivery_seconds,
    require_new_run,
    require_other,
    require_output,
    require_writable,
    write_results,
)
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.options import (
    MEMORY,
    CheckpointEvery,
    Closed,
    Debug,
    DialectOption,
    EvidenceList,
    Generators,
    Json,
    MaxGroundings,
    MeaningOption,
    Memory,
    Opened,
    OptionalModelFile,
    Output,
    Query,
    Quiet,
    Seed,
    Threads,
)
from orbitmc.cli.session.questions import LogicOptions, read_generators, read_moves, read_question
from orbitmc.errors import ContradictionError, InputError
from orbitmc.machine.locks import owned

if TYPE_CHECKING:
    from orbitmc.ask.settings import Settings


@verb
def infer(
    model: OptionalModelFile = None,
    evidence: EvidenceList = None,
    query: Query = None,
    method: Annotated[
        Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"],
        typer.Option(
            help="auto is exact where that is affordable, and samples elsewhere; mcsat suits hard "
            "and heavy constraints; lifted jumps along exact symmetries, lmh along approximate "
            "ones."
        ),
    ] = "auto",
    seconds: Annotated[
        float | None,
        typer.Option(help="Answer within so long, compiling not counted.", show_default="10"),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Record so many samples in every chain.", show_default=False)
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Sample until standard errors are about this.", show_default=False),
    ] = None,
    seed: Seed = 0,
    scan: Annotated[
        Literal["systematic", "random"] | None,
        typer.Option(help="In which order gibbs updates variables.", show_default="systematic"),
    ] = None,
    slices: Annotated[
        Literal["walk", "samplesat"] | None,
        typer.Option(
            help="How mcsat draws what is too large to count: walk is exact, samplesat is not.",
            show_default="walk",
        ),
    ] = None,
    estimator: Annotated[
        Literal["rao-blackwell", "values", "orbits"],
        typer.Option(
            help="Average conditional probabilities, count values, or average over what the "
            "generators make of a state, weighed by the model (up to 64 images)."
        ),
    ] = "rao-blackwell",
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Share of Gibbs steps among the jumps of lifted and lmh; any of the next options "
            "makes lmh jump as in the paper, without a race.",
            show_default="0.8",
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many different weights lmh leaves in its approximation.",
            show_default="6",
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Boolean rank of its links; 0 leaves links as they are.",
            show_default="5",
        ),
    ] = None,
    max_moved: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many factors a jump of lmh may move.",
            show_default="enough for 20 variables",
        ),
    ] = None,
    min_acceptance: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Let lmh exchange only variables whose fields would let so many jumps succeed.",
            show_default=False,
        ),
    ] = None,
    generators: Generators = None,
    moves: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="Jumps that an earlier answer has recorded, instead of a race: its file, or the "
            "text of its `moves`.",
            show_default="a race decides",
        ),
    ] = None,
    packs: Annotated[int, typer.Option(min=1, help="Packs of chains; each is one task.")] = 4,
    lanes: Annotated[int, typer.Option(min=1, help="Chains in a pack, a multiple of 32.")] = 64,
    threads: Threads = None,
    memory: Memory = MEMORY,
    opened: Opened = None,
    closed: Closed = None,
    dialect: DialectOption = "alchemy",
    weights: MeaningOption = "formula",
    max_groundings: MaxGroundings = None,
    program: Annotated[
        Path | None,
        typer.Option("-i", metavar="PROGRAM", help="The same as MODEL.", hidden=True),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "-r",
            "--results",
            metavar="FILE",
            help="Write lines `Atom probability`, as Alchemy does.",
            show_default=False,
        ),
    ] = None,
    warm_up: Annotated[
        int | None,
        typer.Option(min=0, help="Samples to throw away first.", show_default="a fifth of the run"),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep the run here, for `orbitmc resume`.", show_default=False
        ),
    ] = None,
    checkpoint_every: CheckpointEvery = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Say how probable each value of each variable is, with its error."""
    require_output(output)
    require_writable(checkpoint)
    require_writable(results)
    source = _one_of(model, program)
    for written in (output, results):
        require_other(written, [source, *(evidence or ())])
    settings = _settings(
        method=method,
        scan=scan,
        slices=slices,
        estimator=estimator,
        samples=samples,
        seconds=seconds,
        standard_error=error,
        warm_up=warm_up,
        alpha=alpha,
        clusters=clusters,
        rank=rank,
        max_moved=max_moved,
        min_acceptance=min_acceptance,
        generators=read_generators(generators),
        moves=read_moves(moves),
        seed=seed,
        packs=packs,
        lanes=lanes,
        threads=threads,
        memory=memory,
    )
    logic = LogicOptions(
        query=query,
        opened=tuple(opened or ()),
        closed=tuple(closed or ()),
        dialect=dialect,
        meaning=weights,
        max_groundings=max_groundings,
    )
    with owned(checkpoint):
        require_new_run(checkpoint)
        asked = read_question(source, evidence, memory, logic)
        if not quiet:
            for remark in asked.remarks:
                say(remark)
        begun = time.perf_counter()
        from orbitmc.ask.decisions import decide
        from orbitmc.ask.marginals import carry_out
        from orbitmc.cli.session.sampling import Session

        loading = time.perf_counter() - begun
        with Session(quiet, checkpoint, checkpoint_every, asked.record) as session:
            try:
                decision = decide(asked.model, settings)
                session.remember(
                    kernel=decision.settings.kernel(), ruled_out=list(decision.ruled_out)
                )
                writing = delivery_seconds(decision.model, json=json, output=output)
                found = carry_out(decision, session.watchers, asked.ground, after=loading + writing)
            except ContradictionError as error:
                raise asked.explained(error) from None
        answer = asked.in_words(found)
        if checkpoint is not None and answer.about.method == "exact" and not quiet:
            say("the answer is exact, so there is no run to keep")
        code = deliver(answer, json=json, output=output, quiet=quiet)
        if results is not None:
            write_results(answer, results)
        return code or session.exit_code


def _one_of(model: Path | None, program: Path | None) -> Path:
    if (model is None) == (program is None):
        raise InputError("give one model, as an argument or with -i")
    return model or program  # type: ignore[return-value]


def _settings(**options: Any) -> "Settings":
    ends = ("samples", "seconds", "standard_error")
    if sum(options[end] is not None for end in ends) > 1:
        raise InputError("give only one of --seconds, --samples and --error")
    from orbitmc.ask.settings import Settings
    from orbitmc.machine.lanes.random import LANE_UNIT

    if options["lanes"] % LANE_UNIT:
        raise InputError(f"--lanes must be a multiple of {LANE_UNIT}")
    settings = Settings(**options)
    settings.schedule()  # refuses what makes no sense before anything is read
    settings.require_use()
    return settings
