"""Chains of cells: the law of the cells is that of the program, and steps keep it."""

import itertools
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.log_weights import exact_log_weight
from orbitmc.kernels import _count_gibbs
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import outcomes, restorer
from orbitmc.lifted import NotLiftableError, build_cell_chain
from tests.lifted.random_fragments import Written, random_fragment
from tests.lifted.test_counting import read

EXACT = 1e-12
MOST_STATES = 81


def linked_fragment(seed):
    """People of whom many pairs are observed, without a pattern."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    names = [f"P{number}" for number in range(count)]
    rules = [
        "{} Likes(x,y) => (Smokes(x) <=> Smokes(y))",
        "{} Likes(x,y) ^ Smokes(x) => Old(y)",
        "{} Likes(x,y) => Likes(y,x)",
        "{} Smokes(x) ^ Old(x)",
        "{} x != y ^ Smokes(x) => Smokes(y)",
    ]
    chosen = rng.choice(len(rules), size=3, replace=False)
    lines = [rules[number].format(repr(float(rng.normal()))) for number in chosen]
    if rng.random() < 0.3:
        lines.append("Likes(x,y) ^ Smokes(x) => Smokes(y).")
    text = f"p = {{{', '.join(names)}}}\nSmokes(p)\nOld(p)\nLikes(p, p)\n" + "\n".join(lines)
    facts = [f"Likes({a},{b})" for a in names for b in names if rng.random() < 0.5]
    facts += [f"Smokes({a})" for a in names if rng.random() < 0.1]
    words = [rng.choice(["", "!", "0.3 "]) + fact for fact in facts]
    return Written(text + "\n", "\n".join(words) + "\n", ("Smokes", "Old", "Likes"))


def random_chain(seed):
    """A random program and its chain of cells; None if it has none, or one of no interest."""
    written = linked_fragment(seed) if seed % 2 else random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        om.log_z(logic, method="exact")
        chain = build_cell_chain(logic.source.program, logic.source.atoms)
    except (ContradictionError, InputError, NotLiftableError):
        return None
    return logic, chain


def cell_law(chain):
    """The probability of each state of the cells, by listing."""
    sizes = chain.model.graph.cardinality.tolist()
    states = list(itertools.product(*map(range, sizes)))
    return states, normalise([cell_log_weight(chain, state) for state in states])


def cell_log_weight(chain, state):
    kernel, total = chain.kernel, exact_log_weight(chain.model.graph, np.array(state))
    cells = kernel.first_cell.astype(int) + np.array(state, dtype=int)
    for one, two in itertools.combinations(cells.tolist(), 2):
        total += -math.inf if kernel.forbidden[one, two] else kernel.log_r[one, two]
    return total


def normalise(logs):
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


def atom_probability(chain, law, states, predicate, code):
    """How probable an atom is, given the law of the cells."""
    fragment = chain.fragment
    schema, atoms = fragment.schemas[predicate], fragment.atoms[predicate]
    arguments = [int(c[0]) for c in atoms.arguments(np.array([code]), fragment.universe)]
    kinds = fragment.program.predicates[predicate].types
    field = type(next(iter(chain.known)))(predicate, tuple(arguments[p] for p in schema.written))
    value = code % atoms.width if schema.values else 1
    ends = []
    for place in schema.elements:
        sort = int(fragment.sort_of[kinds[place]][arguments[place]])
        member = int(np.searchsorted(fragment.sorts[sort].members, arguments[place]))
        ends.append((sort, member))
    if not ends:
        return None
    table = np.array(states).reshape(len(states), -1)

    def cell(sort, member):
        variable = chain.variable_of[sort][member]
        return (
            table[:, variable] if variable >= 0 else np.full(len(states), chain.sure[sort][member])
        )

    if len(ends) == 1 or ends[0] == ends[1]:
        sort, member = ends[0]
        chances = chain.field_chances(sort, field, np.array([value]), np.array([member]))[0]
        return float(law @ chances[cell(sort, member)])
    forward = ends[0] < ends[1]
    (s, a), (t, b) = ends if forward else ends[::-1]
    place = om.lifted.cells.PairField(field, forward)
    laws = chain.pair_chances(s, t, place, a, b)[:, :, value]
    return float(law @ laws[cell(s, a), cell(t, b)])


def test_the_law_of_cells_gives_the_marginals_of_the_program():
    checked = 0
    for seed in range(7000, 7300):
        if (pair := random_chain(seed)) is None:
            continue
        logic, chain = pair
        if not 1 < np.prod(chain.model.graph.cardinality.astype(float)) <= 256:
            continue
        states, law = cell_law(chain)
        exact = om.marginals(logic, method="exact")
        for predicate, table in logic.source.atoms.atoms.items():
            codes = table.unknown()
            names = om.mln.grounding.atom_names(table, codes, logic.source.atoms.universe)
            for name, code in zip(names, codes.tolist(), strict=True):
                probability = atom_probability(chain, law, states, predicate, code)
                if probability is not None:
                    assert probability == pytest.approx(exact[name].probability[0], abs=1e-10)
        checked += 1
    assert checked > 100


def transition_matrix(chain, variable, states, law):
    """One step of the production code that draws one variable, from every possible state."""
    prepared, number = prepare_unrounded(chain.model.graph), {s: k for k, s in enumerate(states)}
    memory = chain.kernel.memory(prepared, 1)
    memory.turn[0] = variable
    restore = restorer(memory)

    def run(values, rng):
        restore()
        steps(prepared, chain.kernel, memory, values, np.zeros(1, dtype=np.int64), rng, 1)

    matrix = np.eye(len(states))
    for place in np.flatnonzero(law > 0):
        matrix[place, place] = 0.0
        for end, chance in outcomes(run, states[place]).items():
            matrix[place, number[end]] += chance
    return matrix


def stationary_residuals(seeds):
    """How far steps are from keeping the law of cells and from detailed balance, at worst."""
    worst, balance, chains, hard = 0.0, 0.0, 0, 0
    for seed in seeds:
        if (pair := random_chain(seed)) is None:
            continue
        chain = pair[1]
        if not 1 < np.prod(chain.model.graph.cardinality.astype(float)) <= MOST_STATES:
            continue
        states, law = cell_law(chain)
        for variable in range(chain.model.graph.variables):
            matrix = transition_matrix(chain, variable, states, law)
            assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
            flow = law[:, None] * matrix
            worst = max(worst, float(np.abs(law @ matrix - law).max()))
            balance = max(balance, float(np.abs(flow - flow.T).max()))
        chains += 1
        hard += not chain.kernel.smooth
    return worst, balance, chains, hard


@pytest.mark.parametrize("first", range(7000, 7240, 60))
def test_steps_keep_the_law_of_cells(first):
    worst, balance, chains, hard = stationary_residuals(range(first, first + 60))
    assert worst <= EXACT
    assert balance <= EXACT
    assert chains > 15
    assert hard > 0


def test_corrections_of_one_side_only_would_be_seen(monkeypatch):
    """If only one of two constants hears of what was observed of them, the law changes."""
    build = build_cell_chain

    def one_sided(program, tables):
        chain = build(program, tables)
        half = len(chain.kernel.correction) // 2
        table = chain.kernel.correction.copy()
        table[half:] = 0.0
        object.__setattr__(chain, "kernel", chain.kernel._replace(correction=table))
        return chain

    monkeypatch.setattr("tests.lifted.test_count_gibbs.build_cell_chain", one_sided)
    assert stationary_residuals(range(7000, 7060))[0] > 1e-3


def test_a_constant_that_counts_itself_would_be_seen(monkeypatch):
    def never_less(kernel, memory, values, variable, change):
        first = int(kernel.first_cell[variable])
        for lane in range(values.shape[1]):
            memory.counts[first + int(values[variable, lane]), lane] += max(change, 0)

    monkeypatch.setattr(_count_gibbs, "add_to_counts", never_less)
    assert stationary_residuals(range(7000, 7060))[0] > 1e-3
