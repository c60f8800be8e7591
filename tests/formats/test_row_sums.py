"""Tables of Bayesian networks that do not sum to one are said, once, wherever they came from."""

import json

import numpy as np
import pytest

import orbitmc as om
from orbitmc.kernels._gibbs import gibbs
from tests.cli.commands import orbitmc

BIF = """network test {{ }}
variable a {{ type discrete [ 2 ] {{ no, yes }}; }}
variable b {{ type discrete [ 2 ] {{ low, high }}; }}
probability ( a ) {{ table 0.2, 0.8; }}
probability ( b | a ) {{ (no) 0.5, 0.5; (yes) {row}; }}
"""
XMLBIF = """<BIF VERSION="0.3"><NETWORK><NAME>x</NAME>
<VARIABLE><NAME>a</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
<VARIABLE><NAME>b</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.5 0.5 {row}</TABLE></DEFINITION>
</NETWORK></BIF>"""
XDSL = """<smile version="1.0" id="x" numsamples="1000"><nodes>
<cpt id="a"><state id="no"/><state id="yes"/><probabilities>0.2 0.8</probabilities></cpt>
<cpt id="b"><state id="low"/><state id="high"/><parents>a</parents>
<probabilities>0.5 0.5 {row}</probabilities></cpt></nodes></smile>"""
NET = """net {{ }}
node a {{ states = ("no" "yes"); }}
node b {{ states = ("low" "high"); }}
potential (a) {{ data = (0.2 0.8); }}
potential (b | a) {{ data = ((0.5 0.5) ({row})); }}
"""
UAI = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2 0.2 0.8\n4 0.5 0.5 {row}\n"
FORMATS = {".bif": BIF, ".xmlbif": XMLBIF, ".xdsl": XDSL, ".net": NET, ".uai": UAI}
SAID = "probabilities do not sum to 1: those of b given a=yes sum to 0.9."
UAI_SAID = "probabilities do not sum to 1: those of 1 given 0=1 sum to 0.9."


def written(folder, suffix, row):
    comma = ", " if suffix == ".bif" else " "
    path = folder / f"network{suffix}"
    path.write_text(FORMATS[suffix].format(row=comma.join(row.split())))
    return path


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_row_that_sums_to_less_is_said_with_its_variable_and_sum(tmp_path, suffix):
    model = om.read(written(tmp_path, suffix, "0.3 0.6"))
    assert len(model.doubts) == 1
    assert model.doubts[0].startswith(UAI_SAID if suffix == ".uai" else SAID)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("row", ["0.3 0.7", "0.333 0.666", "0.3 0.701"])
def test_what_rounding_leaves_is_not_said(tmp_path, suffix, row):
    assert om.read(written(tmp_path, suffix, row)).doubts == ()


@pytest.mark.parametrize("row", ["0.3 0.6985", "0.3 0.7015"])
def test_a_little_more_than_rounding_is_said(tmp_path, row):
    assert om.read(written(tmp_path, ".bif", row)).doubts


def test_tables_of_markov_networks_need_not_sum_to_one(tmp_path):
    path = tmp_path / "markov.uai"
    path.write_text(UAI.format(row="3 6").replace("BAYES", "MARKOV"))
    assert om.read(path).doubts == ()


def test_many_rows_make_one_short_sentence(tmp_path):
    size = 500
    rows = "".join(f"(v{k}) 0.{k % 4 + 1}, 0.2;\n" for k in range(size))
    values = ", ".join(f"v{k}" for k in range(size))
    path = tmp_path / "many.bif"
    path.write_text(
        f"variable a {{ type discrete [ {size} ] {{ {values} }}; }}"
        f"variable b {{ type discrete [ 2 ] {{ low, high }}; }}"
        f"probability ( a ) {{ table {', '.join(['0.002'] * size)}; }}"
        f"probability ( b | a ) {{ {rows} }}"
    )
    (doubt,) = om.read(path).doubts
    assert "those of b given a=v0 sum to 0.3; " in doubt
    assert "and 497 more rows" in doubt
    assert len(doubt) < 300


def questions(model):
    rows = [{"b": "low"}]
    yield om.marginals(model).about
    yield om.marginals(model, {"a": "yes"}).about
    yield om.marginals(model, method="exact", memory=10**9).about
    yield om.marginals(model, method="gibbs", samples=50).about
    yield om.marginals(model, method="lmh", samples=50).about
    yield om.marginals(model, kernel=gibbs(), samples=50).about
    yield om.joint(model, ["a", "b"]).about
    yield om.joint(model, ["a", "b"], method="gibbs", samples=50).about
    yield om.probability(model, "a == 'yes'").about
    yield om.probability(model, "a == 'yes'", method="gibbs", samples=50).about
    yield om.probability(model, "a == 'yes'", {"a": "yes"}, method="gibbs", samples=50).about
    yield om.expect(model, {"f": lambda state: state["a"]}).about
    yield om.information(model, "a").about
    yield om.information(model, "a", None, {"b": "low"}).about
    yield om.log_z(model).about
    yield om.log_z(model, method="gibbs", samples=10).about
    yield om.best(model).about
    yield om.best(model, method="gibbs", seconds=0.1).about
    yield om.draws(model, samples=2, chains=2).about
    yield om.draws(model, samples=2, chains=2, method="gibbs").about
    yield om.sweep(model, [0.5, 1.0])[0].marginals.about
    yield om.sweep(model, [0.5, 1.0], method="gibbs", samples=50)[0].marginals.about
    from orbitmc.inference._predict import predictions
    from orbitmc.inference.settings import Settings

    yield predictions(model, rows, settings=Settings()).about


def test_every_question_says_it_once(tmp_path):
    model = om.read(written(tmp_path, ".bif", "0.3 0.6"))
    for place, about in enumerate(questions(model)):
        assert [w.startswith(SAID) for w in about.warnings].count(True) == 1, (place, about)


def test_rows_are_predicted_with_a_warning(tmp_path):
    model = om.read(written(tmp_path, ".bif", "0.3 0.6"))
    with pytest.warns(UserWarning, match="those of b given a=yes sum to 0.9"):
        om.predict(model, [{"b": "low"}])


@pytest.mark.parametrize(
    "words",
    [
        ["infer"],
        ["infer", "--log-z"],
        ["infer", "--method", "gibbs", "--samples", "50"],
        ["joint", "a", "b"],
        ["ask", "a == 'yes'"],
        ["draw", "-n", "2"],
        ["best"],
        ["sweep", "--beta", "1"],
    ],
)
def test_every_verb_says_it_once(tmp_path, words):
    path = written(tmp_path, ".bif", "0.3 0.6")
    done = orbitmc(words[0], path, *words[1:], "--quiet")
    assert done.stderr.count("those of b given a=yes sum to 0.9") == 1


def test_check_names_the_row(tmp_path):
    path = written(tmp_path, ".bif", "0.3 0.6")
    assert SAID in orbitmc("check", path).stdout
    told = json.loads(orbitmc("check", path, "--json").stdout)["remarks"]
    assert sum(SAID in one for one in told) == 1


def test_the_numbers_are_those_of_the_product_of_all_tables(tmp_path):
    """0.2 * 1 against 0.8 * 0.9: the sum of a row weighs its parents, as the warning says."""
    model = om.read(written(tmp_path, ".bif", "0.3 0.6"))
    found = om.marginals(model)["a"].probability
    np.testing.assert_allclose(found, np.array([0.2, 0.72]) / 0.92, atol=1e-12)


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".xdsl", ".net"])
def test_a_rounded_row_is_a_distribution(tmp_path, suffix):
    """What a child says of itself does not change how probable its parent is."""
    model = om.read(written(tmp_path, suffix, "0.333 0.666"))
    answer = om.marginals(model)
    np.testing.assert_allclose(answer["a"].probability, [0.2, 0.8], atol=1e-15)
    low = 0.2 * 0.5 + 0.8 * 0.333 / 0.999
    np.testing.assert_allclose(answer["b"].probability, [low, 1 - low], atol=1e-15)
    assert abs(om.log_z(model).value) < 1e-15
    weighed = om.marginals(om.read(written(tmp_path, suffix, "0.3 0.6")))
    np.testing.assert_allclose(weighed["a"].probability[0], 0.2 / (0.2 + 0.8 * 0.9), atol=1e-15)


def test_tables_of_uai_files_are_weights(tmp_path):
    answer = om.marginals(om.read(written(tmp_path, ".uai", "0.333 0.666")))
    yes = 0.8 * 0.999 / (0.2 + 0.8 * 0.999)
    np.testing.assert_allclose(answer["0"].probability, [1 - yes, yes], atol=1e-15)


def test_rows_that_were_normalised_are_written_and_read_as_they_are(tmp_path):
    first = om.read(written(tmp_path, ".bif", "0.333 0.666"))
    om.write(first, tmp_path / "again.bif")
    again = om.read(tmp_path / "again.bif")
    assert again.graph.table.tobytes() == first.graph.table.tobytes()
