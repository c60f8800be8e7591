"""How fast are Markov logic programs grounded, and how fast are their ground models sampled?

Friends and smokers: in a closed world everybody has about four known friends, in an open one any
two people may be friends. Grounding is timed from the parsed program to the finished factor graph.
Gibbs counts single atoms, MC-SAT samples of all atoms in one chain; numbskull runs its own Gibbs on
the same clauses. UW-CSE has clauses of 68 literals, and real data. Alchemy's column is what it
reached on a machine of this kind, MC-SAT samples a second; it needed 17.6 s and 684 MB to ground
the largest case.
"""

import resource
import time
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import peers

from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.mcsat.kernel import mc_sat
from orbitmc.kernels.protocol import Kernel
from orbitmc.mln.data.database import TRUE, Database, Facts
from orbitmc.mln.data.reader import read_database
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse, read_program
from orbitmc.mln.language.syntax import Program
from orbitmc.sampling.pack import start_pack, walk

PROGRAM = """
Friends(person, person)
Smokes(person)
Cancer(person)
1.5 !Smokes(x) v Cancer(x)
1.1 !Friends(x,y) v !Smokes(x) v Smokes(y)
-1.0 Smokes(x)
-2.0 Cancer(x)
-1.5 Friends(x,y)
"""
NUMBSKULL = peers.Peer("numbskull", "numbskull_gibbs.py", "clauses")
LANES = 64
ALCHEMY = {"closed 100": 14_500, "closed 500": 1_980, "open 100": 127, "open 500": 2.5}
"""MC-SAT samples a second."""
FRIENDS_EACH = 4
UW_CSE = Path(__file__).parents[2] / "shared" / "data" / "mln-uwcse" / "tuffy"
LONG_CLAUSES = "UW-CSE"
"""Its EXIST clauses have 68 literals; measured where the data are."""


def question(people: int, open_world: bool) -> tuple[Program, Database, World]:
    """Everybody known by name; a fifth of the people is known to smoke."""
    rng = np.random.default_rng(people)
    names = tuple(f"P{number}" for number in range(people))
    smokers = names[: people // 5]
    facts = {
        "Smokes": Facts((smokers,), np.full(len(smokers), TRUE, np.int8), np.zeros(len(smokers)))
    }
    if not open_world:
        pairs = {tuple(sorted(rng.choice(people, 2, replace=False))) for _ in range(people * 2)}
        both = [*pairs, *((b, a) for a, b in pairs)]
        columns = tuple(tuple(names[pair[k]] for pair in both) for k in (0, 1))
        facts["Friends"] = Facts(columns, np.full(len(both), TRUE, np.int8), np.zeros(len(both)))
    world = World(query=frozenset({"Smokes"}))
    return parse(PROGRAM), Database(facts, {"person": names}), world


def long_clauses() -> tuple[Program, Database, World]:
    """Who advises whom at a university, with learned weights."""
    program = read_program(UW_CSE / "prog.mln", dialect="tuffy")
    known = read_database(UW_CSE / "evidence.db", program)
    return program, known, World(query=frozenset({"advisedBy"}))


def asked_by(name: str, *, quick: bool) -> tuple[Program, Database, World]:
    if name == LONG_CLAUSES:
        return long_clauses()
    kind, people = name.split()
    return question(min(int(people), 30) if quick else int(people), kind == "open")


def ground_once(program: Program, known: Database, world: World) -> tuple[FactorGraph, int, float]:
    """The ground graph, how many clauses were grounded, and the CPU seconds it took."""
    begun = time.process_time()
    found = ground(program, known, world)
    graph = graph_of(found)
    return graph, found.groundings, time.process_time() - begun


def updates_per_second(graph: FactorGraph, kernel: Kernel, seconds: float, lanes: int) -> float:
    """Single-variable steps of all lanes, per second of CPU time."""
    prepared = prepare(graph)
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=lanes)
    walk(prepared, kernel, pack, graph.variables)  # compiles

    def work() -> float:
        begun, done = time.thread_time(), 0
        while time.thread_time() - begun < seconds:
            walk(prepared, kernel, pack, graph.variables)
            done += graph.variables * lanes
        return float(done)

    return max(measuring.rate(work) for _ in range(2))


def clauses_of(graph: FactorGraph) -> dict[str, Any]:
    """The same model as weighted clauses, for a peer: an entry of a table is a negated clause."""
    literals: list[tuple[int, int]] = []
    lengths: list[int] = []
    weight_of: list[int] = []
    weights: list[float] = []
    for factor in range(graph.factors):
        scope, table = graph.scope_of(factor), np.asarray(graph.table_values(factor))
        if factor >= graph.first_clause:
            rows = [
                (graph.satisfying[graph.scope_start[factor] :][: len(scope)], table[1] - table[0])
            ]
        else:
            rows = [
                (np.array(place) ^ 1, -value) for place, value in np.ndenumerate(table) if value
            ]
        for wanted, weight in rows:
            literals += [(int(v), int(value)) for v, value in zip(scope, wanted, strict=True)]
            lengths.append(len(scope))
            weight_of.append(len(weights))
            weights.append(float(weight))
    return {
        "kind": "clauses",
        "variables": graph.variables,
        "literals": literals,
        "lengths": lengths,
        "weight_of": weight_of,
        "weights": weights,
    }


def repetitions(asked: Any) -> int:
    return 1 if asked.quick else 3


def measure(name: str, asked: Any) -> list[Any]:
    seconds = 0.05 if asked.quick else 1.0
    posed = asked_by(name, quick=asked.quick)
    graph, clauses, spent = min(
        (ground_once(*posed) for _ in range(repetitions(asked))),
        key=lambda found: found[2],
    )
    gibbs = updates_per_second(graph, SystematicScan(), seconds, LANES)
    slices = updates_per_second(graph, mc_sat(graph), seconds, 32) / max(graph.variables, 1)
    theirs = None
    if not asked.no_peers and graph.factors < 100_000:
        for worker in peers.start((NUMBSKULL,), clauses_of(graph)).values():
            worker.turn(seconds, seed=1)
            answer = worker.turn(seconds, seed=2)
            theirs = answer["updates"] / answer["cpu_seconds"]
            worker.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        name,
        graph.variables,
        clauses,
        spent,
        clauses / spent / measuring.MILLION,
        memory,
        gibbs / measuring.MILLION,
        theirs / measuring.MILLION if theirs else None,
        measuring.ratio(gibbs, theirs),
        slices,
        ALCHEMY.get(name),
        measuring.ratio(slices, ALCHEMY.get(name)),
    ]


def main() -> None:
    asked = measuring.arguments(__doc__.splitlines()[0])
    measuring.use_one_core()
    columns = [
        "world and people",
        "atoms",
        "clauses",
        "ground s",
        "M/s",
        "peak MB",
        "Gibbs M/s",
        "numbskull",
        "times numbskull",
        "MC-SAT/s",
        "Alchemy",
        "times Alchemy",
    ]
    names = [*ALCHEMY, *([LONG_CLAUSES] if UW_CSE.exists() else [])]
    rows = [measure(name, asked) for name in names if not asked.only or name in asked.only]
    measuring.print_table("Friends and smokers", columns, rows)
    results = {row[0]: dict(zip(columns[1:], row[1:], strict=True)) for row in rows}
    about = {"quick": asked.quick, "only": asked.only, "repetitions": repetitions(asked)}
    measuring.write_results(asked.results, "markov_logic", results, **about)


if __name__ == "__main__":
    main()
