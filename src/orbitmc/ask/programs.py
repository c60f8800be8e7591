"""Questions in Markov logic: a program, what is known, and which atoms are asked about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from orbitmc.ask.keywords import Options, asks, with_options
from orbitmc.ask.marginals import answered, kept
from orbitmc.ask.method.decisions import decide
from orbitmc.ask.query import Query
from orbitmc.ask.settings import Settings
from orbitmc.errors import ContradictionError, InputError
from orbitmc.estimate.columns import certain, joined
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.verdicts import OBSERVED
from orbitmc.graph.model import Model
from orbitmc.logic.databases.database import TRUE, Database
from orbitmc.logic.databases.evidence import parse_database, read_database
from orbitmc.logic.databases.fact_tables import merged
from orbitmc.logic.databases.query import Pattern, QueryAtoms, query_atoms, read_query
from orbitmc.logic.databases.universe import Ints, universe
from orbitmc.logic.grounding.assembly import model_of
from orbitmc.logic.grounding.clausal_form import meanings_differ, split_into_clauses
from orbitmc.logic.grounding.contradictions import contradicting_rules, in_words
from orbitmc.logic.grounding.grounding import (
    MOST_GROUNDINGS,
    Ground,
    Watch,
    World,
    ground,
    is_closed,
)
from orbitmc.logic.language.parser import read_program
from orbitmc.logic.language.syntax import Dialect, Program, atoms_of
from orbitmc.machine.interrupts import listening
from orbitmc.machine.text import MEMORY
from orbitmc.run.run import Watcher

Meaning = Literal["formula", "alchemy"]
TRUTH = ("true",)


@dataclass(frozen=True)
class MarkovLogic:
    """A ground program, and the atoms that were asked about.

    `model` is what is sampled; `in_atoms` says its marginals in terms of the atoms.
    """

    ground: Ground
    patterns: tuple[Pattern, ...]
    remarks: tuple[str, ...] = field(default=())

    @cached_property
    def model(self) -> Model:
        return model_of(self.ground)

    @cached_property
    def asked(self) -> QueryAtoms:
        return query_atoms(self.ground, self.patterns)

    @asks
    @listening()
    def marginals(
        self,
        settings: Settings | None = None,
        *,
        query: Query | None = None,
        watchers: Iterable[Watcher] = (),
        **options: Unpack[Options],
    ) -> Marginals:
        """How probable each atom is; a query may ask about others than the program was read for."""
        chosen, asked = with_options(settings, options), self.asking(query)
        try:
            with kept(chosen) as keep:
                decision = decide(self.model, chosen)
                return asked.in_atoms(answered(decision, watchers, keep, self.ground))
        except ContradictionError as error:
            raise self.explained(error) from None

    def asking(self, query: Query | None) -> "MarkovLogic":
        """The same program, asked about other atoms."""
        if query is None:
            return self
        text = query if isinstance(query, str) else ";".join(query)
        return replace(self, patterns=read_query(text, self.ground.program))

    def explained(self, error: ContradictionError) -> ContradictionError:
        """Say a contradiction in terms of the program's formulas, where they are to blame."""
        rules = contradicting_rules(self.ground)
        return ContradictionError(in_words(rules)) if rules else error

    def in_atoms(self, found: Marginals) -> Marginals:
        """The probabilities of the atoms, from those of the model's variables."""
        own, asked = found.columns, self.asked
        unknown, known = np.flatnonzero(asked.variable >= 0), np.flatnonzero(asked.variable < 0)
        variables = [own.index[self.model.names[v]] for v in asked.variable[unknown]]
        places = np.array(variables, dtype=np.int64)
        sampled = own.of_values(_names(asked, unknown), places, asked.value[unknown], TRUTH)
        holds = (asked.status[known] == TRUE).astype(float)
        decided = certain(_names(asked, known), [TRUTH] * len(known), holds, OBSERVED)
        order = np.argsort(np.concatenate([unknown, known]))
        return Marginals(joined([sampled, decided]).taken(order), found.about)


def read_logic(
    program: str | Path | Sequence[str | Path],
    databases: str | Path | Sequence[str | Path] = (),
    *,
    query: str | None = None,
    evidence: Iterable[str] = (),
    opened: Iterable[str] = (),
    closed: Iterable[str] = (),
    dialect: Dialect = "alchemy",
    meaning: Meaning = "formula",
    max_groundings: int = MOST_GROUNDINGS,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> MarkovLogic:
    """Read a program and databases, and ground them for a query such as `Smokes,Friends(Anna,x)`.

    Without a query, all atoms that are not known are asked about. `evidence` may add atoms as
    text. `meaning` says what a weight counts for: the whole formula, or its clauses as in
    Alchemy. `opened` and `closed` name predicates whose unlisted atoms are unknown or false.
    `watch` is told about the progress of grounding.

    >>> import orbitmc as om
    >>> asked = om.read_logic("examples/smokers.mln", "examples/smokers.db", query="Smokes(Bob)")
    >>> list(asked.marginals(method="exact"))
    ['Smokes(Bob)']
    """
    spoken = read_program(program, dialect=dialect, memory=memory)
    paths = [databases] if isinstance(databases, str | Path) else databases
    pieces = [read_database(path, spoken, memory=memory) for path in paths]
    pieces += [parse_database(text, spoken, source="evidence") for text in evidence]
    return logic(
        spoken,
        merged(pieces),
        query=query,
        opened=opened,
        closed=closed,
        meaning=meaning,
        max_groundings=max_groundings,
        memory=memory,
        watch=watch,
    )


def logic(
    program: Program,
    known: Database,
    *,
    query: str | None = None,
    opened: Iterable[str] = (),
    closed: Iterable[str] = (),
    meaning: Meaning = "formula",
    max_groundings: int = MOST_GROUNDINGS,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> MarkovLogic:
    """Ground a program for a query."""
    patterns = read_query(query, program) if query is not None else ()
    asked = None if query is None else frozenset(pattern.predicate for pattern in patterns)
    world = World(asked, frozenset(opened), frozenset(closed))
    remarks = [*program.warnings, *known.warnings, *_closed_by_few(program, known, world)]
    differing = [rule.place for rule in program.rules if meanings_differ(rule)]
    if differing:
        remarks.append(_meaning_in_words(meaning, str(differing[0]), len(differing)))
    elif meaning == "alchemy":
        remarks.append("weights count for clauses, as in Alchemy; that makes no difference here")
    if meaning == "alchemy":
        program = split_into_clauses(program, universe(program, [known]))
    found = ground(program, known, world, max_groundings=max_groundings, memory=memory, watch=watch)
    return MarkovLogic(found, patterns or _everything_unknown(found), tuple(remarks))


def _everything_unknown(found: Ground) -> tuple[Pattern, ...]:
    patterns = tuple(Pattern(name, None) for name, atoms in found.atoms.items() if atoms.variables)
    if not found.atoms:
        raise InputError("the program declares no predicate: nothing can be asked about")
    if not patterns:
        raise InputError("evidence decides every atom: nothing is left to ask about")
    return patterns


def _closed_by_few(program: Program, known: Database, world: World) -> Iterable[str]:
    """Predicates that a single atom of evidence has closed, though formulas would infer them."""
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    for name, facts in known.facts.items():
        predicate = program.predicates[name]
        few = len(facts.truth) == 1 and predicate.closed is None and not predicate.is_block
        if few and name in used and is_closed(name, program, known, world):
            yield (
                f"one atom of evidence makes {name} closed: its other atoms are taken as false; "
                f"open it by name if they are unknown"
            )


def _meaning_in_words(meaning: Meaning, place: str, count: int) -> str:
    others = f" and {count - 1} more" if count > 1 else ""
    said = (
        "weights count for whole formulas; in Alchemy they count for clauses"
        if meaning == "formula"
        else "weights are divided among the clauses of a formula, as in Alchemy"
    )
    return f"{place}{others}: {said}, which differs here"


def _names(asked: QueryAtoms, atoms: Ints) -> list[str]:
    return [asked.names[atom] for atom in atoms]
