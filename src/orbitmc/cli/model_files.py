"""`orbitmc check`, `convert`, `unroll`, `ground` and `symmetry`: verbs about files of models."""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc import formats, inference
from orbitmc._util.text import MEMORY, format_bytes
from orbitmc.cli import options
from orbitmc.cli.inputs import LogicOptions, as_one, is_logic, read_generators, read_question
from orbitmc.cli.options import (
    BUDGET,
    METHOD,
    OUTPUT,
    QUESTION,
    argument,
    option,
    parse_assignments,
)
from orbitmc.cli.output import require_other, require_writable
from orbitmc.cli.running import Compiling
from orbitmc.cli.session import CLOCK, print_remark, verb
from orbitmc.errors import ContradictionError, InputError, attribute_to_file

if TYPE_CHECKING:
    from orbitmc import Model
    from orbitmc.inference import CountingCost
    from orbitmc.inference._overview import Overview
    from orbitmc.inference.symmetries import SymmetryOverview


# `orbitmc check`: what is in a file, what it will cost, what looks wrong.

CHEAP = 1.0  # seconds that elimination may take for a look at a model


@verb
def check(
    model: options.ModelFile,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    json: options.Json = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Say what is in a model, what answers cost, and what looks wrong."""
    typed = as_one(query) if is_logic(model) else None
    logic = LogicOptions(query=typed, **parse_assignments("check", more))
    asked = read_question(model, evidence, memory, logic, query)
    cost = None if asked.program is None else inference.counting_cost(asked.program)
    recognised = () if asked.program is None else asked.program.source.recognised
    overview = None
    if asked.is_ground:
        overview = inference.overview(asked.model, query=asked.names, memory=memory)
    if json:
        record = {} if overview is None else overview.as_dict()
        counting = {} if cost is None else {"counting": asdict(cost)}
        relations = {relation.predicate: relation.kind for relation in recognised}
        both = {**record, **counting, **({"relations": relations} if relations else {})}
        print(json_module.dumps(both, indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    if overview is not None:
        whole = asked.names is None
        _print(overview, _log_z_if_cheap(overview, asked.model, memory) if whole else "")
    if cost is not None:
        print(f"{'counting':<14}{_counting(cost)}")
    for relation in recognised:
        print(f"{'relation':<14}{relation.predicate}: {relation.kind}, by hard rules")
    if asked.program is not None and asked.program.source.is_too_wide:
        print(f"{'auto':<14}samples partitions; the rules of equivalence relations are not ground")
    return 0


def _log_z_if_cheap(overview: "Overview", model: "Model", memory: int) -> str:
    seconds = overview.exact.seconds
    return log_z_in_words(model, memory) if seconds is not None and seconds <= CHEAP else ""


def _counting(cost: "CountingCost") -> str:
    atoms = f"{cost.unknown_atoms:,} unknown atoms"
    if cost.states is None or cost.seconds is None or cost.refusal is not None:
        return f"no: {cost.refusal} ({atoms})"
    states = "1 state" if cost.states < 2 else f"about {cost.states:,.0f} states"
    seconds = "less than 1 ms" if cost.seconds < 1e-3 else f"{cost.seconds:.2g} s"
    return f"{states} and {seconds} instead of {atoms}"


def log_z_in_words(model: "Model", memory: int) -> str:
    """The exact sum of all weights, or that there is none."""
    try:
        return f"{float(inference.log_z(model, method='exact', memory=memory)):.10g}"
    except ContradictionError:
        return "none: no state is possible"


def _print(overview: "Overview", log_z: str) -> None:
    for title, words in _lines(overview):
        print(f"{title:<14}{words}")
    if log_z:
        print(f"{'log Z':<14}{log_z}")
    for remark in overview.remarks:
        print(f"{'note':<14}{remark}")


def _lines(overview: "Overview") -> list[tuple[str, str]]:
    f = overview
    sizes = ", ".join(f"{count:,} with {size}" for size, count in f.cardinalities.items())
    packs = "1 pack" if f.packs == 1 else f"{f.packs} packs"
    degrees = f"{f.smallest_degree:,} to {f.largest_degree:,}, {f.mean_degree:.1f} on average"
    return [
        ("variables", f"{f.variables:,} ({f.observed:,} observed, {f.forced:,} forced)"),
        ("values", sizes or "none free"),
        ("factors", f"{f.factors:,} ({f.tables:,} different tables), {f.clauses:,} clauses"),
        ("entries", f"{f.entries:,}, {f.zeros:.1%} of them zero"),
        ("neighbours", degrees),
        ("components", f"{f.components:,}, the largest of {f.largest_component:,} variables"),
        ("exact", _exact(overview)),
        ("auto", _auto(overview)),
        ("sampling", f"about {format_bytes(f.sampling_bytes)} for {packs} of {f.lanes} chains"),
    ]


def _exact(overview: "Overview") -> str:
    cost = overview.exact
    if cost.bytes is None or cost.seconds is None or cost.refusal:
        return f"no: {cost.refusal}"
    return f"about {format_bytes(cost.bytes)} and {cost.seconds:.2g} s (width {cost.width})"


def _auto(overview: "Overview") -> str:
    """What `--method auto` does: which variables it needs, eliminates and samples."""
    needed, exact = overview.needed, overview.exact_variables
    free = overview.variables - overview.observed
    part = "" if needed == free else f"needs {needed:,} of {free:,} variables, "
    if exact == needed:
        return f"{part}eliminates all of them" if part else "eliminates all variables"
    sampled = f"eliminates {exact:,} of them, samples {needed - exact:,}"
    if exact == 0:
        sampled = "samples all of them" if part else "samples all variables"
    core = needed - exact - overview.summed_out
    only = f"; {core:,} only, unless jumps along symmetries pay: the rest is exact given these"
    return f"{part}{sampled}{only if overview.summed_out else ''}"


# `orbitmc convert`: the same model in another format.

OUTPUT_HELP = "The new file; its suffix says the format: .uai, .bif, .xmlbif, .json, or .gz."


@verb
def convert(
    model: options.ModelFile,
    output: Annotated[Path, argument("OUT", OUTPUT_HELP)],
    evidence: options.EvidenceList = None,
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> int:
    """Write a model in another format, with its evidence built in."""
    require_writable(output)
    require_other(output, [model, *(evidence or ())])

    asked = read_question(model, evidence, memory).model
    formats.write(asked, output)
    for doubt in asked.doubts:
        print_remark(f"warning: {doubt}")
    if not quiet:
        print_remark(f"the model of {len(asked.order):,} variables is in {output}")
    return 0


# `orbitmc unroll`: a model of two slices of time as a plain model of many.

UNROLLED_HELP = "Write the model: .json, .bif, .xmlbif or .uai, also with .gz."
STEPS_HELP = "How many slices of time there are."


@verb
def unroll(
    model: options.ModelFile,
    steps: Annotated[int, option("--steps", QUESTION, STEPS_HELP, metavar="T")],
    output: Annotated[
        Path | None,
        option("-o --output", OUTPUT, UNROLLED_HELP, metavar="FILE", shown="only say its size"),
    ] = None,
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> int:
    """Write a model of many steps of time.

    Its first slice has variables called X[0], and its next one, the step, X[1].
    """
    require_writable(output)
    require_other(output, [model])
    slices = read_question(model, None, memory).model
    with attribute_to_file(str(model)):
        unrolled = inference.unroll(slices, steps)
    for doubt in unrolled.doubts:
        print_remark(f"warning: {doubt}")
    if output is not None:
        formats.write(unrolled, output)
    where = f" in {output}" if output else ""
    print(f"{len(unrolled.order):,} variables and {unrolled.graph.factors:,} factors{where}")
    return 0


# `orbitmc ground`: a Markov logic program on its constants, as a plain model.

GROUND_OUTPUT_HELP = "Write the model: .uai or .json, also with .gz."


@verb
def ground(
    program: Annotated[Path, argument("PROGRAM", "A program: .mln, .pracmln.")],
    databases: Annotated[list[str] | None, argument("DATABASE", "Evidence: .db.")] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            OUTPUT,
            GROUND_OUTPUT_HELP,
            metavar="FILE",
            shown="only say its size",
        ),
    ] = None,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Write the plain model that a program's groundings make."""
    require_writable(output)
    require_other(output, [program, *(databases or ()), *(evidence or ())])
    if not is_logic(program):
        raise InputError("a program has the suffix .mln or .pracmln", source=str(program))
    logic = LogicOptions(query=as_one(query), **parse_assignments("ground", more))
    asked = read_question(program, [*(databases or ()), *(evidence or ())], memory, logic)
    if output is not None:
        formats.write(asked.model, output)
    if not quiet:
        for remark in asked.remarks:
            print_remark(remark)
    graph = asked.model.graph
    where = f" in {output}" if output else ""
    print(f"{graph.variables:,} variables and {graph.factors:,} factors{where}")
    return 0


MOST_LINES = 20
VALUES_HELP = "Also find symmetries that permute values."
APPROXIMATE_HELP = "Also list approximations, and how often the model accepts their jumps."


@verb
def symmetry(
    model: options.ModelFile,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    values: Annotated[bool, option("--values", METHOD, VALUES_HELP)] = False,
    seconds: Annotated[
        float,
        option("--seconds", BUDGET, "Stop the search after X seconds.", metavar="X", shown=True),
    ] = 10.0,
    generators: options.Generators = None,
    approximate: Annotated[
        bool, option("--approximate/--exact-only", METHOD, APPROXIMATE_HELP, shown=True)
    ] = True,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    json: options.Json = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Show the symmetries of a model, and what approximations add.

    Generators, orbits and order of its group come first.
    """
    logic = LogicOptions(query=as_one(query), **parse_assignments("symmetry", more))
    asked = read_question(model, evidence, memory, logic)
    with Compiling(), CLOCK.asking():
        overview = inference.symmetry_overview(
            asked.model,
            ground=None if asked.program is None else asked.program.ground,
            values=values,
            seconds=seconds,
            generators=read_generators(generators),
            approximate=approximate,
        )
    if json:
        print(json_module.dumps(overview.as_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print_symmetry(overview)
    return 0


def _print_symmetry(overview: "SymmetryOverview") -> None:
    print(f"order        {_order(overview.order_text)}")
    rest = "" if overview.complete else ", maybe not all"
    print(f"found        {overview.how} in {overview.seconds:.2g} s{rest}")
    cycles = overview.some_cycle_texts(MOST_LINES)
    _print_some("generators", cycles, overview.group.generator_count)
    orbits = overview.orbit_names
    _print_some("orbits", [", ".join(orbit) for orbit in orbits[:MOST_LINES]], len(orbits))
    for record in (approximation.as_dict() for approximation in overview.approximations):
        print(f"{record['name']:<24}{_worth(record)}")
        for cut in record["cuts"]:
            print(f"  up to {cut['max_moved']:>4} factors    {_worth(cut)}")
    for record in (approximation.as_dict() for approximation in overview.relational):
        lines = [f"{kind['type']}: {', '.join(kind['constants'])}" for kind in record["classes"]]
        print(f"{'constants by ' + record['name']:<24}{_worth_of_swaps(record)}")
        _print_lines(lines, len(lines))


def _order(order: str | None) -> str:
    if order is None:
        return "not counted"
    return order if len(order) <= 30 else f"{order[0]}.{order[1:4]}e{len(order) - 1}"


def _print_some(title: str, lines: list[str], total: int) -> None:
    print(f"{title:<12} {total}")
    _print_lines(lines, total)


def _print_lines(lines: list[str], total: int) -> None:
    """Print the first of so many lines."""
    for line in lines[:MOST_LINES]:
        print(f"  {line}")
    if total > MOST_LINES:
        print(f"  … and {total - MOST_LINES} more")


def _worth(record: dict[str, Any]) -> str:
    if record.get("remark"):
        return str(record["remark"])
    if not record["blocks"]:
        return "no symmetries that are cheap to use"
    blocks = "1 block" if record["blocks"] == 1 else f"{record['blocks']} blocks"
    return (
        f"{record['moved_variables']} variables in {blocks}, {record['moved_factors']} factors, "
        f"{_chance(record['acceptance'])}"
    )


def _worth_of_swaps(record: dict[str, Any]) -> str:
    if record["remark"]:
        return str(record["remark"])
    if not record["classes"]:
        return "no two constants share a class"
    constants = sum(len(constant_class["constants"]) for constant_class in record["classes"])
    classes = "1 class" if len(record["classes"]) == 1 else f"{len(record['classes'])} classes"
    atoms = record["moved_variables"]
    return f"{constants} constants in {classes}, {atoms} atoms, {_chance(record['acceptance'])}"


def _chance(accepted: float | None) -> str:
    return "every jump is null" if accepted is None else f"about {accepted:.0%} accepted"
