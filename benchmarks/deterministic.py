"""How many deterministic networks can be eliminated, with and without trying values first?

Circuits with faulty gates and observed outputs, codes to be guessed from answers, relations with
hard rules, and courses with prerequisites: seven or eight random networks of each kind. A network
counts as solved if elimination fits into 8 GiB and is expected to take no more than 60 s; those
that are expected to take at most a few seconds are solved, and log Z of both ways must agree.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import measuring
import numpy as np

from orbitmc.errors import LimitError
from orbitmc.exact.contraction import marginals
from orbitmc.exact.plan import EliminationPlan, plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import possible_states

MEMORY, MOST_SECONDS, SOLVED_SECONDS, SEARCH = 2**33, 60.0, 2.0, 2.0
EACH = 8
Truth = Callable[..., Any]


class Network:
    """A network of binary variables, gate by gate; evidence from one of its own states."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.tables: list[tuple[list[int], np.ndarray]] = []
        self.variables = 0

    def root(self, chance: float) -> int:
        self.tables.append(([self.variables], np.array([1.0 - chance, chance])))
        self.variables += 1
        return self.variables - 1

    def gate(self, truth: Truth, *inputs: int) -> int:
        """A variable that is what `truth` says of its inputs."""
        values = np.indices((2,) * len(inputs))
        holds = np.broadcast_to(truth(*values), (2,) * len(inputs)).astype(int)
        self.tables.append(([*inputs, self.variables], np.eye(2)[holds]))
        self.variables += 1
        return self.variables - 1

    def given(self, seen: list[int], fixed: dict[int, int]) -> FactorGraph:
        """With what is `fixed`, and with variables `seen` as some possible state has them."""
        graph = self._build(fixed)
        state = possible_states(graph, 1, np.random.SeedSequence(1))[:, 0]
        return self._build(fixed | {v: int(state[v]) for v in seen})

    def _build(self, fixed: dict[int, int]) -> FactorGraph:
        builder = Builder([2] * self.variables)
        with np.errstate(divide="ignore"):
            for scope, table in self.tables:
                builder.add_factor(scope, np.log(table))
            for variable, value in fixed.items():
                builder.add_factor([variable], np.log(np.eye(2)[value]))
        return builder.build()


def circuit(seed: int) -> FactorGraph:
    """Random gates, some of them faulty; a third of the outputs is seen."""
    net = Network(seed)
    wires = [net.root(0.5) for _ in range(60)]
    gates: list[Truth] = [np.logical_and, np.logical_or, np.logical_xor]
    read = set()
    for _ in range(200 + 20 * (seed % EACH)):
        if net.rng.random() < 0.4:
            source = int(net.rng.choice(wires))
            negated = net.rng.random() < 0.5
            wires.append(net.gate((lambda a: 1 - a) if negated else (lambda a: a), source))
            read.add(source)
            continue
        one, two = net.rng.choice(wires, 2, replace=False).tolist()
        read |= {one, two}
        wires.append(net.gate(gates[net.rng.integers(3)], one, two))
        if net.rng.random() < 0.1:
            wires[-1] = net.gate(np.logical_xor, wires[-1], net.root(0.02))
    outputs = [wire for wire in wires if wire not in read]
    return net.given(outputs[::3], {})


def code(seed: int) -> FactorGraph:
    """A secret code, and how many places of each guess are right."""
    net = Network(seed)
    places, colours = 12 + seed % EACH, 4
    bits = [[net.root(0.5) for _ in range(2)] for _ in range(places)]
    seen = []
    for _ in range(6 + seed % 3):
        guess = net.rng.integers(0, colours, places).tolist()
        hits = []
        for (low, high), colour in zip(bits, guess, strict=True):
            a, b = colour % 2, colour // 2
            hits.append(net.gate(lambda x, y, a=a, b=b: (x == a) & (y == b), low, high))
        counts: list[int] = []
        for hit in hits:  # thermometer: count[k] says that more than k are right so far
            before, counts = counts, []
            for k in range(len(before) + 1):
                if k == 0:
                    more = net.gate(np.logical_or, before[0], hit) if before else hit
                elif k < len(before):
                    carry = net.gate(np.logical_and, before[k - 1], hit)
                    more = net.gate(np.logical_or, before[k], carry)
                else:
                    more = net.gate(np.logical_and, before[k - 1], hit)
                counts.append(more)
        seen += counts
    return net.given(seen, {})


def relation(seed: int) -> FactorGraph:
    """Friends, a symmetric and transitive relation: rules are gates that are seen to hold."""
    net = Network(seed)
    count = 12 + seed % EACH
    friends = {(a, b): net.root(0.3) for a in range(count) for b in range(count) if a != b}
    fixed: dict[int, int] = {}
    for (a, b), one in friends.items():
        if a < b:
            fixed[net.gate(lambda x, y: x == y, one, friends[b, a])] = 1
    for a in range(count):
        for b in range(count):
            for c in range(count):
                if len({a, b, c}) == 3 and net.rng.random() < 0.5:
                    rule = lambda x, y, z: (1 - x * y) | z  # noqa: E731
                    inputs = friends[a, b], friends[b, c], friends[a, c]
                    fixed[net.gate(rule, *inputs)] = 1
    seen = net.rng.choice(list(friends.values()), 4 + seed % 3, replace=False).tolist()
    return net.given(seen, fixed)


def courses(seed: int) -> FactorGraph:
    """Students pass courses whose prerequisites they have passed; diplomas are seen."""
    net = Network(seed)
    students, many = 20, 28 + seed % EACH
    needs = [net.rng.choice(k, min(k, 2), replace=False).tolist() for k in range(many)]
    hard = [net.root(0.3) for _ in range(many)]
    seen = []
    for _ in range(students):
        clever, passed = net.root(0.5), list[int]()
        for course in range(many):
            able = net.gate(lambda c, h: c | (1 - h), clever, hard[course])
            for need in needs[course]:
                able = net.gate(np.logical_and, able, passed[need])
            passed.append(net.gate(lambda x: x, able))
        seen += passed[-3:]
    return net.given(seen, {})


KINDS = {"circuit": circuit, "code": code, "relation": relation, "courses": courses}


def main() -> None:
    asked = measuring.argument_parser(__doc__.splitlines()[0]).parse_args()
    measuring.use_one_core()
    rows, results = [], dict[str, Any]()
    for kind, make in KINDS.items():
        for seed in range(1 if asked.quick else EACH):
            name = f"{kind} {seed}"
            if asked.only and name not in asked.only:
                continue
            results[name] = found = measure(make(seed))
            rows.append([name, *found.values()])
    columns = ["network", "variables", "open", "width", "s", "open, tried", "width, tried"]
    measuring.print_table(
        "Without and with trying values", [*columns, "s, tried", "trying s"], rows
    )
    solved = [
        sum(found[key] is not None and found[key] <= MOST_SECONDS for found in results.values())
        for key in ("seconds", "seconds tried")
    ]
    print(
        f"{solved[0]} of {len(results)} within {MOST_SECONDS:g} s, {solved[1]} with trying values"
    )
    measuring.write_results(
        asked.results, "deterministic", results, quick=asked.quick, only=asked.only
    )


def measure(graph: FactorGraph) -> dict[str, Any]:
    """Sizes and times of both plans; answers agree where both can be had soon."""
    plain = _plan(lambda: plan_holding(prepare(graph), (), memory=MEMORY, seconds=SEARCH))
    begun = time.process_time()
    tried = _plan(lambda: predict(graph, memory=MEMORY, seconds=SEARCH))
    spent = time.process_time() - begun
    if max(_seconds(plain), _seconds(tried)) <= SOLVED_SECONDS:
        assert plain is not None
        assert tried is not None
        sums = [marginals(graph, plan=plan, memory=MEMORY).log_z for plan in (plain, tried)]
        assert math.isclose(*sums, rel_tol=1e-9), sums
    return {
        "variables": graph.variables,
        "open": None if plain is None else len(plain.problem.sizes),
        "width": None if plain is None else plain.width,
        "seconds": None if math.isinf(_seconds(plain)) else _seconds(plain),
        "open tried": None if tried is None else len(tried.problem.sizes),
        "width tried": None if tried is None else tried.width,
        "seconds tried": None if math.isinf(_seconds(tried)) else _seconds(tried),
        "planning": spent,
    }


def _plan(make: Callable[[], EliminationPlan]) -> EliminationPlan | None:
    try:
        return make()
    except LimitError:
        return None


def _seconds(plan: EliminationPlan | None) -> float:
    """How long elimination takes; infinite if it does not fit."""
    return math.inf if plan is None or plan.bytes > MEMORY else plan.seconds


if __name__ == "__main__":
    main()
