"""Is a kernel right? Its exact transition matrix says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation
from orbitmc._simd.random import (
    accept_by_log_ratio,
    bernoulli,
    choose_by_log_weights,
    choose_by_table,
    fair_coin,
    flip_by_eight_limits,
    flip_by_field,
    flip_by_table,
    integer,
    lane_bernoulli,
    lane_integer,
    pick_below,
    pick_by_limits,
    pick_by_weights,
    two_integers,
)
from orbitmc._util.arrays import Bytes, Floats, arrays_in
from orbitmc.conditionals.prepared import PreparedGraph, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.kernels.protocol import Kernel, steps

# A generator that does not draw: it walks through every outcome of a kernel.
#
# The production code runs in the interpreter with this object in place of its generator. Each draw
# is a fork; running the kernel once for every sequence of forks gives its exact transition matrix.


class LaneByLane(Exception):  # noqa: N818
    """A kernel draws for one lane after another, so nobody knows for which lane a draw is."""


class ChoiceOracle:
    """Takes the forced branches first, then always the first possible one.

    Of several lanes one is `watched`: only its draws, and those that all lanes share, are forks.
    Others draw at random, always the same for a `seed`.
    """

    def __init__(
        self, forced: list[int], *, lanes: int = 1, watched: int = 0, seed: Sequence[int] = ()
    ) -> None:
        self.forced = forced
        self.taken: list[int] = []
        self.options: list[list[int]] = []
        self.shared: list[int] = []
        self.probability = 1.0
        self.lanes, self.watched = lanes, watched
        self.others = np.random.default_rng(list(seed)) if lanes > 1 else None

    def __getitem__(self, place: int) -> tuple[None, ...]:
        return (None,) * self.lanes  # for lanes_of

    def choose(self, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork: its branches have these probabilities."""
        place = len(self.taken)
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        branch = self.forced[place] if place < len(self.forced) else possible[0]
        self.taken.append(branch)
        self.options.append(possible)
        self.probability *= probabilities[branch]
        return branch

    def choose_for_all(self, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork; all lanes share what is drawn."""
        self.shared.append(self.choose(probabilities))
        return self.shared[-1]

    def choose_in(self, lane: int, probabilities: Sequence[float] | Floats) -> int:
        """Take the next fork if the lane is watched; other lanes draw."""
        if lane == self.watched:
            return self.choose(probabilities)
        assert self.others is not None
        upto = np.cumsum(probabilities)
        return int(np.searchsorted(upto, self.others.random() * upto[-1], side="right"))


@implementation(integer, ChoiceOracle)
def _integer(rng: ChoiceOracle, bound: Any) -> int:
    return rng.choose_for_all([1.0 / bound] * bound)


@implementation(lane_integer, ChoiceOracle)
def _lane_integer(rng: ChoiceOracle, bound: Any) -> int:
    _require_one_lane(rng)
    return rng.choose([1.0 / bound] * bound)


@implementation(two_integers, ChoiceOracle)
def _two_integers(rng: ChoiceOracle, bound: Any, other: Any) -> tuple[int, int]:
    return _integer(rng, bound), _integer(rng, other)


@implementation(bernoulli, ChoiceOracle)
def _bernoulli(rng: ChoiceOracle, chance: Any) -> bool:
    return bool(rng.choose_for_all([1.0 - chance, chance]))


@implementation(lane_bernoulli, ChoiceOracle)
def _lane_bernoulli(rng: ChoiceOracle, chance: Any) -> bool:
    _require_one_lane(rng)
    return bool(rng.choose([1.0 - chance, chance]))


def _require_one_lane(rng: ChoiceOracle) -> None:
    if rng.lanes > 1:
        raise LaneByLane


@implementation(flip_by_table, ChoiceOracle)
@implementation(flip_by_eight_limits, ChoiceOracle)
def _flip_by_table(
    rng: ChoiceOracle, limit: Any, start: Any, index: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        chance = _probability(limit[start + index[lane]])
        values[variable, lane] = rng.choose_in(lane, [1.0 - chance, chance])


@implementation(flip_by_field, ChoiceOracle)
def _flip_by_field(rng: ChoiceOracle, field: Any, values: Any, variable: Any) -> None:
    for lane in range(rng.lanes):
        chance = 1.0 / (1.0 + np.exp(-field[lane]))
        values[variable, lane] = rng.choose_in(lane, [1.0 - chance, chance])


@implementation(choose_by_table, ChoiceOracle)
def _choose_by_table(
    rng: ChoiceOracle, limit: Any, place: Any, size: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        upto = [_probability(limit[place[lane] + value]) for value in range(size - 1)]
        values[variable, lane] = rng.choose_in(lane, np.diff([0.0, *upto, 1.0]))


@implementation(choose_by_log_weights, ChoiceOracle)
def _choose_by_log_weights(
    rng: ChoiceOracle, log_weights: Any, size: Any, values: Any, variable: Any
) -> None:
    for lane in range(rng.lanes):
        weights = np.exp(log_weights[:size, lane] - log_weights[:size, lane].max())
        values[variable, lane] = rng.choose_in(lane, weights / weights.sum())


@implementation(fair_coin, ChoiceOracle)
def _toss(rng: ChoiceOracle, coins: Any) -> None:
    for lane in range(len(coins)):
        coins[lane] = rng.choose_in(lane, [0.5, 0.5])


@implementation(pick_by_weights, ChoiceOracle)
def _pick_by_weights(rng: ChoiceOracle, weights: Any, size: Any, picked: Any) -> None:
    for lane in range(rng.lanes):
        weighed = weights[:size, lane].copy()
        weights[:size, lane] = np.cumsum(weighed)
        picked[lane] = rng.choose_in(lane, weighed / weighed.sum()) if weighed.any() else 0


@implementation(pick_by_limits, ChoiceOracle)
def _pick_by_limits(rng: ChoiceOracle, limit: Any, start: Any, size: Any, picked: Any) -> None:
    for lane in range(rng.lanes):
        upto = [_probability(limit[start + place]) for place in range(size - 1)]
        picked[lane] = rng.choose_in(lane, np.diff([0.0, *upto, 1.0]))


@implementation(pick_below, ChoiceOracle)
def _pick_below(rng: ChoiceOracle, bound: Any, picked: Any) -> None:
    for lane in range(rng.lanes):
        options = max(int(bound[lane]), 1)
        picked[lane] = rng.choose_in(lane, [1.0 / options] * options)


@implementation(accept_by_log_ratio, ChoiceOracle)
def _accept_by_log_ratio(rng: ChoiceOracle, log_ratio: Any, accepted: Any) -> None:
    for lane in range(rng.lanes):
        chance = np.exp(min(log_ratio[lane], 0.0))
        accepted[lane] = rng.choose_in(lane, [1.0 - chance, chance])


def _probability(limit: Any) -> float:
    """Limits of rounded conditionals are probabilities times 2^32."""
    return float(limit) / 2.0**32 if isinstance(limit, np.unsignedinteger) else float(limit)


def outcomes(run: Callable[[Bytes, Any], Any], state: Sequence[int]) -> dict[Any, float]:
    """Every state that `run(values, rng)` can end in, with its probability.

    What `run` returns, if anything, is part of where it ended.
    """

    def alone(rng: ChoiceOracle) -> Any:
        values = np.array(state, dtype=np.uint8).reshape(-1, 1)
        more = run(values, rng)
        end = tuple(int(value) for value in values[:, 0])
        return end if more is None else (end, more)

    return every_end(alone, ChoiceOracle)


def outcomes_beside(
    run: Callable[[Bytes, Any], Any], states: Bytes, watched: int, seed: Sequence[int]
) -> dict[Any, float]:
    """Every state that one lane of several can end in, with its probability.

    `states[variable, lane]` is where lanes begin; what the others draw depends on the seed.
    """

    def beside(rng: ChoiceOracle) -> Any:
        values = states.copy()
        run(values, rng)
        return tuple(int(value) for value in values[:, watched])

    make = partial(ChoiceOracle, lanes=states.shape[1], watched=watched, seed=seed)
    return every_end(beside, make)


def every_end(
    run: Callable[[ChoiceOracle], Any], make: Callable[[list[int]], ChoiceOracle]
) -> dict[Any, float]:
    """All that a run can give, with probabilities: it is run once for every sequence of forks."""
    chances: dict[Any, float] = {}
    forks: list[list[int]] = [[]]
    while forks:
        forced = forks.pop()
        rng = make(forced)
        end = run(rng)
        chances[end] = chances.get(end, 0.0) + rng.probability
        for place in range(len(forced), len(rng.taken)):
            for branch in rng.options[place]:
                if branch != rng.taken[place]:
                    forks.append([*rng.taken[:place], branch])
    return chances


# Exact transition matrices of small graphs.

Run = Callable[[Bytes, Any], Any]


def transition_matrix(graph: FactorGraph, run: Run) -> Floats:
    """The matrix of a kernel over all states; impossible states stay where they are.

    `run` takes a state, as an array of one lane, and a generator; it moves the state by one step.

    >>> import orbitmc as om
    >>> model = om.model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])])
    >>> gibbs = one_step(om.kernels.prepare(model.graph), om.kernels.gibbs())
    >>> transition_matrix(model.graph, gibbs).round(6).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    every = states(graph)
    number = {state: place for place, state in enumerate(every)}
    possible = distribution(graph) > 0
    matrix = np.eye(len(every))
    for place, state in enumerate(every):
        if possible[place]:
            matrix[place, place] = 0.0
            for end, chance in outcomes(run, state).items():
                assert end in number, f"a step leads from {state} to {end}, which is no state"
                matrix[place, number[end]] += chance
    return matrix


def change_given_shared(graph: FactorGraph, run: Run) -> Floats:
    """How much a step changes the probability of each state, given what all lanes share, at worst.

    A lane must keep the distribution whatever is drawn for all lanes. If it keeps it on average
    only, lanes move together, and their spread says too little of the error.
    """
    before, number = distribution(graph), {s: place for place, s in enumerate(states(graph))}
    after: dict[Any, Floats] = {}

    def run_and_tell(values: Bytes, rng: Any) -> tuple[int, ...]:
        run(values, rng)
        return tuple(rng.shared)

    for state, place in number.items():
        if before[place] > 0:
            for (end, shared), chance in outcomes(run_and_tell, state).items():
                reached = after.setdefault(shared, np.zeros(len(number)))
                reached[number[end]] += before[place] * chance
    changes = [np.abs(reached - reached.sum() * before) for reached in after.values()]
    worst: Floats = np.max(changes, axis=0)
    return worst


def one_step(prepared: PreparedGraph, kernel: Kernel, lanes: int = 1) -> Run:
    """A run of one step of a kernel, with its memory as in the beginning each time."""
    memory = kernel.memory(prepared, lanes)
    restore = restorer(memory)

    def run(values: Bytes, rng: Any) -> None:
        restore()
        counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
        steps(prepared, kernel, memory, values, counts, rng, 1)

    return run


def restorer(memory: Any) -> Callable[[], None]:
    """Give a function that brings memory back to what it holds now: sooner than making it anew."""
    written = [array for array in arrays_in(memory) if array.flags.writeable]
    begun = [array.copy() for array in written]

    def restore() -> None:
        for array, first in zip(written, begun, strict=True):
            array[...] = first

    return restore


def states(graph: FactorGraph) -> list[tuple[int, ...]]:
    """All states, the last variable fastest."""
    return list(product(*(range(int(size)) for size in graph.cardinality)))


def distribution(graph: FactorGraph) -> Floats:
    """The probability of every state."""
    logs = log_weight(graph, np.array(states(graph), dtype=np.uint8).T.copy())
    weights = np.exp(logs - logs.max())
    probabilities: Floats = weights / weights.sum()
    return probabilities


# Which states a kernel reaches from which others, whatever the probability.

Moves = NDArray[np.bool_]
Contents = list[NDArray[Any]]


def moves_within(prepared: PreparedGraph, kernel: Kernel, most: int) -> Moves:
    """Between which states one of so many first steps can lead: `[from, to]`.

    A step may depend on what earlier ones left in memory, such as whose turn it is. So every state
    is left with the memory of some way that leads there in as many steps. Ends as soon as every
    state is reached from every other one.
    """
    possible = np.flatnonzero(distribution(prepared.graph) > 0)
    search = _Search(prepared, kernel)
    contents = dict.fromkeys(possible.tolist(), search.contents())
    for _ in range(most):
        contents = search.leave(contents)
        if transitive_closure(search.moves)[np.ix_(possible, possible)].all():
            break
    return search.moves


class _Search:
    """Takes steps of a kernel from states with the memory that belongs to them."""

    def __init__(self, prepared: PreparedGraph, kernel: Kernel) -> None:
        self.prepared, self.kernel = prepared, kernel
        self.every = states(prepared.graph)
        self.number = {state: place for place, state in enumerate(self.every)}
        self.moves: Moves = np.eye(len(self.every), dtype=np.bool_)
        self.memory = kernel.memory(prepared, 1)
        self.written = [array for array in arrays_in(self.memory) if array.flags.writeable]

    def contents(self) -> Contents:
        return [array.copy() for array in self.written]

    def leave(self, contents: dict[int, Contents]) -> dict[int, Contents]:
        """Take one step from each state, in every way; gives where that leads, with memories."""
        following: dict[int, Contents] = {}

        def step(values: Bytes, rng: Any) -> None:
            for array, content in zip(self.written, contents[place], strict=True):
                array[...] = content
            counts = np.zeros(len(self.kernel.outcomes), dtype=np.int64)
            steps(self.prepared, self.kernel, self.memory, values, counts, rng, 1)
            end = self.number[tuple(int(value) for value in values[:, 0])]
            self.moves[place, end] = True
            if end not in following:
                following[end] = self.contents()

        for place in contents:  # `step` begins there
            outcomes(step, self.every[place])
        return following


def transitive_closure(moves: Moves) -> Moves:
    """Whether a number of moves leads from one state to another: `[from, to]`."""
    reachable = moves | np.eye(len(moves), dtype=np.bool_)
    for _ in range(max(1, len(moves)).bit_length()):
        reachable = reachable.astype(np.float32) @ reachable.astype(np.float32) > 0
    return reachable


EXACT = 1e-9  # 32-bit limits that a kernel holds are off by 2^-32; a mistake by much more
SIZES = ((2, 2, 2), (2, 2, 2, 2), (3, 3), (2, 3, 2))


LANES_TOGETHER = 4  # that are run together
LANE_ROUNDS = 2  # in which every state is run beside other ones
STEPS_PER_VARIABLE = 4  # for each variable, in which a kernel may show that it reaches every state


@dataclass(frozen=True)
class KernelReport:
    """How far a kernel is from keeping the distribution, and from detailed balance, at worst.

    So many `lanes` were run together. A kernel that is `ergodic` reaches every state from every
    other one; a `remark` says which it does not, and then it needs to be mixed with another kernel.
    """

    models: int
    stationary: float
    balance: float
    lanes: int = 1
    ergodic: bool = True
    remark: str = ""


def check_kernel(
    kernel: Kernel | Callable[[PreparedGraph], Kernel], models: Sequence[Model] | None = None
) -> KernelReport:
    """Build exact transition matrices, and raise an `AssertionError` that says what is wrong.

    The kernel's own step runs in the interpreter, once for every outcome of its draws. Kernels that
    hold something of a graph are given as a function of the prepared graph. Models must be small;
    unless they are given, some random ones are made.

    A lane must keep the distribution given whatever all lanes share, not on average only: the error
    of an answer is the spread of lanes.

    Then several lanes in different states step together: each must move as if it were alone. (A
    kernel that draws for one lane after another, as MC-SAT does, is run in one lane only.) A kernel
    that does not reach every state is right as a part of others; the report says that it is not
    ergodic on its own.

    >>> import orbitmc as om
    >>> report = om.testing.check_kernel(om.kernels.gibbs())
    >>> report.stationary < 1e-12, report.lanes, report.ergodic
    (True, 4, True)
    """
    chosen = example_models() if models is None else list(models)
    if not chosen:
        raise InputError("a kernel is checked on at least one model")
    reports = [_check(kernel, model) for model in chosen]
    remark = next((report.remark for report in reports if report.remark), "")
    return KernelReport(
        models=len(chosen),
        stationary=max(report.stationary for report in reports),
        balance=max(report.balance for report in reports),
        lanes=min(report.lanes for report in reports),
        ergodic=not remark,
        remark=remark,
    )


def _check(kernel: Kernel | Callable[[PreparedGraph], Kernel], model: Model) -> KernelReport:
    graph, prepared = model.graph, prepare_unrounded(model.graph)
    built = kernel if isinstance(kernel, tuple) else kernel(prepared)  # type: ignore[operator]
    before = distribution(graph)
    name = type(built).__name__
    try:
        matrix = transition_matrix(graph, one_step(prepared, built))
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None
    rows = np.abs(matrix.sum(axis=1) - 1.0).max()
    assert rows <= EXACT, (
        f"{name}: the outcomes of a step have a total probability off by {rows:.2g}"
    )
    change = before @ matrix - before
    worst = int(np.abs(change).argmax())
    state = _name_values(model, states(graph)[worst])
    assert abs(change[worst]) <= EXACT, (
        f"{name} does not keep the distribution of a model with {graph.variables} variables: the "
        f"state {state} has probability {before[worst]:.6g}, and after one step "
        f"{before[worst] + change[worst]:.6g}"
    )
    _require_kept_given_shared(prepared, built, model)
    flow = before[:, None] * matrix
    remark = _describe_unreached(prepared, built, model, matrix)
    return KernelReport(
        models=1,
        stationary=float(np.abs(change).max()),
        balance=float(np.abs(flow - flow.T).max()),
        lanes=_check_lanes(prepared, built, model, matrix),
        ergodic=not remark,
        remark=remark,
    )


def _require_kept_given_shared(prepared: PreparedGraph, kernel: Kernel, model: Model) -> None:
    """Refuse a kernel that keeps the distribution only on average over what all lanes share."""
    change = change_given_shared(model.graph, one_step(prepared, kernel))
    worst = int(change.argmax())
    assert change[worst] <= EXACT, (
        f"{type(kernel).__name__} keeps the distribution on average, but not given what is drawn "
        f"for all lanes at once: then the probability of the state "
        f"{_name_values(model, states(model.graph)[worst])} changes by {change[worst]:.2g}. Lanes "
        "would move together, and standard errors be too small. Draw for each lane by "
        "`lane_integer`, or propose what is its own inverse"
    )


def _check_lanes(prepared: PreparedGraph, kernel: Kernel, model: Model, matrix: Floats) -> int:
    """Refuse a kernel in which a lane moves otherwise than alone; gives how many were run.

    Every possible state is run beside others that are drawn, in another lane each time.
    """
    graph, run = prepared.graph, one_step(prepared, kernel, LANES_TOGETHER)
    every = np.array(states(graph), dtype=np.uint8)
    possible = np.flatnonzero(distribution(graph) > 0)
    rng = np.random.default_rng(1)
    for number in range(LANE_ROUNDS):
        for place in possible.tolist():
            lane = (place + number) % LANES_TOGETHER
            beside = every[rng.choice(possible, LANES_TOGETHER)].T.copy()
            beside[:, lane] = every[place]
            try:
                ends = outcomes_beside(run, beside, lane, (number, place))
            except LaneByLane:
                return 1
            _require_same(kernel, model, matrix[place], ends, place)
    return LANES_TOGETHER


def _require_same(
    kernel: Kernel, model: Model, alone: Floats, ends: dict[Any, float], start: int
) -> None:
    """Refuse a kernel if a lane ends elsewhere beside others than it does alone."""
    every = states(model.graph)
    for place, end in enumerate(every):
        chance = ends.pop(end, 0.0)
        assert abs(chance - alone[place]) <= EXACT, (
            f"{type(kernel).__name__}: where a lane goes depends on other lanes: it goes from "
            f"{_name_values(model, every[start])} to {_name_values(model, end)} with probability "
            f"{alone[place]:.6g} alone, and with {chance:.6g} beside others"
        )
    assert not ends, f"{type(kernel).__name__}: beside others, a lane goes to {next(iter(ends))}"


def _describe_unreached(
    prepared: PreparedGraph, kernel: Kernel, model: Model, matrix: Floats
) -> str:
    """Say which state a kernel does not reach from which other one, if there is any."""
    possible = np.flatnonzero(distribution(prepared.graph) > 0)
    among, most = np.ix_(possible, possible), STEPS_PER_VARIABLE * prepared.graph.variables
    if transitive_closure((matrix > 0)[among]).all():
        return ""
    moves = moves_within(prepared, kernel, most)[among]
    missing = np.argwhere(~transitive_closure(moves))
    if not len(missing):
        return ""
    name, every = type(kernel).__name__, [states(prepared.graph)[place] for place in possible]
    stuck = np.flatnonzero(moves.sum(axis=1) == 1)
    if len(stuck) == len(possible):
        says = "never changes anything"
    elif len(stuck):
        says = f"cannot leave the state {_name_values(model, every[stuck[0]])}"
    else:
        start, end = (_name_values(model, every[place]) for place in missing[0])
        says = f"does not lead from {start} to {end}"
    return (
        f"{name} {says}: it is not ergodic on its own, so mix it with a base chain "
        f"(this follows from its first {most} steps)"
    )


def _name_values(model: Model, state: Sequence[int]) -> dict[str, int]:
    return dict(zip(model.names, state, strict=True))


def example_models() -> list[Model]:
    """Small random models: binary, ternary and mixed, with fields, pairs and one wide factor."""
    rng = np.random.default_rng(1)
    return [_random_model(sizes, rng) for sizes in SIZES for _ in range(2)]


def _random_model(sizes: tuple[int, ...], rng: np.random.Generator) -> Model:
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], rng.normal(size=size))
        other = (variable + 1) % len(sizes)
        builder.add_factor([variable, other], rng.normal(size=(size, sizes[other])))
    builder.add_factor(range(len(sizes)), rng.normal(size=sizes))
    names = tuple(f"v{number}" for number in range(len(sizes)))
    return Model(builder.build(), names, tuple(tuple(map(str, range(size))) for size in sizes))
