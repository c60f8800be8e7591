"""Do chains get through where no variable can change alone: equivalence relations, and orders?

Citations of papers, each with most of its paper's title words and some others; citations with
common words tend to be the same. `Same` is an equivalence relation, by hard rules. Grounding and
chains in CPU seconds of one core; the effective sample size is that of the number of pairs that are
the same. With eight citations, marginals are compared with those of all 4,140 partitions.

Rankings of players: some pairs have met, and who has won tends to come before the other; `Before`
is a total order, by hard rules. With seven players, marginals are compared with those of all
orders.
"""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import measuring
import numpy as np

from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.marginals import Marginals
from orbitmc.inference.program import MarkovLogic, ground_program
from orbitmc.inference.settings import Settings
from orbitmc.kernels.relations import partition_scan
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.sampling.pack import start_pack, walk

PROGRAM = """
Has(cit, word)
Same(cit, cit)
Same(x,x).
Same(x,y) => Same(y,x).
Same(x,y) ^ Same(y,z) => Same(x,z).
0.9 Has(x,w) ^ Has(y,w) => Same(x,y)
-2 Same(x,y)
"""
ORDER = """
Won(player, player)
Before(player, player)
!Before(x,x).
x != y => (Before(x,y) v Before(y,x)).
Before(x,y) ^ Before(y,z) => Before(x,z).
0.8 Won(x,y) => Before(x,y)
"""
PLAYERS, GAMES = (7, 20, 50), 5  # and how many games each of them has had
WORDS, NOISE, PER_PAPER = 5, 0.25, 4
SIZES, LANES, SWEEPS, SEEDS = (8, 20, 100, 500, 2000), 32, 1, (1, 2, 3)
LOOKS = {8: 4000, 20: 4000, 100: 800, 500: 200, 2000: 50}


def main() -> None:
    options = measuring.arguments(__doc__)
    measuring.use_one_core()
    results: dict[str, Any] = {}
    chosen = [int(row) for row in options.only] if options.only else SIZES
    for size in (8, 20) if options.quick else chosen:
        results[str(size)] = measured(size, quick=options.quick)
    rankings = {}
    for players in () if options.only else PLAYERS[:1] if options.quick else PLAYERS:
        rankings[str(players)] = rank(players, quick=options.quick)
    columns = ["citations", "grounding s", "sweeps/s", "ESS/s", "worst error", "verdicts"]
    rows = [[name, *row.values()] for name, row in results.items()]
    measuring.print_table("Partitions of citations, one core", columns, rows)
    columns = ["players", "seconds", "samples", "worst R-hat", "worst error", "verdicts"]
    rows = [[name, *row.values()] for name, row in rankings.items()]
    measuring.print_table("Rankings by auto, one core", columns, rows)
    results = {"citations": results, "rankings": rankings}
    about = {"quick": options.quick, "only": options.only, "repetitions": len(SEEDS)}
    measuring.write_results(options.results, "through", results, **about)


def measured(size: int, *, quick: bool) -> dict[str, Any]:
    begun = time.process_time()
    program = read(size)
    pairs = program.in_pairs
    assert pairs is not None
    model = pairs.model
    grounding = time.process_time() - begun
    looks = 20 if quick else LOOKS.get(size, 100)
    prepared = prepare(model.graph)
    kernel = partition_scan(prepared, model.equivalences)
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=LANES)
    walk(prepared, kernel, pack, looks // 5 * model.graph.variables)
    seen, seconds = [], 0.0
    for _ in range(looks):
        begun = time.process_time()
        walk(prepared, kernel, pack, SWEEPS * model.graph.variables)
        seconds += time.process_time() - begun
        seen.append(pack.values.sum(axis=0, dtype=np.int64))
    off, verdicts = compare(program, quick=quick) if size == 8 else (None, "-")
    return {
        "grounding": grounding,
        "sweeps": LANES * looks * SWEEPS / seconds,
        "ess": effective_size(np.array(seen, dtype=float).T) / seconds,
        "error": off,
        "verdicts": verdicts,
    }


def rank(players: int, *, quick: bool) -> dict[str, Any]:
    """What `auto` says of a ranking, in ten seconds."""
    rng = np.random.default_rng(players)
    games = [rng.choice(players, 2, replace=False) for _ in range(GAMES * players)]
    facts = sorted({f"Won(P{a},P{b})" for a, b in (sorted(game) for game in games)})
    program = parse(f"player = {{{', '.join(f'P{n}' for n in range(players))}}}\n{ORDER}")
    logic = ground_program(program, parse_database("\n".join(facts), program))
    begun = time.perf_counter()
    answer = logic.marginals(
        Settings(method="lmh", seconds=1.0 if quick else 10.0, threads=1, seed=1)
    )
    seconds = time.perf_counter() - begun
    worst = float(np.nanmax(answer.columns.r_hat))
    off = error_of_ranking(answer, facts, players) if players <= PLAYERS[0] else None
    return {
        "seconds": seconds,
        "samples": answer.about.samples * answer.about.chains,
        "r_hat": worst,
        "error": off,
        "verdicts": ", ".join(sorted(set(answer.verdicts()) - {"observed", "forced"})),
    }


def error_of_ranking(answer: Marginals, facts: list[str], players: int) -> float:
    """The largest error of any pair: the truth is a sum over all orders."""
    won = np.zeros((players, players))
    for fact in facts:
        first, second = (int(word[1:]) for word in fact[4:-1].split(","))
        won[first, second] = 0.8
    total, sums = 0.0, np.zeros((players, players))
    for arranged in itertools.permutations(range(players)):
        place = np.argsort(arranged)
        before = place[:, None] < place
        weight = np.exp((won * before).sum())
        total, sums = total + weight, sums + weight * before
    return max(
        abs(float(answer[f"Before(P{a},P{b})"].probability[-1]) - float(sums[a, b]) / total)
        for a, b in itertools.permutations(range(players), 2)
    )


def read(size: int, seed: int = 1) -> MarkovLogic:
    rng = np.random.default_rng(seed)
    papers = [rng.choice(4 * size, WORDS, replace=False) for _ in range(max(1, size // PER_PAPER))]
    facts = []
    for cit in range(size):
        own = papers[cit % len(papers)]
        words = np.where(rng.random(WORDS) < NOISE, rng.integers(4 * size, size=WORDS), own)
        facts += [f"Has(C{cit},W{word})" for word in np.unique(words)]
    program = parse(PROGRAM)
    return ground_program(program, parse_database("\n".join(facts), program))


def effective_size(series: np.ndarray[Any, Any]) -> float:
    """Independent values that would tell as much as `series[lane, look]`, by Geyer's sums."""
    centred = series - series.mean()
    looks = series.shape[1]
    power = np.abs(np.fft.rfft(centred, 2 * looks, axis=1)) ** 2
    covariance = np.fft.irfft(power.sum(axis=0), 2 * looks)[: looks // 2 * 2]
    sums = (covariance / covariance[0]).reshape(-1, 2).sum(axis=1)
    positive = np.logical_and.accumulate(sums > 0)
    falling = np.minimum.accumulate(np.where(positive, sums, 0.0))
    return float(series.size / max(2.0 * falling.sum() - 1.0, 1.0))


def compare(program: MarkovLogic, *, quick: bool) -> tuple[float, str]:
    """The largest error of any pair, by `auto`, in the worst of some seeds; and its verdicts."""
    truth = true_marginals(program)
    worst, verdicts = 0.0, set[str]()
    for seed in SEEDS:
        answer = program.marginals(seconds=1.0 if quick else 10.0, seed=seed)
        verdicts |= set(answer.verdicts()) - {"observed"}
        off = max(abs(answer[name].probability[0] - chance) for name, chance in truth.items())
        worst = max(worst, off)
    return worst, ", ".join(sorted(verdicts))


def true_marginals(program: MarkovLogic) -> dict[str, float]:
    """The probability of every pair, from all partitions."""
    assert program.in_pairs is not None
    model = program.in_pairs.model
    (relation,) = model.equivalences
    states = np.array(
        [labels[relation.first] == labels[relation.second] for labels in partitions(relation.items)]
    )
    gain = np.zeros(model.graph.variables)
    for factor in range(model.graph.factors):
        low, high = model.graph.full_table(factor)
        gain[model.graph.scope_of(factor)] += high - low
    weights = np.exp(states @ gain - (states @ gain).max())
    chances = weights @ states / weights.sum()
    return dict(zip(model.names, chances.tolist(), strict=True))


def partitions(items: int) -> Iterator[np.ndarray[Any, Any]]:
    """The block of each item, blocks numbered as they come, in every way."""
    if items == 0:
        yield np.zeros(0, dtype=np.int64)
        return
    for labels in partitions(items - 1):
        for label in range(labels.max(initial=-1) + 2):
            yield np.append(labels, label)


if __name__ == "__main__":
    main()
