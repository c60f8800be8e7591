"""`orbitmc convert` writes the same model in another format."""

import numpy as np
import pytest

import orbitmc as om
from tests.cli.commands import orbitmc, rain


@pytest.mark.parametrize("name", ["x.uai", "x.uai.gz", "x.json", "x.bif", "x.xmlbif"])
def test_a_converted_model_has_the_same_marginals(tmp_path, name):
    done = orbitmc("convert", rain(tmp_path), tmp_path / name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    found = om.marginals(om.read(tmp_path / name), method="exact")
    expected = om.marginals(om.read(tmp_path / "rain.json"), method="exact")
    for one, other in zip(found.values(), expected.values(), strict=True):
        assert np.allclose(one.probability, other.probability)


def test_evidence_is_built_in(tmp_path):
    orbitmc("convert", rain(tmp_path), tmp_path / "x.json", "-e", "rain=yes")
    found = om.marginals(om.read(tmp_path / "x.json"), method="exact")
    assert found["grass"].probability == pytest.approx([0.2, 0.8])


def test_an_unknown_suffix_is_not_understood(tmp_path):
    assert orbitmc("convert", rain(tmp_path), tmp_path / "x.nonsense").returncode == 2
