"""A run that is kept from Python goes on, byte for byte, also with a kernel of one's own."""

from typing import NamedTuple

import pytest

import orbitmc as om
from orbitmc.inference._resume import saved_settings
from orbitmc.kernels import integer
from tests.cli.commands import orbitmc

FEW = {"samples": 400, "seed": 5, "packs": 2, "threads": 1}


class Swap(NamedTuple):
    """Exchange the values of two variables that no model tells apart."""

    first: int
    second: int

    @property
    def outcomes(self):
        return ("swaps",)

    def memory(self, graph, lanes):
        return ()


@om.kernels.step(Swap)
def swap(prepared, kernel, memory, values, outcomes, rng):
    if integer(rng, 2):
        for lane in range(values.shape[1]):
            value = values[kernel.first, lane]
            values[kernel.first, lane] = values[kernel.second, lane]
            values[kernel.second, lane] = value
        outcomes[0] += 1


@pytest.fixture(scope="module")
def spins():
    return om.ising_grid(2, 2, 0.3, 0.1)


def mixed(second=3):
    return om.kernels.lifted(om.kernels.gibbs(), [Swap(0, second)], alpha=0.8)


def stop_soon(run):
    """Interrupt a run in its warm-up."""
    run.stop()


def stop(run):
    """Interrupt a run as soon as it has samples."""
    if run.recorded > 0:
        run.stop()


def numbers(found):
    return {name: found[name].probability.tobytes() for name in found}


@pytest.mark.parametrize("watcher", [stop_soon, stop])
def test_a_run_with_a_kernel_of_ones_own_goes_on_as_if_never_stopped(spins, tmp_path, watcher):
    whole = om.marginals(spins, kernel=mixed(), **FEW)
    part = om.marginals(
        spins, kernel=mixed(), checkpoint=tmp_path / "x.run", watchers=[watcher], **FEW
    )
    assert part.about.interrupted
    assert numbers(part) != numbers(whole)
    going = om.resume(tmp_path / "x.run", spins, kernel=mixed())
    assert (going.about.samples, going.about.method) == (400, "Mixture")
    assert numbers(going) == numbers(whole)
    assert going.about.outcomes == whole.about.outcomes


@pytest.mark.parametrize("settings", [{"method": "lifted", "base": "gibbs"}, {"method": "gibbs"}])
def test_other_runs_go_on_too_and_remember_their_query(spins, tmp_path, settings):
    whole = om.marginals(spins, query=["s1_1"], **settings, **FEW)
    kept = tmp_path / "x.run"
    om.marginals(spins, query=["s1_1"], checkpoint=kept, watchers=[stop], **settings, **FEW)
    assert numbers(om.resume(kept, spins)) == numbers(whole)
    assert list(om.resume(kept, spins, query=["s0_0"])) == ["s0_0"]


def test_a_base_of_ones_own_is_given_again(spins, tmp_path):
    kept, base = tmp_path / "x.run", mixed()
    whole = om.marginals(spins, method="lifted", base=base, checkpoint=kept, **FEW)
    assert numbers(om.resume(kept, spins, base=base)) == numbers(whole)
    with pytest.raises(om.InputError, match="its base 'Mixture' is none of ours"):
        om.resume(kept, spins)


def test_a_program_is_resumed_in_its_atoms(tmp_path):
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    whole = om.marginals(program, method="gibbs", checkpoint=tmp_path / "x.run", **FEW)
    assert numbers(om.resume(tmp_path / "x.run", program)) == numbers(whole)


@pytest.fixture(scope="module")
def own_run(spins, tmp_path_factory):
    kept = tmp_path_factory.mktemp("kept") / "own.run"
    om.marginals(spins, kernel=mixed(), checkpoint=kept, **FEW)
    return kept


def test_an_own_kernel_must_be_given_again_and_be_the_same(spins, own_run):
    with pytest.raises(om.InputError, match="its kernel 'Mixture' is none of ours"):
        om.resume(own_run, spins)
    with pytest.raises(om.InputError, match="other jumps"):
        om.resume(own_run, spins, kernel=mixed(second=1))
    with pytest.raises(om.InputError, match="another model"):
        om.resume(own_run, om.ising_grid(2, 2, 0.4, 0.1), kernel=mixed())


def test_a_kernel_that_the_run_did_not_have_is_refused(spins, tmp_path):
    kept = tmp_path / "x.run"
    om.marginals(spins, method="gibbs", checkpoint=kept, **FEW)
    with pytest.raises(om.InputError, match="leave out the kernel"):
        om.resume(kept, spins, kernel=mixed())
    with pytest.raises(om.InputError, match="leave out the base"):
        om.resume(kept, spins, base=mixed())


def test_the_command_line_refuses_a_kernel_it_does_not_know(spins, own_run, tmp_path):
    om.write(spins, tmp_path / "spins.uai")
    done = orbitmc("resume", own_run, "--model", tmp_path / "spins.uai")
    assert done.returncode == 2
    assert "this run cannot go on: its kernel 'Mixture' is none of ours; in Python" in done.stderr


def test_a_file_that_is_there_is_not_written_over(spins, tmp_path):
    (tmp_path / "x.run").write_text("mine")
    with pytest.raises(om.InputError, match="there already"):
        om.marginals(spins, method="gibbs", checkpoint=str(tmp_path / "x.run"), **FEW)
    assert (tmp_path / "x.run").read_text() == "mine"


def test_a_folder_that_is_not_there_is_refused_before_any_work(spins, tmp_path):
    with pytest.raises(om.InputError, match="there is no folder"):
        om.marginals(spins, method="gibbs", checkpoint=tmp_path / "nowhere" / "x.run", **FEW)


def test_a_full_disk_costs_no_answer(spins, tmp_path, monkeypatch):
    def full(run, path, question):
        raise om.InputError("no space left", source=str(path))

    monkeypatch.setattr("orbitmc.sampling.checkpoint.save", full)
    with pytest.warns(UserWarning, match=r"the run was not saved: .*x\.run: no space left"):
        found = om.marginals(spins, method="gibbs", checkpoint=tmp_path / "x.run", **FEW)
    assert found.about.samples == 400


@pytest.mark.parametrize("base", [{"own": "Heat"}, {"own": 3}, {}, {"other": 1}, "magic", None])
def test_a_base_that_somebody_else_wrote_is_refused(base):
    record = {"kernel": {**om.Settings(method="lifted").kernel(), "base": base}}
    with pytest.raises(om.InputError, match=r"x\.run: this run cannot go on"):
        saved_settings(record, "x.run")


def test_a_plain_record_gives_its_settings_back():
    settings = om.Settings(method="lmh", alpha=0.5, generators=["(0 1)"], base="mcsat")
    found, ruled_out = saved_settings({"kernel": settings.kernel()}, "x.run")
    assert (found, ruled_out) == (settings, ())


def test_an_exact_answer_leaves_nothing_to_keep(spins, tmp_path):
    om.marginals(spins, method="exact", checkpoint=tmp_path / "x.run")
    assert not list(tmp_path.iterdir())
