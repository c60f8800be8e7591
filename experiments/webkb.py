"""WebKB: KL against iterations and time, one row for each university.

Gibbs (a random scan, as in the paper, and in turn), Lifted MCMC (which finds no exact symmetry
here and so is Gibbs), Lifted Metropolis-Hastings with a weight of 4/5 for Gibbs (blocks from a
pilot run, and those of the paper: links of Boolean rank 5, six clusters of weights, the subgroup
heuristic) and with raced jumps. The truth comes from two long runs that agree. A run that was
stopped goes on where it was, if it is asked for the same.
"""

from figure import arguments, figure_files, finish, measure, note
from samplers import gibbs, lifted_mcmc, lmh, paper_lmh, systematic_gibbs, tuned_lmh
from webkb_data import COUNTED, DEVIATION, learned_model, truth_for, universities

from orbitmc import LimitError


def main() -> None:
    asked = arguments(__doc__, seconds=1.0, quick_seconds=0.2)
    folds, remark = universities(asked.data, quick=asked.quick)
    kept = figure_files(asked, "webkb", resumed=True)
    for name in folds:
        if not asked.wants(name):
            continue
        model = learned_model(folds, name, asked.cache)
        try:
            truth = truth_for(model, asked, name)
        except LimitError as error:
            note(f"{name}: left out; {error}")
            continue
        samplers = [
            gibbs(model),
            systematic_gibbs(model),
            lifted_mcmc(model),
            lmh(model),
            paper_lmh(model),
            tuned_lmh(model, asked.race_for),
        ]
        measure(kept, name, samplers, truth, asked, counted_after=COUNTED)
        for sampler in samplers:
            accepted = kept.acceptance(name, sampler.name)
            if accepted is not None:
                note(f"{name}: {sampler.name} accepts {accepted:.1%} of its jumps")
        title = f"WebKB{remark}: Gibbs and LMH"
        finish(kept, title, asked, more={"prior": DEVIATION}, estimators=["values"])


if __name__ == "__main__":
    main()
