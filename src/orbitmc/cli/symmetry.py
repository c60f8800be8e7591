"""`orbitmc symmetry`: the symmetries of a model, and what approximations would add."""

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc._util.text import MEMORY
from orbitmc.cli.session import options
from orbitmc.cli.session.exits import verb
from orbitmc.cli.session.help import BUDGET, METHOD
from orbitmc.cli.session.options import option
from orbitmc.cli.session.questions import LogicOptions, as_one, read_generators, read_question
from orbitmc.cli.session.settable import assigned

if TYPE_CHECKING:
    from orbitmc.inference.symmetries import SymmetryOverview

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
    from orbitmc.cli.session.progress import Compiling
    from orbitmc.inference.symmetries import symmetry_overview

    logic = LogicOptions(query=as_one(query), **assigned("symmetry", more))
    asked = read_question(model, evidence, memory, logic)
    with Compiling():
        found = symmetry_overview(
            asked.model,
            ground=asked.ground,
            values=values,
            seconds=seconds,
            generators=read_generators(generators),
            approximate=approximate,
        )
    if json:
        print(json_module.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print_symmetry(found)
    return 0


def _print_symmetry(found: "SymmetryOverview") -> None:
    report = found.as_dict()
    print(f"order        {_order(report['order'])}")
    rest = "" if found.complete else ", maybe not all"
    print(f"found        {found.how} in {found.seconds:.2g} s{rest}")
    _print_some("generators", found.cycle_texts)
    _print_some("orbits", [", ".join(orbit) for orbit in report["orbits"]])
    for one in report["approximations"]:
        print(f"{one['name']:<24}{_worth(one)}")
        for cut in one["cuts"]:
            print(f"  up to {cut['max_moved']:>4} factors    {_worth(cut)}")
    for one in report["relational"]:
        lines = [f"{own['type']}: {', '.join(own['constants'])}" for own in one["classes"]]
        print(f"{'constants by ' + one['name']:<24}{_worth_of_swaps(one)}")
        _print_lines(lines)


def _order(order: str | None) -> str:
    if order is None:
        return "not counted"
    return order if len(order) <= 30 else f"{order[0]}.{order[1:4]}e{len(order) - 1}"


def _print_some(title: str, lines: list[str]) -> None:
    print(f"{title:<12} {len(lines)}")
    _print_lines(lines)


def _print_lines(lines: list[str]) -> None:
    for line in lines[:MOST_LINES]:
        print(f"  {line}")
    if len(lines) > MOST_LINES:
        print(f"  … and {len(lines) - MOST_LINES} more")


def _worth(one: dict[str, Any]) -> str:
    if one.get("remark"):
        return str(one["remark"])
    if not one["blocks"]:
        return "no symmetries that are cheap to use"
    blocks = "1 block" if one["blocks"] == 1 else f"{one['blocks']} blocks"
    return (
        f"{one['moved_variables']} variables in {blocks}, {one['moved_factors']} factors, "
        f"{_chance(one['acceptance'])}"
    )


def _worth_of_swaps(one: dict[str, Any]) -> str:
    if one["remark"]:
        return str(one["remark"])
    if not one["classes"]:
        return "no two constants share a class"
    constants = sum(len(own["constants"]) for own in one["classes"])
    classes = "1 class" if len(one["classes"]) == 1 else f"{len(one['classes'])} classes"
    atoms = one["moved_variables"]
    return f"{constants} constants in {classes}, {atoms} atoms, {_chance(one['acceptance'])}"


def _chance(accepted: float | None) -> str:
    return "every jump is null" if accepted is None else f"about {accepted:.0%} accepted"
