"""WebKB: pages of computer science departments, their words, their links, and what they are.

A page may be of several classes: every student is also a person. Pages of no class are the ones
that the collection calls "other".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import short_repr
from orbitmc._util.text import suggestion
from orbitmc.errors import InputError
from orbitmc.mln.data.database import TRUE, Database, Facts, Ints
from orbitmc.mln.data.reader import read_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import Program

CLASSES = ("Course", "Department", "Faculty", "Person", "Researchproject", "Staff", "Student")
FOLDS = {"cornell": 1, "texas": 2, "washington": 3, "wisconsin": 4}

DECLARATIONS = """
Has(word, page)
Linkto(page, page)
Pageclass(page, class)
"""
OTHERS = """
Hasanchor(word, link)
Departmentof(page, page)
Instructorsof(page, page)
Membersofproject(page, page)
"""
RULES = """
Pageclass(p, +c)
Has(+w, p) => Pageclass(p, +c)
Pageclass(p1, +c1) ^ Linkto(p1, p2) => Pageclass(p2, +c2)
"""

Pages = Literal["labelled", "all"]


@dataclass(frozen=True)
class WebKB:
    """Pages with the words they have (`has[page, word]`), their classes, and links among them.

    `links` has a row for each link, from one page number to another, no link twice.
    """

    pages: tuple[str, ...]
    words: tuple[str, ...]
    has: NDArray[np.bool_]
    classes: NDArray[np.bool_]
    links: Ints

    def __repr__(self) -> str:
        return short_repr(self)

    def evidence(self) -> Database:
        """Words and links, and names of all pages."""
        page, word = np.nonzero(self.has)
        one, other = self.links.T
        facts = {
            "Has": _facts((self.words, word), (self.pages, page)),
            "Linkto": _facts((self.pages, one), (self.pages, other)),
        }
        return Database(facts, {"page": self.pages})

    def everything(self) -> Database:
        """Words, links and classes, to learn from."""
        page, number = np.nonzero(self.classes)
        known = self.evidence()
        facts = {**known.facts, "Pageclass": _facts((self.pages, page), (CLASSES, number))}
        return replace(known, facts=facts)


def read_webkb(folder: str | Path, fold: int | str, *, pages: Pages = "labelled") -> WebKB:
    r"""Read one fold, by its number or its university, from `webkb-fold1.db`, packed or not.

    Pages without a class are left out unless `all` are wanted.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> facts = "Pageclass(A, Course)\nPageclass(B, Student)\nHas(Exam, A)\nLinkto(B, A)\n"
    >>> _ = (folder / "webkb-fold1.db").write_text(facts)
    >>> read_webkb(folder, 1).pages
    ('A', 'B')
    """
    if pages not in ("labelled", "all"):
        raise InputError(f"pages are 'labelled' or 'all', not {pages!r}")
    program = parse(DECLARATIONS + OTHERS, source="webkb", learning=True)
    facts = read_database(_file(Path(folder), fold), program).facts
    labelled = dict.fromkeys(facts["Pageclass"].columns[0])
    names = tuple(_all_pages(facts) if pages == "all" else labelled)
    word, page = _among(facts["Has"], None, names)
    words = tuple(dict.fromkeys(word))
    has = np.zeros((len(names), len(words)), dtype=np.bool_)
    has[_numbers(page, names), _numbers(word, words)] = True
    of, label = facts["Pageclass"].columns
    classes = np.zeros((len(names), len(CLASSES)), dtype=np.bool_)
    classes[_numbers(of, names), _numbers(label, CLASSES)] = True
    one, other = _among(facts["Linkto"], names, names)
    links = np.stack([_numbers(one, names), _numbers(other, names)], axis=1)
    return WebKB(names, words, has, classes, links)


def synthetic_webkb(
    pages: int = 60,
    words: int = 40,
    *,
    labelled: float = 0.8,
    words_each: float = 8.0,
    links_each: float = 2.0,
    seed: int = 0,
) -> WebKB:
    """A small look-alike: words hint at classes, and links join pages of related classes.

    The share `labelled` of the pages has a class. Pages have so many words and links on average.

    >>> made = synthetic_webkb(20, 10, seed=1)
    >>> made.has.shape, made.classes.shape
    ((20, 10), (20, 7))
    """
    if pages < 2 or words < 1 or not 0 <= labelled <= 1:
        raise InputError("expected two or more pages, a word, and a share of labelled pages")
    rng = np.random.default_rng(seed)
    own = rng.integers(len(CLASSES), size=pages)
    classes = np.zeros((pages, len(CLASSES)), dtype=np.bool_)
    classes[np.arange(pages), own] = rng.random(pages) < labelled
    person = [CLASSES.index(name) for name in ("Faculty", "Staff", "Student")]
    classes[:, CLASSES.index("Person")] |= classes[:, person].any(axis=1)
    taste = rng.gamma(0.5, size=(len(CLASSES), words))
    chances = np.minimum(taste / taste.mean(axis=1, keepdims=True) * words_each / words, 0.95)
    has = rng.random((pages, words)) < chances[own]
    bond = rng.gamma(0.5, size=(len(CLASSES), len(CLASSES))) + 2 * np.eye(len(CLASSES))
    strength = bond[own][:, own]
    joined = rng.random((pages, pages)) < strength / strength.mean() * links_each / pages
    return WebKB(
        tuple(f"Page{page}" for page in range(pages)),
        tuple(f"Word{word}" for word in range(words)),
        has,
        classes,
        np.argwhere(joined),
    )


def webkb_program(folds: Iterable[WebKB], *, weight: float | None = None) -> Program:
    """Words hint at classes, classes of linked pages go together; one weight for each copy.

    Words and classes are those of all the folds, so that copies are the same for each of them.
    Without a weight, the rules are to be learned.

    >>> len(webkb_program([synthetic_webkb(20, 10)]).rules)
    3
    """
    program = parse(DECLARATIONS + RULES, source="webkb", learning=True)
    words = dict.fromkeys(word for fold in folds for word in fold.words)
    return replace(
        program,
        constants={**program.constants, "word": tuple(words), "class": CLASSES},
        rules=tuple(replace(rule, weight=weight) for rule in program.rules),
    )


def _file(folder: Path, fold: int | str) -> Path:
    number = FOLDS.get(str(fold).lower(), fold)
    for name in (f"webkb-fold{number}.db.gz", f"webkb-fold{number}.db"):
        if (folder / name).exists():
            return folder / name
    hint = suggestion(str(fold), FOLDS) if isinstance(fold, str) else ""
    raise InputError(f"{folder} has no webkb-fold{number}.db, packed or not{hint}")


def _all_pages(facts: Mapping[str, Facts]) -> dict[str, None]:
    """Every page that has a class, a word or a link, in this order."""
    columns = [
        facts["Pageclass"].columns[0],
        facts["Has"].columns[1],
        *facts["Linkto"].columns,
    ]
    return dict.fromkeys(page for column in columns for page in column)


def _among(
    facts: Facts, first: tuple[str, ...] | None, second: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """The two columns of a relation, as far as it is about given names."""
    ours, theirs = set(first or facts.columns[0]), set(second)
    pairs = [
        (one, other)
        for one, other in zip(*facts.columns, strict=True)
        if one in ours and other in theirs
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _numbers(found: Iterable[str], names: tuple[str, ...]) -> Ints:
    number = {name: place for place, name in enumerate(names)}
    strangers = [name for name in found if name not in number]
    if strangers:
        raise InputError(f"there is no class {strangers[0]!r}{suggestion(strangers[0], names)}")
    return np.array([number[name] for name in found], dtype=np.int64)


def _facts(*columns: tuple[tuple[str, ...], Ints]) -> Facts:
    rows = len(columns[0][1])
    return Facts(
        tuple(tuple(names[number] for number in column.tolist()) for names, column in columns),
        np.full(rows, TRUE, dtype=np.int8),
        np.zeros(rows),
    )
