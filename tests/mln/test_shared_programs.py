"""Programs and databases that people have published are read as they stand."""

import re
from pathlib import Path

import pytest

from orbitmc._util.text import read_text
from orbitmc.errors import ManyInputError
from orbitmc.mln.data.reader import read_database
from orbitmc.mln.language.parser import parse, read_program
from orbitmc.mln.language.syntax import Program
from tests.shared_data import shared

# Rules and predicates, counted by hand or told by the files' own descriptions.
PROGRAMS = {
    "mln-alchemy-small/exdata-isaproperty.mln": (2, 3),
    "mln-alchemy-small/exdata-protein.mln": (5, 7),
    "mln-alchemy-small/exdata-testmln1.mln": (1, 2),
    "mln-alchemy-small/exdata-testmln7.mln": (4, 6),
    "mln-alchemy-small/exdata-testmln8.mln": (5, 8),
    "mln-alchemy-small/tutorial/binomial.mln": (1, 1),
    "mln-alchemy-small/tutorial/marketing.mln": (3, 3),
    "mln-alchemy-small/tutorial/traffic.mln": (3, 3),
    "mln-alchemy-small/tutorial/voting.mln": (17, 17),
    "mln-alchemy-small/tutorial/cfg.mln": (27, 9),
    "mln-alchemy-small/tutorial/alarm.mln": (752, 37),
    "mln-cora-class/prog.mln": (15, 4),
    "mln-cora-class/rc1000-prog.mln": (15, 4),
    "mln-imdb/formulas.mln": (4, 6),
    "mln-imdb/learned-todtler-fold1.mln": (75, 5),
    "mln-smokers/alchemy-smoking.mln": (2, 3),
    "mln-smokers/forclift-smoking-out.mln": (7, 3),
    "mln-smokers/tuffy-smoke-prog.mln": (3, 3),
    "mln-uwcse/todtler/uwcse.mln": (0, 11),
    "mln-uwcse/todtler/uwcse-output.mln": (11, 11),
    "mln-uwcse/tuffy/prog.mln": (94, 22),
    "webkb-forclift/webkb.mln": (20, 7),
    "webkb/alchemy-exdata-webkb.mln": (3, 3),
    "webkb/hypertext-class.mln": (2, 3),
    "webkb/webkb-declarations.mln": (0, 7),
}
TUFFY = ("mln-cora-class", "tuffy")
WRONG = "mln-alchemy-small/exdata-univ.mln"


def read(path: Path) -> Program:
    dialect = "tuffy" if any(word in str(path) for word in TUFFY) else "alchemy"
    return read_program(path, dialect=dialect, learning=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = read(shared(name))
    assert (len(program.rules), len(program.predicates)) == PROGRAMS[name]


def test_no_program_is_left_out():
    folder = shared("README.md").parent
    paths = [path for path in folder.glob("*/**/*.mln") if path != folder / WRONG]
    assert len(paths) > len(PROGRAMS)
    for path in paths:
        read(path)


def test_the_program_with_a_mistake():
    with pytest.raises(ManyInputError) as caught:
        read_program(shared(WRONG))
    assert [(error.line, error.column) for error in caught.value.errors] == [(27, 8), (27, 27)]


@pytest.mark.parametrize(
    ("fold", "has", "links"), [(1, 61097, 1886), (2, 50617, 1942), (3, 73198, 2803)]
)
def test_web_pages(fold, has, links):
    declarations = shared("webkb/webkb-declarations.mln").read_text()
    program = parse(declarations.replace("Link(", "Linkto("))
    database = read_database(shared(f"webkb/webkb-fold{fold}.db.gz"), program)
    assert len(database.facts["Has"].truth) == has
    assert len(database.facts["Linkto"].truth) == links
    assert database.warnings == ()
    with pytest.raises(ManyInputError, match="did you mean 'Link'"):
        read_database(shared(f"webkb/webkb-fold{fold}.db.gz"), parse(declarations))


@pytest.mark.parametrize(
    ("program", "database", "counts"),
    [
        (
            "mln-cora-class/prog.mln",
            "mln-cora-class/evidence.db.gz",
            {"wrote": 16956, "refers": 6018, "category": 59700, "sameCat": 10},
        ),
        ("mln-cora-class/rc1000-prog.mln", "mln-cora-class/rc1000-evidence.db", None),
        ("mln-uwcse/tuffy/prog.mln", "mln-uwcse/tuffy/evidence.db", None),
        ("mln-imdb/formulas.mln", "mln-imdb/imdb_fold3.db", None),
        (
            "mln-smokers/alchemy-smoking.mln",
            "mln-smokers/alchemy-smoking-train.db",
            {"Friends": 16, "Smokes": 4, "Cancer": 2},
        ),
        ("mln-smokers/alchemy-smoking.mln", "mln-smokers/alchemy-smoking-test.db", None),
        ("mln-smokers/tuffy-smoke-prog.mln", "mln-smokers/tuffy-smoke-evidence.db", None),
        ("mln-alchemy-small/tutorial/alarm.mln", "mln-alchemy-small/tutorial/alarm-test.db", None),
        (
            "mln-alchemy-small/tutorial/voting.mln",
            "mln-alchemy-small/tutorial/voting-train.db",
            None,
        ),
        ("mln-uwcse/todtler/uwcse.mln", "mln-uwcse/todtler/uwcse-fold1.db", {"Advisedby": 35}),
    ],
)
def test_databases(program, database, counts):
    found = read_database(shared(database), read(shared(program)))
    lines = read_text(shared(database)).content.splitlines()
    stripped = {line.replace(" ", "") for line in lines} - {""}
    assert sum(len(facts.truth) for facts in found.facts.values()) == len(stripped)
    for name, count in (counts or {}).items():
        assert len(found.facts[name].truth) == count


@pytest.mark.parametrize("folder", ["webkb-forclift", "mln-uwcse/forclift", "mln-imdb"])
def test_databases_without_a_program_of_their_own(folder):
    for path in sorted(shared(folder).glob("*.db")):
        text = path.read_text()
        arities = {
            name: arguments.count(",") + 1
            for name, arguments in re.findall(r"^(\w+)\(([^)]*)\)", text, re.MULTILINE)
        }
        program = parse("\n".join(f"{name}({','.join('t' * n)})" for name, n in arities.items()))
        database = read_database(path, program)
        assert set(database.facts) == set(arities)
