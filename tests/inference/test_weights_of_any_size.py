"""Whatever the size of its weights, a model is answered as exact arithmetic says, or refused."""

from fractions import Fraction

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.model import Model
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.oracle import exact_weights
from tests.oracle.random_weights import ATOMS, random_graph, random_program, worlds

CLOSE = 1e-9  # weights up to 1e6 are added to others, which costs 1e-10 each
ERRORS = 9.5  # Student's t with 31 degrees passes it about once in 1e10 draws


def named(graph):
    names = tuple(f"v{number}" for number in range(graph.variables))
    return Model(graph, names, tuple(tuple(map(str, range(size))) for size in graph.cardinality))


def exact_outcome(ask):
    """An answer, or the class of the error."""
    try:
        return ask()
    except (LimitError, ContradictionError) as error:
        return type(error)


def exact_answer(graph, observed):
    evidence = {f"v{variable}": value for variable, value in observed.items()}
    return om.marginals(named(graph), evidence, method="exact")


def check_models(seeds):
    """How many of these models were answered; each one rightly."""
    answered = 0
    for seed in seeds:
        graph = random_graph(seed)
        observed = {0: seed % 2} if seed % 3 == 0 else {}
        truth = exact_weights.marginals(graph, observed)
        found = exact_outcome(lambda: exact_answer(graph, observed))  # noqa: B023
        if found is ContradictionError:
            assert truth is None, seed
        elif found is not LimitError:
            answered += 1
            assert truth is not None, seed
            for own, expected in zip(found.values(), truth, strict=True):
                np.testing.assert_allclose(own.probability, expected, rtol=0, atol=CLOSE)
    return answered


def check_programs(seeds):
    answered = 0
    for seed in seeds:
        text, rules = random_program(seed)
        found = exact_outcome(lambda: answer_to(text))  # noqa: B023
        if found is not LimitError:
            answered += 1
            for atom, expected in reference_of(rules).items():
                assert abs(float(found[f"{atom}(A)"].probability[-1]) - expected) < CLOSE, text
    return answered


def answer_to(text):
    program = parse(text)
    return ground_program(program, parse_database("", program), query="P,Q,R").marginals(
        method="exact"
    )


def reference_of(rules):
    every = list(worlds())
    logs = [
        sum((Fraction(w) for w, truth in rules if truth(world)), Fraction(0)) for world in every
    ]
    chances = exact_weights.probabilities(logs)
    return {
        atom: float(sum(c for world, c in zip(every, chances, strict=True) if atom in world))
        for atom in ATOMS
    }


def test_random_models_are_answered_rightly_or_refused():
    assert check_models(range(300)) > 150


def test_random_programs_are_answered_rightly_or_refused():
    assert check_programs(range(150)) > 75


@pytest.mark.slow
def test_many_random_models_and_programs_are_answered_rightly_or_refused():
    assert check_models(range(1_000, 11_000)) > 5_000
    assert check_programs(range(1_000, 6_000)) > 2_500


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
def test_samplers_agree_with_exact_arithmetic_where_they_believe_their_numbers(method):
    """There are about 300 comparisons, so one fails by chance once in 1e7 such tests."""
    believed = 0
    for seed in range(20):
        graph = random_graph(seed)
        found = exact_outcome(
            lambda: om.marginals(named(graph), method=method, samples=400, seed=1, lanes=32)  # noqa: B023
        )
        if not isinstance(found, type):
            truth = exact_weights.marginals(graph)
            for own, expected in zip(found.values(), truth, strict=True):
                if own.verdict in ("good", "fair", "forced"):
                    believed += 1
                    error = np.abs(own.probability - expected)
                    assert (error <= ERRORS * own.standard_error + 1e-6).all(), seed
    assert believed > 20


def test_the_oracle_itself_sees_a_small_weight_beside_a_large_one():
    """The truth is not made of the sums that it is there to check."""
    chances = exact_weights.probabilities([Fraction(10**16), Fraction(10**16) + 1])
    assert float(chances[1]) == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-15)
    assert float(np.exp(np.logaddexp(1e16, 1e16 + 1) - 1e16)) != pytest.approx(1 + np.e, abs=0.1)
