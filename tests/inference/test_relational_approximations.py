"""Relational approximations say where lmh jumps: wrong ones are refused more, and never bias."""

import json

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.inference._marginals import marginals
from orbitmc.inference._resume import saved_settings
from orbitmc.inference.lift import CLASSES
from orbitmc.inference.plan import choose_kernel
from orbitmc.inference.program import MarkovLogic, ground_program
from orbitmc.inference.settings import APPROXIMATIONS, Settings
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels.renaming import renaming
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.symmetry.classes import constant_swaps
from orbitmc.models._ising import ising_grid
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle import brute_force

EXACT = 1e-12
PAGES = """
page = {A, B, C, D, E}
Links(page, page)
Good(page)
Known(page)
0.3 Good(p)
0.9 Good(p) ^ Links(p, q) => Good(q)
-0.6 Good(p) ^ Known(p)
"""
LINKS = "Links(A, B)\nLinks(B, C)\nLinks(B, D)\nLinks(C, E)\nLinks(D, D)\nKnown(A)\nKnown(E)\n"
WORDS = """
page = {A, B}
word = {U, V}
On(page, word)
0.2 On(A, U)
0.5 On(B, U)
-0.4 On(A, V)
-0.7 On(B, V)
0.8 On(p, w) ^ On(p, v) ^ w != v => On(q, w)
"""


def pages(text=PAGES, evidence=LINKS) -> MarkovLogic:
    program = parse(text)
    return ground_program(program, parse_database(evidence, program))


def program_for(approximation) -> MarkovLogic:
    """A program that is not symmetric, and whose approximation is."""
    return pages(WORDS, "") if approximation == "weights" else pages()


def settings_for(approximation, **others) -> Settings:
    rank = {"rank": 1} if approximation == "rank" else {}
    return Settings(method="lmh", approximation=approximation, clusters=2, **rank, **others)


def residual(graph, kernel) -> float:
    """How far a kernel is from keeping the distribution."""
    chances = brute_force.distribution(graph)
    matrix = transition_matrix(graph, one_step(prepare_unrounded(graph), kernel))
    assert np.abs(matrix.sum(axis=1) - 1).max() <= EXACT
    return float(np.abs(chances @ matrix - chances).max())


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_jumps_along_approximations_keep_the_distribution(approximation):
    model = program_for(approximation).model
    prepared = prepare_unrounded(model.graph)
    chosen = choose_kernel(model, prepared, settings_for(approximation))
    assert not isinstance(chosen.kernel, RandomScan)
    assert residual(model.graph, chosen.kernel) <= EXACT


@pytest.mark.parametrize("approximation", CLASSES)
def test_taking_an_approximation_for_exact_changes_the_distribution(approximation):
    """The same swaps, never refused: what the matrices above would show."""
    asked = program_for(approximation)
    model = asked.model
    swaps = constant_swaps(asked.ground, CLASSES[approximation](asked.ground, model, 2, 1))
    never_refused = renaming(model.graph, swaps, symmetric=True)
    assert residual(model.graph, never_refused) > 1e-3


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_wrong_classes_never_bias(approximation):
    asked = program_for(approximation)
    exact = asked.marginals(method="exact").columns
    found = asked.marginals(settings_for(approximation, alpha=0.5, samples=500, seed=1))
    outcomes = found.about.outcomes
    assert found.about.method == "lmh"
    assert outcomes["accepted"] > 100
    refused = outcomes["proposals"] - outcomes["null proposals"] - outcomes["accepted"]
    assert refused > 100
    errors = np.abs(found.columns.probability - exact.probability)
    # Student's t with 31 degrees passes 9.5 about once in 1e10 draws.
    assert (errors <= 9.5 * found.columns.standard_error + 1e-6).all()


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_what_a_run_records_gives_the_same_kernel_again(approximation):
    model = program_for(approximation).model
    prepared = prepare(model.graph)
    settings = settings_for(approximation, alpha=0.6)
    record = json.loads(json.dumps({"kernel": settings.kernel()}))
    again, _ = saved_settings(record, "x.run")
    assert again.approximation == approximation
    runs = [
        sample(prepared, choose_kernel(model, prepared, one).kernel, Schedule(samples=50), packs=1)
        for one in (settings, again)
    ]
    assert runs[0].outcomes == runs[1].outcomes
    assert np.array_equal(runs[0].statistics().probability, runs[1].statistics().probability)


def test_without_nearly_equal_constants_it_is_gibbs():
    model = pages(PAGES + "".join(f"0.1 Good({name})\n" for name in "ABCDE")).model
    chosen = choose_kernel(model, prepare(model.graph), settings_for("evidence"))
    assert isinstance(chosen.kernel, RandomScan)
    assert "no two constants" in chosen.about


def test_plain_models_are_refused_whatever_the_method():
    model = ising_grid(2, 2, coupling=0.4)
    for method in ("auto", "lmh"):
        with pytest.raises(InputError, match="for Markov logic programs"):
            marginals(model, method=method, approximation="rank")
    asked = pages()
    seen = asked.model.given({"Good(A)": "true"})
    with pytest.raises(InputError, match="for Markov logic programs"):
        marginals(seen, method="lmh", approximation="rank")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"approximation": "magic"}, "expected rank, evidence, messages or weights"),
        ({"approximation": "rank", "method": "gibbs"}, "approximation is for lmh, not for gibbs"),
        ({"approximation": "rank", "max_moved": 9}, "the approximation rank has no max_moved"),
        ({"approximation": "evidence", "rank": 2}, "the approximation evidence has no rank"),
        ({"approximation": "weights", "rank": 2}, "the approximation weights has no rank"),
        ({"approximation": "rank", "moves": {}}, "no approximation"),
        ({"approximation": "rank", "generators": ["(A B)"]}, "no approximation"),
    ],
)
def test_settings_that_make_no_sense_together_are_refused(settings, said):
    with pytest.raises(InputError, match=said):
        Settings(**{"method": "lmh", **settings}).require_use()


def test_what_shapes_an_approximation_is_checked():
    for approximation, settings, said in [
        ("rank", {"rank": -1}, "rank"),
        ("evidence", {"clusters": 0}, "cluster"),
        ("messages", {"clusters": 0}, "cluster"),
        ("weights", {"clusters": 0}, "cluster"),
    ]:
        with pytest.raises(InputError, match=said):
            pages().marginals(method="lmh", approximation=approximation, **settings)
