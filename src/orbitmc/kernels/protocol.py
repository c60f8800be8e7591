"""What every kernel offers, and what it may offer beyond that."""

import dis
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import generic, implementation, shared, unit
from orbitmc._numba.units import Link, Linked, call_indirect, link, unpack_frame
from orbitmc._util.arrays import Bytes, Indices, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import possible_states

Body = TypeVar("Body", bound=Callable[..., None])


class Kernel(Protocol):
    """A NamedTuple of read-only data; its type selects the compiled `steps`.

    `outcomes` and `memory` are all that a kernel needs. These are optional; the functions below
    read them and know what holds without them. Nobody else asks what kind of kernel one is.

    - `base`: the chain inside a combination; without it, a kernel is its own base.
    - `parts(whole)`: kernels that it lets step; they are compiled apart and called by address.
    - `random_scan`: whether it updates variables that it picks at random.
    - `record_every`: the steps that should lie between two samples.
    - `annealing_entries`, `at(beta)`: for a warm-up from hot to cold, how many entries of tables a
      step fills, and the same kernel for a hotter model.
    - `block_plans(memory)`: the blocks that it draws, and the tables in which it does.
    - `partition_plan(memory)`: the items that it moves between blocks, and their memory.
    - `count_plan(memory)`: itself and its memory, if it draws cells of constants that are counted.
    - `constrained`: variables that it keeps to states that are possible by more than the graph
      says; they depend on each other. `starts(graph, lanes, seed)` are such states, and
      `want_states(wanted, rng)` writes values that variables should start with, also beside others.
    - `draws_anew`: whether some steps draw all variables anew; `independent_after`: after how many
      steps the state is independent of the one before.
    - `frees(graph)`: which variables it surely moves, whatever zeros forbid. `draws_well(graph)`:
      which variables it draws by itself, so that no other chain beside it need draw them.
    - `remarks(outcomes)`: what to say of a run, and a warning if it was not exact.
    """

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What the counts that `steps` adds to mean."""

    def memory(self, prepared: PreparedGraph, lanes: int) -> Any:
        """Arrays that `steps` may overwrite; they belong to one pack."""


def require_kernel(kernel: object) -> None:
    """Refuse what is no kernel."""
    if not (hasattr(kernel, "memory") and hasattr(kernel, "outcomes")):
        raise InputError(
            f"a kernel is a value such as om.kernels.gibbs(), not a {type(kernel).__name__}"
        )


def base_of(kernel: Kernel) -> Kernel:
    """The chain inside a combination of kernels, or the kernel itself."""
    base: Any = kernel
    while hasattr(inner := getattr(base, "base", None), "memory"):
        base = inner
    return base  # type: ignore[no-any-return]


def kernel_name(kernel: Any) -> str:
    """What a kernel is called, and what the kernels in it are called.

    >>> import orbitmc as om
    >>> scan = om.kernels.gibbs()
    >>> kernel_name(scan), kernel_name(om.kernels.mixture(scan, scan, weight=0.5))
    ('SystematicScan', 'Mixture of SystematicScan and SystematicScan')
    """
    inside, name = _kernels_inside(kernel), type(kernel).__name__
    return f"{name} of {' and '.join(map(kernel_name, inside))}" if inside else name


def _kernels_inside(kernel: Any) -> list[Any]:
    return [part for part in kernel if hasattr(part, "memory") and hasattr(part, "outcomes")]


def picks_at_random(kernel: Kernel) -> bool:
    """Whether a kernel, or the base of a combination, picks the variables that it updates."""
    return getattr(base_of(kernel), "random_scan", False) and "updates" in kernel.outcomes


def record_every(kernel: Kernel) -> int:
    """The steps that should at least lie between two samples."""
    return int(getattr(kernel, "record_every", 0))


def annealing_entries(kernel: Kernel) -> float:
    """Entries of tables that a step fills; 0 if a warm-up from hot to cold is of no use."""
    return float(getattr(kernel, "annealing_entries", 0.0))


def kernel_at(kernel: Any, beta: float) -> Kernel:
    """The same kernel for the model at another temperature, for one that can be annealed."""
    hotter: Kernel = kernel.at(beta)
    return hotter


def block_plans(kernel: Kernel, memory: Any) -> tuple[Any, Any] | None:
    """The blocks that a kernel or its base draws, and the tables in which it does."""
    plans = getattr(kernel, "block_plans", None)
    return None if plans is None else plans(memory)


def partition_plan(kernel: Kernel, memory: Any) -> tuple[Any, Any] | None:
    """The items that a kernel moves between blocks, and their memory."""
    plan = getattr(kernel, "partition_plan", None)
    return None if plan is None else plan(memory)


def count_plan(kernel: Kernel, memory: Any) -> tuple[Any, Any] | None:
    """A kernel that draws cells of constants, and its memory."""
    plan = getattr(kernel, "count_plan", None)
    return None if plan is None else plan(memory)


def constrained_variables(kernel: Kernel) -> Indices | None:
    """Variables of which the graph does not say which states are possible; None if it does."""
    constrained: Indices | None = getattr(base_of(kernel), "constrained", None)
    return constrained


def start_states(
    kernel: Any, graph: FactorGraph, lanes: int, seed: np.random.SeedSequence
) -> Bytes | None:
    """Where chains of a kernel start that must know; None if any possible state will do.

    Of a combination, each kernel says which values it wants. Those of variables of which the graph
    does not say what is possible must be as they are wanted; lanes in which they cannot start where
    another lane does.
    """
    wanting = [part for part in _all_inside(kernel) if hasattr(part, "want_states")]
    alone = wanting[0] if len(wanting) == 1 else kernel if wanting else base_of(kernel)
    if hasattr(alone, "starts"):
        states: Bytes = alone.starts(graph, lanes, seed)
        return states
    if not wanting:
        return None
    wanted = np.full((graph.variables, lanes), -1, dtype=np.int16)
    rng = np.random.default_rng(seed)
    for part in wanting:
        part.want_states(wanted, rng)
    must = constrained_variables(kernel)
    if must is not None and not graph.has_zeros():
        return fill_in(graph, wanted, rng)
    values = possible_states(graph, lanes, seed, wanted)
    if must is not None:
        right = (values[must] == wanted[must]).all(axis=0)
        if not right.any():
            raise LimitError(
                "no state was found that hard rules allow to start from; the method mcsat grounds "
                "all rules, and may find one"
            )
        values[:, ~right] = values[:, np.resize(np.flatnonzero(right), (~right).sum())]
    return values


def _all_inside(kernel: Any) -> Iterator[Any]:
    """A kernel, and all those inside it."""
    yield kernel
    for part in _kernels_inside(kernel):
        yield from _all_inside(part)


ROWS = 2**14  # variables that get their values together: a few MiB


def fill_in(graph: FactorGraph, wanted: NDArray[np.int16], rng: np.random.Generator) -> Bytes:
    """Give all variables the wanted values, and any where none is wanted."""
    values = np.empty(wanted.shape, dtype=np.uint8)
    for first in range(0, graph.variables, ROWS):
        rows = slice(first, first + ROWS)
        drawn = rng.random(wanted[rows].shape) * graph.cardinality[rows, None]
        values[rows] = np.where(wanted[rows] >= 0, wanted[rows], drawn)
    return values


def draws_anew(kernel: Kernel) -> bool:
    """Whether accepted steps of a kernel draw all variables anew."""
    return bool(getattr(kernel, "draws_anew", False))


def independent_after(kernel: Kernel) -> int | None:
    """After how many steps a state is independent of the one before; None if it never surely is."""
    steps_between: int | None = getattr(kernel, "independent_after", None)
    return steps_between


def flag_variables(graph: FactorGraph, variables: Any) -> NDArray[np.bool_]:
    """All variables of a graph, the given ones marked."""
    flags = np.zeros(graph.variables, dtype=np.bool_)
    flags[variables] = True
    return flags


def freed_variables(kernel: Any, graph: FactorGraph) -> NDArray[np.bool_] | None:
    """Which variables a kernel, or one inside it, surely moves; None if none of them says."""
    return _union(kernel, graph, "frees")


def drawn_variables(kernel: Any, graph: FactorGraph) -> NDArray[np.bool_] | None:
    """Which variables a kernel draws well enough by itself; None if it does not say."""
    return _union(kernel, graph, "draws_well")


def _union(kernel: Any, graph: FactorGraph, name: str) -> NDArray[np.bool_] | None:
    """Variables of which a kernel says something, or kernels inside it."""
    if hasattr(kernel, name):
        flags: NDArray[np.bool_] = getattr(kernel, name)(graph)
        return flags
    inside = [_union(part, graph, name) for part in _kernels_inside(kernel)]
    said = [part for part in inside if part is not None]
    return np.logical_or.reduce(said) if said else None


def remarks_on(kernel: Kernel, outcomes: Mapping[str, int]) -> tuple[str, tuple[str, ...]]:
    """What to say of a run of a kernel, in words, and warnings if it was not exact."""
    remarks = getattr(base_of(kernel), "remarks", None)
    return ("", ()) if remarks is None else remarks(outcomes)


@generic("kernel")
def steps(
    prepared: PreparedGraph,
    kernel: Kernel,
    memory: Any,
    values: Bytes,
    outcomes: NDArray[np.int64],
    rng: Any,
    count: int,
) -> None:
    """Take `count` steps in every lane, in place."""
    raise NotImplementedError


class Part(NamedTuple):
    """What a kernel hands to the `steps` of another one, but for how many."""

    kernel: Any
    prepared: Any
    memory: Any
    values: Bytes
    outcomes: Numbers
    rng: Any


def link_kernel(part: Part) -> Link:
    """Make a unit of a kernel and of all that it works on; its parts become units before."""
    if not hasattr(part.kernel, "parts"):
        with _explain_compiling(part.kernel):
            return link(_take_steps, tuple(part))
    whole, others = part.kernel.parts(part)
    links = {name: link_kernel(other) for name, other in others.items()}
    units = {name: part_link.unit for name, part_link in links.items()}
    kernel = whole.kernel._replace(**units)
    return link(_take_steps, tuple(whole._replace(kernel=kernel)), *links.values())


RULES = 'see the rules for steps on the page "Write your own kernel"'


@contextmanager
def _explain_compiling(kernel: Any) -> Iterator[None]:
    """Say in a line what of a kernel of one's own cannot be compiled, and where that is."""
    try:
        yield
    except Exception as error:
        step_of = STEPS.get(type(kernel))
        if step_of is None or type(error).__module__.partition(".")[0] != "numba":
            raise
        file = step_of.__code__.co_filename
        lines = str(error).splitlines()
        places = [(k, match) for k, text in enumerate(lines) if (match := PLACE.search(text))]
        ours = [(k, int(match[2])) for k, match in places if Path(file).name == Path(match[1]).name]
        first, line = ours[0] if ours else (len(lines), step_of.__code__.co_firstlineno)
        words = [text.strip() for text in lines[:first] if WORDS.match(text.strip())]
        raise InputError(
            f"the step of the kernel {type(kernel).__name__} cannot be compiled: "
            f"{words[-1][:LONGEST] if words else 'Numba does not know how'}; {RULES}",
            source=file,
            line=line,
        ) from None


PLACE = re.compile(r'File "([^"]+)", line ([0-9]+)')
WORDS = re.compile(r"(?!During|File|>>>|raised from|There are|-)[A-Z].* .*")
"""Where Numba says something happened, and what it says of it."""

LONGEST = 120  # letters of what Numba says

STEPS: dict[type, Any] = {}
"""The step of each kernel of one's own."""


def _module_of(value: Any) -> str:
    """The module that a function comes from, or whoever it is a method of; nothing for others."""
    owner = getattr(value, "__self__", None)
    source = value if owner is None or isinstance(owner, ModuleType) else type(owner)
    return str(getattr(source, "__module__", None) or "") if callable(value) else ""


def _require_own_numbers(body: Any) -> None:
    """Refuse a step that draws random numbers which no seed of ours decides."""
    code, known = body.__code__, body.__globals__
    words = [instruction.argval for instruction in dis.get_instructions(body)]
    for name, attribute in zip(words, [*words[1:], None], strict=True):
        value = known.get(name) if isinstance(name, str) else None
        if isinstance(value, ModuleType) and attribute == "random":
            name, value = f"{name}.random", getattr(value, "random", None)
        module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        if module.partition(".")[0] == "random" or module.startswith("numpy.random"):
            raise InputError(
                f"the step {body.__name__} draws from {name}, which "
                "all lanes and runs share and no seed of a run decides; draw through "
                f"om.kernels.integer, lane_integer or bernoulli with rng; {RULES}",
                source=code.co_filename,
                line=code.co_firstlineno,
            )


@unit
def _take_steps(frame: Any, count: int) -> None:
    kernel, prepared, memory, values, outcomes, rng = unpack_frame(frame)
    steps(prepared, kernel, memory, values, outcomes, rng, count)


@implementation(steps, Linked)
def _linked_steps(
    prepared: PreparedGraph,
    kernel: Linked,
    memory: Any,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    call_indirect(kernel.address, kernel.frame, count)


def step(kernel: type) -> Callable[[Body], Body]:
    """Say what one step of a kernel of one's own does, in all lanes, in place.

    The kernel is a NamedTuple of read-only data with `outcomes` (the names of what the step counts)
    and `memory(prepared, lanes)` (arrays that the step may overwrite). The step takes
    `prepared, kernel, memory, values, outcomes, rng`: `prepared.graph` has the factors, and
    `om.kernels.draw` gives a variable a new value. It draws through `om.kernels.integer`,
    `bernoulli` and `accept_by_log_ratio`, allocates nothing, and may only choose what all lanes do
    together without looking at their values. What it writes into a lane depends on that lane only.

    >>> from typing import NamedTuple
    >>> import orbitmc as om
    >>> class Rest(NamedTuple):
    ...     outcomes = ("steps",)
    ...     def memory(self, graph, lanes):
    ...         return ()
    >>> @om.kernels.step(Rest)
    ... def rest(graph, kernel, memory, values, outcomes, rng):
    ...     outcomes[0] += 1
    >>> report = om.testing.check_kernel(Rest())
    >>> report.stationary, report.ergodic
    (0.0, False)
    """

    def register(body: Body) -> Body:
        _require_own_numbers(body)
        single = shared(body)
        STEPS[kernel] = body

        def repeat(
            prepared: PreparedGraph,
            kernel: Any,
            memory: Any,
            values: Bytes,
            outcomes: Numbers,
            rng: Any,
            count: int,
        ) -> None:
            for _ in range(count):
                single(prepared, kernel, memory, values, outcomes, rng)

        repeat.__module__ = body.__module__  # the file that the machine code depends on
        implementation(steps, kernel)(repeat)
        return body

    return register
