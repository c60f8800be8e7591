"""The README and the documentation are executed, so they cannot drift."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.pages import (
    CONSOLE,
    OUTPUT,
    PYTHON,
    ROOT,
    blocks,
    commands,
    enter,
    pages,
    printed_by,
    require_alike,
    run_python,
)

PLACES = (ROOT, ROOT / "src" / "orbitmc")
UNTRACKED = {"experiments/out"}  # made by `make figures`


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages(), ids=named)
def test_a_page_does_what_it_shows(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    enter(tmp_path)
    names, printed = {}, ""
    for language, block in blocks(page):
        if language == PYTHON:
            printed = run_python(block, named(page), names)
        elif language == OUTPUT:
            require_alike(printed, block)
        else:
            for command, shown in commands(block):
                require_alike(printed_by(command), shown)


@pytest.mark.parametrize("page", pages(), ids=named)
def test_links_to_files_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", [*pages(), ROOT / "CONTRIBUTING.md"], ids=named)
def test_files_that_a_page_names_exist(page):
    for path in set(re.findall(r"`([\w-]+/[\w/.-]*)`", page.read_text())) - UNTRACKED:
        assert any((place / path).exists() for place in PLACES), path


SUBMODULE = re.compile(
    r"^\s*(?:from (orbitmc\.\S+) import ([\w, ]+|\()|import (orbitmc\.\S+))", re.M
)


def private_imports(text):
    """Names that a block imports from a module that lists no public names, or not these."""
    for module, names, whole in SUBMODULE.findall(text):
        path = ROOT / "src" / Path(*(module or whole).split("."))
        stub = path / "__init__.pyi"
        listed = re.findall(r" as (\w+)$", stub.read_text(), re.M) if stub.exists() else []
        private = any(part.startswith("_") for part in path.relative_to(ROOT / "src").parts)
        told = [name.strip() for name in names.split(",") if name.strip() not in ("", "(")]
        if private or not listed or not set(told) <= set(listed):
            yield module or whole


@pytest.mark.parametrize("page", pages(), ids=named)
def test_pages_import_public_names_only(page):
    for language, block in blocks(page):
        if language == PYTHON:
            assert not list(private_imports(block)), page


@pytest.mark.parametrize(
    ("line", "is_private"),
    [
        ("from orbitmc.mln.learning.learner import learn", True),
        ("from orbitmc.inference._learn import learn", True),
        ("from orbitmc._util import text", True),
        ("import orbitmc.exact.families", True),
        ("from orbitmc.kernels import no_such_kernel", True),
        ("from orbitmc.kernels import bernoulli, integer", False),
        ("from orbitmc.mln.learning import score", False),
        ("from orbitmc.compare import (", False),
    ],
)
def test_a_private_import_would_be_seen(line, is_private):
    assert bool(list(private_imports(line))) == is_private


def test_the_architecture_names_functions_that_exist():
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    found = re.findall(r"`(orbitmc\.[\w.]+)\.(\w+)`", page)
    assert len(found) >= 7
    for module, name in found:
        assert callable(getattr(importlib.import_module(module), name)), f"{module}.{name}"


def test_every_target_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\S+)", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_readme_has_six_lines_of_python_and_a_console():
    found = dict(reversed(blocks(ROOT / "README.md")))
    assert len([line for line in found[PYTHON].splitlines() if line.strip()]) <= 6
    assert found[CONSOLE].startswith("$ orbitmc demo")


def test_every_dependency_has_a_row_with_its_reason():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    extras = project["optional-dependencies"].values()
    lists = [project["dependencies"], *extras, *settings["dependency-groups"].values()]
    page = (ROOT / "docs/reference/dependencies.md").read_text()
    for name in {re.match(r"[\w-]+", one)[0] for listed in lists for one in listed}:
        assert re.search(rf"^\|[^|]*\b{name}\b", page, re.MULTILINE), name


USER_PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
USER_PAGES += [page for page in pages() if page.parent.name in ("tutorials", "how-to")]
FOR_BUILDERS = {"own-kernel.md", "samplers.md"}
EXPLAINED = {  # words of ours, and how a page that uses one says what it is
    "pack": r"packs? of (64|32) ?chains|packs\nof 64 chains|chains in a pack",
    "lane": r"lanes` \(chains|lanes \(chains",
    "family": r"famil(y|ies) of jumps",
    "edge": r"(?!)",
}


def words_of_ours(text):
    """Words of ours that a page uses in its sentences and does not explain."""
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    forms = {"pack": "packs?", "lane": "lanes?", "family": "family|families", "edge": "edges?"}
    for word, form in forms.items():
        is_used = re.search(rf"\b({form})\b", prose, re.IGNORECASE)
        if is_used and not re.search(EXPLAINED[word], text, re.IGNORECASE):
            yield word


@pytest.mark.parametrize("page", USER_PAGES, ids=named)
def test_pages_for_users_explain_our_words_or_do_without(page):
    assert page.name in FOR_BUILDERS or list(words_of_ours(page.read_text())) == []


@pytest.mark.parametrize(
    ("text", "unclear"),
    [
        ("A pack takes long.", ["pack"]),
        ("A pack of 64 chains takes long.", []),
        ("All lanes and edges.", ["lane", "edge"]),
        ("The family wins. See `families`.", ["family"]),
        ("Families of jumps race: the family that wins stays.", []),
    ],
)
def test_a_word_without_an_explanation_would_be_seen(text, unclear):
    assert list(words_of_ours(text)) == unclear


TIME = re.compile(r"\d+ s\b|half a minute|minutes?")


def test_there_is_one_number_for_the_first_compile():
    """Wherever a page says how long that takes, it says what was measured."""
    record = json.loads((ROOT / "benchmarks/results/startup.json").read_text())
    seconds = f"{record['results']['commands']['first demo']['cpu']:.0f} s"
    said = {}
    for page in pages():
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for sentence in re.split(r"(?<=[.:;|])\s", prose):
            if re.search(r"first (run|use)|once after", sentence) and "compil" in sentence:
                said[named(page), sentence] = re.findall(
                    r"\d+ s\b|half a minute|minutes?", sentence
                )
    told = [number for numbers in said.values() for number in numbers]
    assert len(told) >= 3
    assert set(told) == {seconds}, said


def test_the_page_of_deployment_has_the_numbers_that_were_measured():
    found = json.loads((ROOT / "benchmarks/results/service.json").read_text())["results"]
    questions, page = found["questions"], (ROOT / "docs/how-to/deploy.md").read_text()
    cells = re.findall(r"^\| .* \| ([\d.]+ (?:s|ms|MiB)) \|$", page, re.MULTILINE)
    assert cells == [
        f"{questions['seconds']:.1f} s",
        f"{1e3 * questions['median']:.1f} ms",
        f"{1e3 * questions['99 of 100']:.1f} ms",
        f"{1e3 * found['rows']['seconds']:.0f} ms",
        f"{questions['MiB']:.0f} MiB",
    ]
