"""Answers draw themselves, with labelled axes."""

import matplotlib as mpl
import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.report.plots import MOST_CHAINS_DRAWN, autocorrelation, label_logarithms

mpl.use("agg")
import matplotlib.pyplot as plt  # the backend must be chosen first


@pytest.fixture(scope="module")
def sprinkler():
    return om.read("examples/sprinkler.bif")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_marginals_are_bars_as_long_as_they_are_probable(sprinkler):
    answer = om.marginals(sprinkler)
    place = answer.plot(["rain"])
    assert [bar.get_width() for bar in place.patches] == answer["rain"].probability.tolist()
    labels = [label.get_text() for label in place.get_yticklabels()]
    assert labels == ["rain = none", "rain = light", "rain = heavy"]


def test_a_given_place_is_drawn_into(sprinkler):
    _, ax = plt.subplots()
    assert om.marginals(sprinkler).plot(ax=ax) is ax


def test_sampled_marginals_have_whiskers(sprinkler):
    place = om.marginals(sprinkler, method="gibbs", samples=20).plot(["rain"])
    assert len(place.containers) == 6


def test_joints_of_two_names_are_images(sprinkler):
    found = om.joint(sprinkler, ["sprinkler", "rain"])
    assert found.plot().images[0].get_array().tolist() == found.probability.tolist()
    with pytest.raises(InputError, match="one or two names"):
        om.joint(sprinkler, ["sprinkler", "rain", "season"]).plot()


def test_a_sweep_shows_energy_and_heat_capacity():
    found = om.sweep(om.ising_grid(3, 3, 0.5), [0.5, 1.0, 1.5])
    left, right = found.plot().axes
    assert left.lines[0].get_ydata().tolist() == [rung.energy.value for rung in found]
    assert right.get_ylabel() == "heat capacity"


def test_draws_show_what_chains_remember_and_where_means_settle():
    drawn = om.draws(om.ising_grid(3, 3, 0.5), samples=50, chains=32, method="gibbs")
    left, right = drawn.plot(["s0_0"]).axes
    assert left.lines[0].get_ydata()[0] == pytest.approx(1.0)
    (mean,) = (line for line in right.lines if line.get_label().startswith(drawn.names[0]))
    values = drawn.values[:, :, 0]
    usual = int(values.mean() > 0.5)
    assert mean.get_ydata()[-1] == pytest.approx((values == usual).mean())
    single = [line.get_ydata()[-1] for line in right.lines[:MOST_CHAINS_DRAWN]]
    assert single == pytest.approx((values[:MOST_CHAINS_DRAWN] == usual).mean(axis=1).tolist())
    with pytest.raises(InputError, match="no draws of 'nobody'"):
        drawn.plot(["nobody"])


def test_the_autocorrelation_of_an_autoregressive_chain_is_known():
    rng = np.random.default_rng(1)
    chains, draws, kept = 200, 2000, 0.8
    seen = np.zeros((chains, draws))
    seen[:, 0] = rng.normal(size=chains)
    for place in range(1, draws):
        fresh = np.sqrt(1 - kept**2) * rng.normal(size=chains)
        seen[:, place] = kept * seen[:, place - 1] + fresh
    # 400,000 draws with about 44,000 effective ones: standard errors are below 0.01
    assert autocorrelation(seen)[:6] == pytest.approx(kept ** np.arange(6), abs=0.05)


def test_an_error_curve_is_drawn_on_logarithmic_axes():
    from orbitmc.compare import by_method, error_curve, prepare_sampler, reference_of

    grid = om.ising_grid(3, 3, 0.3)
    ready = prepare_sampler(by_method(grid, "gibbs", seconds=0.1))
    found = error_curve(ready, reference_of(grid, seconds=1.0), seconds=0.1, seed=1)
    place = found.plot()
    assert place.get_xscale() == place.get_yscale() == "log"
    assert len(place.lines[0].get_xdata()) == len(found.points)


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.6), (1.1, 40.0), (1e-3, 1e3)])
def test_logarithmic_axes_have_at_least_two_labelled_ticks(low, high):
    figure, place = plt.subplots()
    place.plot([low, high], [1e-5, 1e-3])
    place.set(xscale="log", yscale="log")
    label_logarithms(place)
    figure.canvas.draw()
    for axis, limits in ((place.xaxis, place.get_xlim()), (place.yaxis, place.get_ylim())):
        seen = [at for at in axis.get_majorticklocs() if limits[0] <= at <= limits[1]]
        assert len(seen) >= 2
        words = [label.get_text() for label in axis.get_majorticklabels()]
        assert all(words)
