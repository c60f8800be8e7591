"""Lifted Metropolis-Hastings against over-symmetric models: WebKB Washington, friends and smokers.

OSA-r-c samples the approximation with links of Boolean rank r and c clusters of weights instead of
the model: its error stops falling where the approximation is wrong. Of a program with observed
friends, approximations are counted, too: what is left there is bias, and no noise.
"""

from pathlib import Path

import numpy as np
from figure import Asked, arguments, figure_files, finish, measure, note, write
from numpy.typing import NDArray
from samplers import gibbs, lmh, oversymmetric_mcmc
from webkb_data import COUNTED, learned_model, truth_for, universities

from orbitmc import Marginals, MarkovLogic, marginals, read_logic
from orbitmc.compare import divergence

APPROXIMATIONS = ((2, 2), (5, 6), (10, 6), (5, 50), (20, 50))  # rank, clusters
CIRCLES, MEMBERS = 3, 12  # circles of friends, and people in each
INSIDE, ACROSS = 0.7, 0.04  # how often two people are friends
RANKS, CLUSTERS = (1, 2, 3, 6), 3
SAMPLED = {
    "lifted MCMC": {"method": "lifted"},
    "Count-Gibbs": {"method": "gibbs", "base": "counts"},
}
HEADER = "asked,answered by,KL,farthest from the truth,in standard errors,farthest from counting\n"


def main() -> None:
    asked = arguments(__doc__, seconds=10.0, quick_seconds=0.2)
    folds, remark = universities(asked.data, quick=asked.quick)
    name = "Washington" if "Washington" in folds else min(folds)
    model = learned_model(folds, name, asked.cache)
    truth = truth_for(model, asked, name)
    wanted = APPROXIMATIONS[:2] if asked.quick else APPROXIMATIONS
    samplers = [gibbs(model), lmh(model)]
    samplers += [oversymmetric_mcmc(model, rank, clusters) for rank, clusters in wanted]
    kept = figure_files(asked, "osa_bias")
    measure(kept, name, samplers, truth, asked, estimators=["values"], counted_after=COUNTED)
    title = f"WebKB {name}{remark}: LMH and over-symmetric models"
    finish(kept, title, asked, more={})
    table = HEADER + "".join(friends_and_smokers(asked))
    write(asked.out / "osa_counted.csv", table)
    note(table)


def friends_and_smokers(asked: Asked) -> list[str]:
    """Approximations of a program, counted and sampled, beside the truth: a line of CSV each."""
    program = circles_of_friends(asked.out / "friends.mln", seed=1)
    truth = marginals(program, method="exact")
    how = {"seconds": asked.seconds, "seed": 1}
    lines = [row("program", "LMH", marginals(program, method="lmh", **how), truth, truth)]
    for rank in RANKS:
        biased, name = program.over_symmetric(rank=rank, clusters=CLUSTERS), f"OSA-{rank}"
        counted = marginals(biased, method="counting")
        lines.append(row(name, "counting", counted, truth, counted))
        for words, method in SAMPLED.items():
            sampled = marginals(biased, **method, **how)
            lines.append(row(name, words, sampled, truth, counted))
    return lines


def circles_of_friends(path: Path, seed: int) -> MarkovLogic:
    """People who are friends within their circle mostly, and what is heard of their smoking."""
    rng = np.random.default_rng(seed)
    count = CIRCLES * MEMBERS
    circle = np.arange(count) // MEMBERS
    chance = np.where(circle[:, None] == circle, INSIDE, ACROSS)
    friends = np.triu(rng.random((count, count)) < chance, 1)
    facts = [f"Friends(P{a},P{b})\nFriends(P{b},P{a})" for a, b in np.argwhere(friends)]
    facts += [f"{rng.uniform(0.2, 0.7):.3f} Smokes(P{one})" for one in range(count)]
    write(
        path,
        f"person = {{{', '.join(f'P{one}' for one in range(count))}}}\n"
        "Smokes(person)\nCancer(person)\nFriends(person, person)\n"
        "1.5 Smokes(x) => Cancer(x)\n0.1 Friends(x,y) => (Smokes(x) <=> Smokes(y))\n",
    )
    return read_logic(path, evidence=["\n".join(facts)], opened=["Smokes"])


def row(asked: str, how: str, answer: Marginals, truth: Marginals, counted: Marginals) -> str:
    found, true, exact = (chances(each, truth) for each in (answer, truth, counted))
    start = np.arange(0, 2 * len(found) + 1, 2)
    apart = divergence(both_values(true), both_values(found), start)
    error = np.array([answer[name].standard_error[0] for name in truth])
    sampled = error.any()

    def farthest(other: NDArray[np.float64]) -> str:
        return f"{(np.abs(found - other) / error).max():.1f}" if sampled else ""

    gap = np.abs(found - true).max()
    return f"{asked},{how},{apart.of_estimate:.2g},{gap:.4f},{farthest(true)},{farthest(exact)}\n"


def chances(answer: Marginals, truth: Marginals) -> NDArray[np.float64]:
    return np.array([answer[name].probability[0] for name in truth])


def both_values(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([1 - chance, chance], axis=1).reshape(-1)


if __name__ == "__main__":
    main()
