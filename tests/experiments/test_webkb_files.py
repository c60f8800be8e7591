"""WebKB: the shared folds as documented, and a look-alike of the same shape."""

import gzip

import numpy as np
import pytest

from experiments.webkb_files import CLASSES, read_webkb, synthetic_webkb, webkb_program
from orbitmc.errors import InputError
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from tests.shared_data import shared

ASKED = World(query=frozenset({"Pageclass"}))

# From the README of the data: pages, words, Has, links; labelled pages and links among them;
# pages of each class.
MEASURED = {
    "cornell": (905, 766, 61097, 1886, 272, 752, 518, (44, 32, 34, 183, 20, 21, 128)),
    "texas": (826, 765, 50617, 1942, 289, 739, 487, (38, 40, 46, 197, 18, 3, 148)),
    "washington": (1292, 768, 73198, 2803, 285, 746, 669, (77, 31, 31, 167, 21, 10, 126)),
}


@pytest.mark.parametrize("university", MEASURED)
def test_folds_are_as_measured(university):
    folder = shared("webkb")
    pages, words, has, links, labelled, common, among, classes = MEASURED[university]
    whole = read_webkb(folder, university, pages="all")
    assert (len(whole.pages), len(whole.words), whole.has.sum()) == (pages, words, has)
    assert len(whole.links) == links
    part = read_webkb(folder, university)
    assert (len(part.pages), len(part.words), len(part.links)) == (labelled, common, among)
    assert part.classes.sum(axis=0).tolist() == list(classes)
    assert whole.classes.sum() == part.classes.sum()


def test_three_folds_have_the_documented_number_of_rules():
    folder = shared("webkb")
    folds = [read_webkb(folder, number, pages="all") for number in (1, 2, 3)]
    program = webkb_program(folds, weight=0.1)
    words = len(program.constants["word"])
    found = ground(program, folds[0].evidence(), ASKED)
    assert len(found.weights) == 7 * words + 7 * 7 + 7
    assert len(found.cardinality) == 7 * 905


def test_a_file_with_all_its_traps(tmp_path):
    lines = [
        "Has(Exam, Page1)",
        "Has(Exam, Page2)",
        "Has(Paper, Page3)",
        "Linkto(Page1, Page2)",
        "Linkto(Page1, Page2)",
        "Linkto(Page2, Page2)",
        "Linkto(Page1, Page3)",
        "Pageclass(Page1, Student)",
        "Pageclass(Page1, Person)",
        "Pageclass(Page2, Course)",
        "Hasanchor(Exam, G1)",
    ]
    with gzip.open(tmp_path / "webkb-fold4.db.gz", "wt") as file:
        file.write("\n".join(lines))
    found = read_webkb(tmp_path, "Wisconsin")
    assert found.pages == ("Page1", "Page2")
    assert found.words == ("Exam",)
    assert found.links.tolist() == [[0, 1], [1, 1]]
    assert [CLASSES[k] for k in np.flatnonzero(found.classes[0])] == ["Person", "Student"]
    whole = read_webkb(tmp_path, 4, pages="all")
    assert set(whole.pages) == {"Page1", "Page2", "Page3"}
    assert len(whole.links) == 3
    with pytest.raises(InputError, match="has no webkb-fold1"):
        read_webkb(tmp_path, "cornell")
    with pytest.raises(InputError, match="labelled"):
        read_webkb(tmp_path, 4, pages="some")


def test_a_look_alike_has_the_same_shape():
    found = synthetic_webkb(30, 20, seed=3)
    again = synthetic_webkb(30, 20, seed=3)
    assert np.array_equal(found.has, again.has)
    assert not np.array_equal(found.has, synthetic_webkb(30, 20, seed=4).has)
    person = found.classes[:, CLASSES.index("Person")]
    for name in ("Faculty", "Staff", "Student"):
        assert (person >= found.classes[:, CLASSES.index(name)]).all()
    program = webkb_program([found], weight=0.2)
    model = model_of(ground(program, found.evidence(), ASKED))
    assert model.graph.variables == 30 * 7
    known = found.everything()
    assert len(known.facts["Pageclass"].truth) == found.classes.sum()
