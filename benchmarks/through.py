"""Do chains get through where no variable can change alone: equivalences, orders, matchings?

Citations of papers, each with most of its paper's title words and some others; citations with
common words tend to be the same. `Same` is an equivalence relation, by hard rules. Grounding and
chains in CPU seconds of one core; the effective sample size is that of the number of pairs that are
the same. With eight citations, marginals are compared with those of all 4,140 partitions.
Through `auto` everything counts: grounding, preparing, the race, the warm-up and the answer. Told
are the effective samples per second of the median pair that is the same in more than 2 % of them.

Rankings of players: some pairs have met, and who has won tends to come before the other; `Before`
is a total order, by hard rules. With seven players, marginals are compared with those of all
orders. Two lists of records, some of which look alike: each is matched with at most one of the
other list, by hard rules. With seven of each, marginals are compared with those of all matchings.
"""

import itertools
import time
from collections import Counter
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
MATCHING = """
Alike(left, right)
Same(left, right)
Same(x,p) ^ Same(x,q) => p = q.
Same(x,p) ^ Same(y,p) => x = y.
2 Alike(x,p) => Same(x,p)
-1 Same(x,p)
"""
PLAYERS, GAMES = (7, 20, 50), 5  # and how many games each of them has had
RECORDS, LOOKALIKES = (7, 50, 200), 4  # and how many of the other list each is like
WORDS, NOISE, PER_PAPER = 5, 0.25, 4
SIZES, LANES, SWEEPS, SEEDS = (8, 20, 100, 500, 2000), 32, 1, (1, 2, 3)
LIKELY = 0.02  # chance of pairs of which effective samples are told
SECONDS = {2000: 30.0}  # that auto is given; others have ten
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
    matchings = {}
    for records in () if options.only else RECORDS[:1] if options.quick else RECORDS:
        matchings[str(records)] = match(records, quick=options.quick)
    columns = ["citations", "grounding s", "sweeps/s", "ESS/s", "worst error", "verdicts"]
    columns += ["auto s", "auto ESS/s"]
    rows = [[name, *row.values()] for name, row in results.items()]
    measuring.print_table("Partitions of citations, one core", columns, rows)
    columns = ["players", "seconds", "samples", "worst R-hat", "worst error", "verdicts"]
    rows = [[name, *row.values()] for name, row in rankings.items()]
    measuring.print_table("Rankings by auto, one core", columns, rows)
    columns[0] = "records of each list"
    rows = [[name, *row.values()] for name, row in matchings.items()]
    measuring.print_table("Matchings by auto, one core", columns, rows)
    results = {"citations": results, "rankings": rankings, "matchings": matchings}
    about = {"quick": options.quick, "only": options.only, "repetitions": len(SEEDS)}
    measuring.write_results(options.results, "through", results, **about)


def measured(size: int, *, quick: bool) -> dict[str, Any]:
    begun = time.process_time()
    program = read(size)
    pairs = program.in_relations
    assert pairs is not None
    model = pairs.model
    grounding = time.process_time() - begun
    looks = 20 if quick else LOOKS.get(size, 100)
    prepared = prepare(model.graph)
    kernel = partition_scan(prepared, model.relations)
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=LANES)
    walk(prepared, kernel, pack, looks // 5 * model.graph.variables)
    seen, seconds = [], 0.0
    for _ in range(looks):
        begun = time.process_time()
        walk(prepared, kernel, pack, SWEEPS * model.graph.variables)
        seconds += time.process_time() - begun
        seen.append(pack.values.sum(axis=0, dtype=np.int64))
    off, verdicts = compare(program, quick=quick) if size == 8 else (None, "-")
    automatic = None if size == 8 else through_auto(size, quick=quick)
    return {
        "grounding": grounding,
        "sweeps": LANES * looks * SWEEPS / seconds,
        "ess": effective_size(np.array(seen, dtype=float).T) / seconds,
        "error": off,
        "verdicts": verdicts if automatic is None else automatic["verdicts"],
        "auto_seconds": None if automatic is None else automatic["seconds"],
        "auto_ess": None if automatic is None else automatic["ess"],
    }


def through_auto(size: int, *, quick: bool) -> dict[str, Any]:
    """What `auto` makes of a new program in some seconds, from its text to its answer."""
    begun = time.process_time()
    program = read(size)
    limit = 1.0 if quick else SECONDS.get(size, 10.0)
    answer = program.marginals(seconds=limit, threads=1, seed=1)
    seconds, columns = time.process_time() - begun, answer.columns
    likely = np.isfinite(columns.ess) & (columns.probability > LIKELY)
    ess = float(np.median(columns.ess[likely])) / seconds if likely.any() else None
    return {"seconds": seconds, "ess": ess, "verdicts": told(answer)}


def rank(players: int, *, quick: bool) -> dict[str, Any]:
    """What `auto` says of a ranking, in ten seconds."""
    rng = np.random.default_rng(players)
    games = [rng.choice(players, 2, replace=False) for _ in range(GAMES * players)]
    facts = sorted({f"Won(P{a},P{b})" for a, b in (sorted(game) for game in games)})
    program = parse(f"player = {{{', '.join(f'P{n}' for n in range(players))}}}\n{ORDER}")
    logic = ground_program(program, parse_database("\n".join(facts), program))
    answer, row = sampled(logic, quick=quick)
    off = error_of_ranking(answer, facts, players) if players <= PLAYERS[0] else None
    return {**row, "error": off, "verdicts": told(answer)}


def sampled(logic: MarkovLogic, *, quick: bool) -> tuple[Marginals, dict[str, Any]]:
    """What samples of relations say in ten seconds, as `auto` takes them of large ones."""
    begun = time.perf_counter()
    limit = 1.0 if quick else 10.0
    answer = logic.marginals(
        Settings(method="gibbs", base="relations", seconds=limit, threads=1, seed=1)
    )
    return answer, {
        "seconds": time.perf_counter() - begun,
        "samples": answer.about.samples * answer.about.chains,
        "r_hat": float(np.nanmax(answer.columns.r_hat)),
    }


def told(answer: Marginals) -> str:
    """How many atoms have each verdict."""
    counts = Counter(answer.verdicts())
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))


def match(records: int, *, quick: bool) -> dict[str, Any]:
    """What samples say of two lists of records, in ten seconds."""
    rng = np.random.default_rng(records)
    like = {(row, int(column)) for row in range(records)
            for column in rng.choice(records, LOOKALIKES, replace=False)}  # fmt: skip
    facts = "\n".join(f"Alike(A{row},B{column})" for row, column in sorted(like))
    lists = [f"{sort} = {{{', '.join(f'{letter}{n}' for n in range(records))}}}"
             for sort, letter in (("left", "A"), ("right", "B"))]  # fmt: skip
    program = parse("\n".join([*lists, MATCHING]))
    answer, row = sampled(ground_program(program, parse_database(facts, program)), quick=quick)
    off = error_of_matching(answer, like, records) if records <= RECORDS[0] else None
    return {**row, "error": off, "verdicts": told(answer)}


def error_of_matching(answer: Marginals, like: set[tuple[int, int]], records: int) -> float:
    """The largest error of any pair: the truth is a sum over all matchings, row by row.

    Pairs before a row and behind it meet in the set of columns that are taken.
    """
    gain = np.full((records, records), np.exp(-1.0))
    gain[tuple(np.array(sorted(like)).T)] = np.exp(1.0)
    taken = np.arange(2**records)
    before = [np.eye(1, 2**records)[0]]
    for row in range(records):
        after = before[-1].copy()
        for column in range(records):
            free = (taken >> column & 1) == 0
            after[taken[free] | 1 << column] += before[-1][free] * gain[row, column]
        before.append(after)
    behind = [np.ones(2**records)]
    for row in reversed(range(records)):
        total = behind[-1].copy()
        for column in range(records):
            free = (taken >> column & 1) == 0
            total[free] += gain[row, column] * behind[-1][taken[free] | 1 << column]
        behind.append(total)
    behind.reverse()
    worst = 0.0
    for row, column in itertools.product(range(records), repeat=2):
        free = (taken >> column & 1) == 0
        chance = before[row][free] @ behind[row + 1][taken[free] | 1 << column] * gain[row, column]
        name = f"Same(A{row},B{column})"
        off = abs(float(answer[name].probability[-1]) - float(chance / behind[0][0]))
        worst = max(worst, off)
    return worst


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
    assert program.in_relations is not None
    model = program.in_relations.model
    (relation,) = model.relations
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
