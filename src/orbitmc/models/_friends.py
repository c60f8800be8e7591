"""Friends and smokers: smoking makes ill, and friends have the same habits."""

from dataclasses import replace

import numpy as np

from orbitmc.errors import InputError
from orbitmc.mln.data.database import FALSE, TRUE, Database, Facts, Ints
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import Program

PROGRAM = """
Friends(person, person)
Smokes(person)
Cancer(person)

1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) => (Smokes(x) <=> Smokes(y))
"""


def friends_program(*, cancer: float = 1.5, influence: float = 1.1) -> Program:
    """Who smokes may get cancer, and friends smoke or do not smoke together."""
    program = parse(PROGRAM, source="friends and smokers")
    weights = (cancer, influence)
    rules = [replace(rule, weight=w) for rule, w in zip(program.rules, weights, strict=True)]
    return replace(program, rules=tuple(rules))


def friends(
    people: int,
    *,
    open_world: bool = True,
    friendships: float = 0.0,
    smokers: float = 0.0,
    cancer: float = 1.5,
    influence: float = 1.1,
    seed: int = 0,
) -> tuple[Program, Database]:
    """A program, and what is known of so many people: P0, P1 and so on.

    Friendships are mutual; everybody has `friendships` known ones on average. In an open world
    others are possible, in a closed one they are not. The share `smokers` of the people is known
    to smoke or not, by a fair coin. The same seed knows the same.

    >>> program, known = friends(3, friendships=1.0, smokers=1.0, seed=1)
    >>> sorted(program.predicates), known.constants["person"]
    (['Cancer', 'Friends', 'Smokes'], ('P0', 'P1', 'P2'))
    """
    _require(people, friendships, smokers)
    program = friends_program(cancer=cancer, influence=influence)
    predicates = dict(program.predicates)
    predicates["Friends"] = replace(predicates["Friends"], closed=not open_world)
    predicates["Smokes"] = replace(predicates["Smokes"], closed=False)
    rng = np.random.default_rng(seed)
    names = tuple(f"P{person}" for person in range(people))
    first, second = _mutual(people, friendships, rng)
    people_asked = np.flatnonzero(rng.random(people) < smokers)
    facts = {
        "Friends": _facts(names, [first, second], np.full(len(first), TRUE)),
        "Smokes": _facts(names, [people_asked], rng.choice([FALSE, TRUE], len(people_asked))),
    }
    known = {name: some for name, some in facts.items() if len(some.truth)}
    return replace(program, predicates=predicates), Database(known, {"person": names})


def _require(people: int, friendships: float, smokers: float) -> None:
    if people < 1:
        raise InputError(f"friends need at least one person, got {people}")
    if not 0 <= friendships <= people - 1:
        raise InputError(f"{people} people have 0 to {people - 1} friends each, not {friendships}")
    if not 0 <= smokers <= 1:
        raise InputError(f"a share lies between 0 and 1, got {smokers} for known smokers")


def _mutual(people: int, friendships: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Random pairs of different people, in both directions."""
    pairs = people * (people - 1) // 2
    chosen = np.sort(rng.choice(pairs, min(round(people * friendships / 2), pairs), replace=False))
    # pairs are numbered (0, 1), (0, 2), (1, 2), (0, 3), …: row `second` begins at its triangle
    second = ((1 + np.sqrt(1 + 8 * chosen)) / 2).astype(np.int64)
    first = chosen - second * (second - 1) // 2
    return np.concatenate([first, second]), np.concatenate([second, first])


def _facts(names: tuple[str, ...], columns: list[Ints], truth: Ints) -> Facts:
    words = tuple(tuple(names[person] for person in column) for column in columns)
    return Facts(words, truth.astype(np.int8), np.zeros(len(truth)))
