"""A report is one file that shows all it promises, and nothing that a name could smuggle in."""

import csv
import html
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import orbitmc as om
from orbitmc.cli.main import app
from orbitmc.errors import InputError
from orbitmc.estimate.statistics import CoursePoint
from orbitmc.exact.families import families_of
from orbitmc.report.page import MOST_PAGE_ROWS
from tests.cli.commands import orbitmc_alone
from tests.report.browser import needs_chromium, opened, written

SECTIONS = (
    "Question",
    "Marginals",
    "Health",
    "Error over time",
    "Method",
    "Symmetries",
    "Exact values",
    "Reproduce",
    "For a paper",
)
EVIL = "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b'c\n\x00"


class Tags(HTMLParser):
    """Counts elements, and collects text."""

    def __init__(self, text):
        super().__init__()
        self.counts, self.text = {}, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        assert "src" not in dict(attrs)
        assert dict(attrs).get("href", "#").startswith("#")

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def sprinkler():
    return om.read("examples/sprinkler.bif")


@pytest.fixture(scope="module")
def sampled(sprinkler):
    options = {"method": "gibbs", "samples": 3000, "seed": 1}
    return om.marginals(sprinkler, {"grass": "wet", "rain": [1.0, 2.0, 3.0]}, **options)


def page_of(answer, folder):
    return answer.report(folder / "page.html").read_text()


def test_a_page_has_all_sections_with_what_they_are_about(sampled, tmp_path):
    course = tuple(CoursePoint(0.1 * n, 100 * n, 0.1 / n, 0.2 / n) for n in (1, 2, 4))
    text = page_of(replace(sampled, about=replace(sampled.about, course=course)), tmp_path)
    assert "The first 100 samples of each chain were there after 0.10 s" in text
    assert (
        "included, and 400 after 0.40 s. The largest standard error became 4 times smaller" in text
    )
    assert re.findall(r"<h2>(.*?)</h2>", text) == list(SECTIONS)
    assert "Converged: every R-hat is at most 1.01" in text
    assert "grass = wet, rain: soft" in text
    assert "sprinkler" in text
    assert "3,000 samples in each of 256 chains" in text
    assert text.count('class="chart"') == 4  # R-hat, ESS, error over time, exact values
    assert len(text) < 100_000


def test_soft_evidence_counts_once_in_what_a_page_compares_with(sampled, tmp_path):
    text = page_of(sampled, tmp_path)
    found = re.search(r"(\d+) of (\d+) intervals hold the exact value.*?([\d.e-]+) at most", text)
    covered, compared, worst = int(found[1]), int(found[2]), float(found[3])
    assert covered >= compared - 2
    assert worst < 0.01


def test_an_exact_answer_needs_no_health_of_chains(sprinkler, tmp_path):
    text = page_of(om.marginals(sprinkler), tmp_path)
    assert "The answer is exact." in text
    assert "Error over time" not in text
    assert "computed exactly by variable elimination" in text


def test_a_run_that_did_not_converge_says_so_first(tmp_path):
    cold = om.ising_grid(8, 8, 1.5)
    answer = om.marginals(cold, method="gibbs", samples=50, seed=1)
    assert not answer.converged
    text = page_of(answer, tmp_path)
    assert 'class="verdict doubt"' in text
    assert text.index("Not converged") < text.index("<h2>")
    assert "What next: run longer" in text


def test_names_are_text_and_nothing_else(tmp_path):
    model = om.model(
        {EVIL[0]: [EVIL[1], "b"], EVIL[1]: ["</td>", "<b>"], EVIL[2]: ["x", "y"]},
        [([EVIL[0], EVIL[1]], [[1, 2], [3, 4]]), ([EVIL[2]], [1, 3])],
    )
    answer = om.marginals(model, {EVIL[2]: "x"}, method="gibbs", samples=100)
    tags = Tags(page_of(answer, tmp_path))
    assert tags.counts["script"] == 1
    assert "img" not in tags.counts
    assert EVIL[1] in tags.text
    assert "\x00" not in tags.text


def test_a_page_asks_for_nothing_from_elsewhere(sampled, tmp_path):
    text = page_of(sampled, tmp_path)
    for word in ("http:", "https:", "@import", "url(", " src="):
        assert word not in text


def test_a_large_model_has_a_small_page_and_no_other_file(tmp_path):
    names = {f"{'long' * 100}{number}": ["no", "yes"] for number in range(6000)}
    model = om.model(names, [([name], [1, 3]) for name in names])
    answer = om.marginals(model, method="gibbs", samples=20)
    text = page_of(answer, tmp_path)
    assert "e20065 symmetries" in text  # 6000!
    assert len(text.encode()) < 1_000_000
    assert text.count("<tr class=") == MOST_PAGE_ROWS
    assert f"{12000 - MOST_PAGE_ROWS:,} more rows are not on this page" in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_variable_of_many_values_does_not_fill_a_page(tmp_path):
    size = 50_000
    model = om.model({"x": [str(value) for value in range(size)]}, [(["x"], np.ones(size))])
    text = page_of(om.marginals(model), tmp_path)
    assert text.count("<tr class=") == MOST_PAGE_ROWS
    assert len(text.encode()) < 1_000_000


def test_the_lines_that_reproduce_an_answer_do(sampled, sprinkler, tmp_path):
    text = Tags(page_of(sampled, tmp_path)).text
    code = re.search(r"import orbitmc as om\n\nanswer = .*?\)(?=The same)", text)[0]
    names = {"model": sprinkler}
    exec(code, names)
    again = names["answer"].columns.probability
    assert again.tolist() == sampled.columns.probability.tolist()


def test_an_answer_of_nobody_knows_what_has_no_report(sampled, tmp_path):
    with pytest.raises(InputError, match="needs the question"):
        replace(sampled, asked=None).report(tmp_path / "page.html")


def test_a_program_is_reported_in_atoms(tmp_path):
    program = om.read("examples/smokers.mln", ["examples/smokers.db"])
    text = page_of(program.marginals(method="mcsat", samples=50), tmp_path)
    assert "Cancer(Anna)" in text
    assert "<h1>Marginals of 4 atoms</h1>" in text
    assert "<dt>asked about</dt><dd>4 atoms</dd>" in text
    assert "intervals hold the exact value" in text


def test_the_command_line_writes_a_page(tmp_path):
    page = tmp_path / "page.html"
    command = ["infer", "examples/sprinkler.bif", "-e", "grass=wet", "--report", str(page)]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0
    assert f"the report is in {page}" in found.stderr
    assert "grass = wet" in page.read_text()


def test_a_report_under_a_strange_name_is_refused_before_any_work(tmp_path):
    command = ["infer", "examples/sprinkler.bif", "--report", str(tmp_path / "page.pdf")]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 2
    assert "ends in .html" in found.stderr


@needs_chromium
def test_a_browser_reads_the_page_and_filters_its_rows(sampled, tmp_path):
    page = sampled.report(tmp_path / "page.html")
    assert "9 of 9 rows" in opened(page, tmp_path)
    typing = (  # rainy is a value that fits, too
        'word.value="rain";word.dispatchEvent(new Event("input"));'
        'document.title=[...document.querySelectorAll("tbody tr:not([hidden]) td.v")]'
        '.map(c=>c.textContent).join()+"|"+document.getElementById("shown").textContent'
    )
    assert "4 of 9 rows" in written(opened(page, tmp_path, typing))


@needs_chromium
def test_names_do_nothing_in_a_browser(tmp_path):
    model = om.model({EVIL[0]: [EVIL[1], "b"]}, [([EVIL[0]], [1, 2])])
    page = om.marginals(model).report(tmp_path / "page.html")
    document = opened(page, tmp_path, 'document.title=document.querySelectorAll("img,b").length')
    assert written(document) == "0"


@needs_chromium
@pytest.mark.parametrize("width", [500, 1400])
def test_a_page_is_no_wider_than_its_window(sampled, tmp_path, width):
    page = sampled.report(tmp_path / "page.html")
    script = "document.title=document.documentElement.scrollWidth-window.innerWidth"
    assert int(written(opened(page, tmp_path, script, width=width))) <= 0


def infer(*words):
    return CliRunner().invoke(app, ["infer", *map(str, words)])


def test_rows_are_in_a_file_beside_a_page_where_one_is_asked_for(tmp_path):
    names = {f"x{number}": ["no", "yes"] for number in range(MOST_PAGE_ROWS)}
    model, page, rows = (tmp_path / name for name in ("wide.json", "page.html", "page.csv"))
    om.write(om.model(names, [([name], [1, 3]) for name in names]), model)
    rows.write_text("my own numbers\n")
    assert infer(model, "--report", page).exit_code == 0
    assert rows.read_text() == "my own numbers\n"
    assert infer(model, "--report", page, "-o", rows).exit_code == 0
    with rows.open() as file:
        assert len(list(csv.reader(file))) == 2 * MOST_PAGE_ROWS + 1


ODD = 'it\'s "$HOME" `ls` \\n & more'
SAMPLED = ("--method", "gibbs", "--samples", "50", "--seed", "7")
REPRODUCED = {
    "a model": ("examples/sprinkler.bif", "-e", "grass=wet"),
    "a program": ("examples/smokers.mln", "-e", "examples/smokers.db", "-q", "Smokes"),
    "odd letters": ("{folder}/odd $name.json", "-e", f"two words={ODD}", "-e", "bell\x07=é"),
    "samples": ("examples/ring.uai", *SAMPLED),
}


@pytest.mark.parametrize("kind", REPRODUCED)
def test_the_command_on_a_page_runs_as_it_stands(kind, tmp_path):
    domains = {"two words": [ODD, "b"], "bell\x07": ["é", "e"], "x": ["0", "1"]}
    tables = [(["two words", "x"], [[1, 2], [3, 4]]), (["bell\x07", "x"], [[5, 2], [1, 4]])]
    om.write(om.model(domains, tables), tmp_path / "odd $name.json")
    first, second, page = (tmp_path / name for name in ("1.csv", "2.csv", "page.html"))
    words = [word.replace("{folder}", str(tmp_path)) for word in REPRODUCED[kind]]
    typed = orbitmc_alone("infer", *words, "--report", page, "-o", first)
    assert typed.returncode == 0, typed.stderr
    text = page.read_text()
    command = html.unescape(re.search(r"<h2>Reproduce</h2><pre>(.*?)</pre>", text, re.DOTALL)[1])
    first.rename(second)
    page.unlink()
    bash = f'orbitmc() {{ "{sys.executable}" -m orbitmc "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-c", bash], cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert first.read_text() == second.read_text()
    assert page.exists()


def drawing(answer, folder):
    return re.search(r'<svg class="graph".*?</svg>', page_of(answer, folder), re.DOTALL)[0]


def test_a_network_is_drawn_with_arrows_and_its_evidence(sampled, tmp_path):
    picture = drawing(sampled, tmp_path)
    assert picture.count('class="a"') == 4  # season to both, both to grass
    assert picture.count('class="v') == 4
    assert len(re.findall(r'<circle class="v o0 seen"', picture)) == 2
    assert "grass = wet" in picture
    assert ">rain<" in picture  # soft evidence has no value
    assert "4 variables and the 4 arrows between them; 2 observed" in picture


def test_a_lattice_and_a_chain_have_no_arrows(tmp_path):
    chain = om.model(
        {"a": ["0", "1"], "b": ["0", "1"]}, [(["a"], [1, 2]), (["a", "b"], [[2, 1], [1, 2]])]
    )
    for model in (om.ising_grid(3, 3, 0.4), chain):
        picture = drawing(om.marginals(model), tmp_path)
        assert 'class="a"' not in picture
        assert "pairs that share a factor" in picture


def test_causes_of_a_noisy_gate_point_to_their_child(tmp_path):
    model = om.read("examples/umbrella.bif")
    parents = sum(len(family.scope) - 1 for family in families_of(model.graph))
    assert drawing(om.marginals(model), tmp_path).count('class="a"') == parents
