"""WebKB: KL against iterations and time, one row for each university.

Gibbs, Lifted MCMC (which finds no exact symmetry here and so is Gibbs), Lifted Metropolis-Hastings
as in the paper (weight 4/5 for Gibbs, links of Boolean rank 5, six clusters of weights, blocks by
the subgroup heuristic) and with raced jumps. The truth comes from two long runs that agree.
"""

from figure import arguments, figure_files, finish, measure, note
from samplers import gibbs, lifted_mcmc, paper_lmh, tuned_lmh
from webkb_data import DEVIATION, learned_model, truth_for, universities

from orbitmc import LimitError


def main() -> None:
    asked = arguments(__doc__, seconds=10.0, quick_seconds=0.2)
    folds, remark = universities(asked.data, quick=asked.quick)
    kept = figure_files(asked, "webkb")
    for name in folds:
        if not asked.wants(name):
            continue
        model = learned_model(folds, name, asked.out / ("quick" if asked.quick else ""))
        try:
            truth = truth_for(model, asked.truth_seconds)
        except LimitError as error:
            note(f"{name}: left out; {error}")
            continue
        samplers = [
            gibbs(model),
            lifted_mcmc(model),
            paper_lmh(model),
            tuned_lmh(model, asked.race_for),
        ]
        measure(kept, name, samplers, truth, asked, counted_after=1)
        for sampler in samplers:
            accepted = kept.acceptance(name, sampler.name)
            if accepted is not None:
                note(f"{name}: {sampler.name} accepts {accepted:.1%} of its jumps")
        finish(kept, f"WebKB{remark}: error of page labels", asked, more={"prior": DEVIATION})


if __name__ == "__main__":
    main()
