"""`orbitmc infer`: a model and evidence in, marginals with their errors out."""

import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc import _numba, formats, inference
from orbitmc._util import files as records
from orbitmc._util.text import MEMORY
from orbitmc.cli import inputs as questions
from orbitmc.cli import options
from orbitmc.cli import output as answers
from orbitmc.cli.inputs import LogicOptions, ModelInput, logic_question
from orbitmc.cli.options import QUESTION, argument, option, parse_assignments, part_of
from orbitmc.cli.output import deliver, require_output
from orbitmc.cli.running import Session
from orbitmc.cli.session import CLOCK, command_line, print_remark, verb
from orbitmc.errors import InputError, LimitError, attribute_to_file

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from orbitmc import Marginals, Model
    from orbitmc.inference import CheckpointWriter, Settings


LOG_Z_SHARE = 0.4  # of a timed run


@verb
def infer(
    model: options.OptionalModelFile = None,
    evidence: options.EvidenceList = None,
    query: options.Names = None,
    program: options.ProgramFile = None,
    log_z: options.LogZ = False,
    method: options.MethodName = "auto",
    generators: options.SeldomGenerators = None,
    more: options.More = None,
    seconds: options.Seconds = None,
    samples: options.Samples = None,
    error: options.StandardError = None,
    seed: options.Seed = 0,
    memory: options.Memory = MEMORY,
    cluster: options.Cluster = None,
    json: options.Json = False,
    output: options.Output = None,
    report: options.Report = None,
    results: options.Results = None,
    world: options.World = False,
    whole_world: options.WorldOfAll = False,
    checkpoint: options.CheckpointFile = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Say how probable each value of each variable is, with its error."""
    source = _one_of(model, program)
    _require_files(source, evidence, output, results, checkpoint)
    answers.require_page(report, [source, *(evidence or ())])
    given = parse_assignments("infer", more)
    settings = options.settings_from(
        given,
        method=method,
        generators=questions.read_generators(generators),
        samples=samples,
        seconds=seconds,
        standard_error=error,
        seed=seed,
        memory=memory,
        executor=cluster,
        checkpoint=checkpoint,
    )
    asked_atoms = questions.as_one(query) if questions.is_logic(source) else None
    logic = questions.LogicOptions(query=asked_atoms, **part_of(given, questions.LogicOptions))
    if world or whole_world:
        from orbitmc.cli.questions import best_world, require_program

        require_program(source, method)
        how = replace(_limits(settings), method=method)
        return best_world(source, evidence, how, logic, whole_world, results, quiet)
    with _saving(settings) as writer:
        asked = questions.read_question(source, evidence, memory, logic, query)
        for remark in () if quiet else asked.remarks:
            print_remark(remark)
        reserve = _log_z_seconds(settings) if log_z else 0.0
        if asked.is_ground:
            reserve += answers.delivery_seconds(asked.plain, json=json, output=output)
        answer, code = _ask(asked, settings, writer, reserve, quiet=quiet)
        if log_z and answer.about.log_z is None and not answer.about.interrupted:
            with inference.show_progress(not quiet):
                answer = _with_log_z(answer, asked.model, settings)
        code = answers.deliver(answer, json=json, output=output, quiet=quiet) or code
        if results is not None:
            answers.write_results(answer, results)
        return answers.write_report(answer, report, quiet=quiet) or code


def _saving(settings: "Settings") -> "AbstractContextManager[CheckpointWriter | None]":
    """What saves the run, if it is to be saved."""
    if settings.checkpoint is None:
        return nullcontext()

    return inference.open_checkpoint(
        settings.checkpoint, settings.checkpoint_every, tell=print_remark
    )


def _ask(
    asked: questions.ModelInput,
    settings: "Settings",
    writer: "CheckpointWriter | None",
    reserve: float,
    *,
    quiet: bool,
) -> tuple["Marginals", int]:
    """Ask with progress; gives the answer, and an exit code if its run was not saved."""
    from orbitmc.inference.answer import answer

    query = inference.marginals_query(
        asked.source, asked.evidence, asked.names, settings=settings, command=command_line()
    )
    if writer is not None:
        writer.record.update(asked.record)
    with Session(quiet, writer) as session, CLOCK.asking():
        marginals = answer(query, settings, session.watchers, reserve=reserve, checkpoint=writer)
    return marginals, session.exit_code


def _log_z_seconds(settings: "Settings") -> float:
    """How much of a timed run is for log Z, where it is sampled, too."""
    return LOG_Z_SHARE * (settings.seconds or inference.DEFAULT_SECONDS)


def _with_log_z(answer: "Marginals", model: "Model", settings: "Settings") -> "Marginals":
    """An answer with log Z, sampled within the same limits; a warning if it is not believed."""
    about, limits = answer.about, _limits(settings)
    if limits.samples is None and limits.standard_error is None:
        limits = replace(limits, seconds=_log_z_seconds(settings))
    seconds = settings.seconds or math.inf
    try:
        with _numba.time_limit(seconds - CLOCK()):
            _numba.require_time()  # making a plan would take long already
        with _numba.time_limit(inference.latest(seconds) - CLOCK()):
            log_z = inference.log_z(model, settings=limits)
    except LimitError as error:
        warnings = (*about.warnings, f"log Z is not known: {error}")
        return replace(answer, about=replace(about, warnings=warnings))
    except KeyboardInterrupt:
        warnings = (*about.warnings, "interrupted before log Z was known")
        return replace(answer, about=replace(about, interrupted=True, warnings=warnings))
    doubts = () if log_z.converged else (f"log Z is not to be believed: {log_z.verdict}",)
    return replace(
        answer,
        about=replace(
            about,
            log_z=log_z.value,
            log_z_error=log_z.standard_error,
            interrupted=log_z.about.interrupted,
            warnings=(*about.warnings, *doubts),
        ),
    )


def _limits(settings: "Settings") -> "Settings":
    """Settings with their budget, memory and seed, and nothing of the method."""
    names = (*inference.ENDS, "seed", "memory", "threads", "executor")
    return inference.Settings(**{name: getattr(settings, name) for name in names})


def _one_of(model: Path | None, program: Path | None) -> Path:
    if (model is None) == (program is None):
        raise InputError("give one model, as an argument or with -i")
    return model or program  # type: ignore[return-value]


def _require_files(
    source: Path,
    evidence: Iterable[str] | None,
    output: Path | None,
    results: Path | None,
    checkpoint: Path | None,
) -> None:
    """Refuse files that cannot be written, before work is spent on an answer."""
    answers.require_output(output)
    answers.require_writable(checkpoint)
    answers.require_writable(results)
    for written in (output, results):
        answers.require_other(written, [source, *(evidence or ())])


# `orbitmc resume`: go on with a run as if it had never stopped.
#
# What a kept run says of its question is checked, because anybody may have written it.

MODEL_HELP = "Where the model is now."

LOGIC: Mapping[str, records.Check] = {
    "query": records.or_none(records.is_text),
    "opened": records.list_of(records.is_text),
    "closed": records.list_of(records.is_text),
    "dialect": records.is_text,
    "meaning": records.is_text,
    "unweighted": records.or_none(records.is_number),
    "query_file": records.or_none(records.is_text),
    "max_groundings": records.or_none(records.is_positive),
}


@verb
def resume(
    run: Annotated[Path, argument("RUN", "What `infer --checkpoint` wrote.")],
    model: Annotated[
        Path | None,
        option("--model", QUESTION, MODEL_HELP, metavar="MODEL", shown="where it was"),
    ] = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    cluster: options.Cluster = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Go on with a run, bit for bit as if it had never stopped."""
    require_output(output)
    given = parse_assignments("resume", more)

    every = given.get("checkpoint_every")
    with inference.resume_checkpoint(run, memory=memory, every=every, tell=print_remark) as (
        saved,
        writer,
    ):
        inference.saved_settings(
            saved.question, str(run)
        )  # refuses what cannot go on before a model is read
        again = ask_again(saved.question, model, memory, str(run))
        limits = inference.Settings(threads=given.get("threads"), executor=cluster, memory=memory)
        with Session(quiet, writer) as session:
            answer = inference.answer_checkpoint(
                saved, again.source, limits, [*session.watchers, writer], command=command_line()
            )
        code = deliver(answer, json=json, output=output, quiet=quiet)
        return code or session.exit_code


def ask_again(
    record: Mapping[str, Any], moved: Path | None, memory: int, source: str
) -> ModelInput:
    """Read the question of a run once more, from its record."""
    path = Path(moved or _model(record, source))
    if "logic" in record:
        with attribute_to_file(source, records.CANNOT_GO_ON):
            pieces = _evidence(record.get("pieces"), records.list_of(records.is_text))
            options = LogicOptions(**records.check_fields(record["logic"], LOGIC, "question"))
        return logic_question(path, tuple(pieces), memory, options)
    with attribute_to_file(source, records.CANNOT_GO_ON):
        evidence = _evidence(record.get("evidence"), _are_seen)

    return ModelInput(formats.read(path, memory=memory).given(evidence), None, record)


def _model(record: Mapping[str, Any], source: str) -> str:
    path = record.get("model")
    if not isinstance(path, str):
        raise InputError("this run does not say which model it belongs to", source=source)
    if not os.path.exists(re.sub(r"(\.pracmln):.*", r"\1", path)):
        raise InputError(
            f"its model is no longer at {path}; say --model where it is now", source=source
        )
    return path


def _evidence(record: Any, check: records.Check) -> Any:
    if not check(record):
        raise InputError("its evidence is not what it should be")
    return record


def _are_seen(value: object) -> bool:
    """A value, or weights of values, for each variable."""
    return isinstance(value, dict) and all(map(_is_seen, value.values()))


def _is_seen(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_weight, value.values()))
    return records.is_text(value) or records.is_count(value) or records.list_of(_is_weight)(value)


def _is_weight(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]
