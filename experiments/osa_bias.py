"""Lifted Metropolis-Hastings against Lifted MCMC on over-symmetric models of WebKB Washington.

OSA-r-c samples the approximation with links of Boolean rank r and c clusters of weights instead of
the model: its error stops falling where the approximation is wrong.
"""

from figure import arguments, figure_files, finish, measure
from samplers import gibbs, lmh, oversymmetric_mcmc
from webkb_data import COUNTED, learned_model, truth_for, universities

APPROXIMATIONS = ((2, 2), (5, 6), (10, 6), (5, 50), (20, 50))  # rank, clusters


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


if __name__ == "__main__":
    main()
