"""Questions in Markov logic: a program, what is known, and which atoms are asked about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from orbitmc import lifted
from orbitmc._util.loading import HtmlRepr
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError, InputError
from orbitmc.estimate.marginals import (
    Columns,
    Marginals,
    certain_columns,
    concatenate_columns,
)
from orbitmc.estimate.verdicts import OBSERVED
from orbitmc.graph.model import Model
from orbitmc.inference._marginals import marginals
from orbitmc.inference.query import Names
from orbitmc.inference.settings import Options, Settings, accepts_settings
from orbitmc.mln import symmetry
from orbitmc.mln.data.database import TRUE, UNKNOWN, Database, Ints, merge_databases, universe
from orbitmc.mln.data.reader import parse_database, read_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import (
    MOST_GROUNDINGS,
    AtomTables,
    Ground,
    Watch,
    World,
    atom_tables,
    ground,
    related_atoms,
)
from orbitmc.mln.grounding.queries import (
    Pattern,
    QueryAtoms,
    predicates_by_name,
    query_atoms,
    query_lines,
    read_conjunctions,
    read_query,
)
from orbitmc.mln.grounding.relations import (
    MATCHINGS,
    ORDERS,
    Relation,
    recognise_relations,
)
from orbitmc.mln.grounding.remarks import (
    asked_though_closed,
    closed_by_few,
    contradicting_rules,
    describe_contradiction,
    describe_weight_semantics,
)
from orbitmc.mln.grounding.rewriting import (
    meanings_differ,
    remove_degrees,
    remove_empty_types,
    split_into_clauses,
)
from orbitmc.mln.language.parser import read_program
from orbitmc.mln.language.projects import ProjectQuestion, is_project, project_question
from orbitmc.mln.language.scanner import Dialect
from orbitmc.mln.language.syntax import Program
from orbitmc.mln.learning.proportional_fitting import fit_constraint_weights
from orbitmc.sampling.run import RunObserver

Meaning = Literal["formula", "alchemy"]
TRUTH = ("true",)
MOST_RULE_GROUNDINGS = 30_000  # of a relation: elimination affords none with more
LARGEST: dict[str, int] = {
    **dict.fromkeys((*ORDERS, "forest"), 1_024),
    **dict.fromkeys(MATCHINGS, 4_096),
}  # constants of relations that are drawn
EQUIVALENCES = {"equivalence", "partial equivalence"}
DRAWN = {*EQUIVALENCES, "symmetric", *LARGEST}
MOST_OPEN_ITEMS, ALMOST_ALL = 12, 0.9  # elimination of all pairs has a width of n²/4: too much
MANY_ATOMS = 100_000  # of a program whose cells are sampled, if it cannot be counted
GROUND_AT_ONCE = 10_000  # unknown atoms: a program with more may be counted instead
CLAUSAL = ("alchemy", "lomrf")  # dialects whose tools divide weights among clauses


@dataclass(frozen=True)
class ProgramSource:
    """A program, what is known, and what is open: all that grounding or counting needs.

    `affordable` remembers whether elimination was, by the memory and the seconds that it had. The
    rules of `relations` are not ground.
    """

    program: Program
    known: Database
    world: World
    max_groundings: int = MOST_GROUNDINGS
    memory: int = MEMORY
    watch: Watch | None = None
    affordable: dict[tuple[int, float | None], bool] = field(default_factory=dict, repr=False)
    relations: tuple[Relation, ...] = ()

    @cached_property
    def ground(self) -> Ground:
        """The program on its constants."""
        return ground(
            self.program,
            self.known,
            self.world,
            max_groundings=self.max_groundings,
            memory=self.memory,
            watch=self.watch,
            relations=self.relations,
        )

    @cached_property
    def recognised(self) -> tuple[Relation, ...]:
        """Predicates that hard rules make equivalence relations, orders, matchings or forests."""
        return recognise_relations(self.program)

    @cached_property
    def in_relations(self) -> "ProgramSource | None":
        """The same program, relations that can be sampled not ground; None if it has none.

        What evidence decides is no relation to sample.
        """
        relations = [
            relation
            for relation in self.recognised
            if relation.kind in DRAWN
            and self.atoms.atoms[relation.predicate].default == UNKNOWN
            and (relation.kind not in LARGEST or self._size(relation) <= LARGEST[relation.kind])
        ]
        if not any(self._unknown_pairs(each) for each in relations if each.kind != "symmetric"):
            return None
        return replace(self, relations=tuple(relations), affordable={})

    def _size(self, relation: Relation) -> int:
        """How many constants a relation is about, of the larger sort."""
        types = self.program.predicates[relation.predicate].types
        return max(map(self.atoms.universe.size, types))

    def _unknown_pairs(self, relation: Relation) -> int:
        """How many pairs of a relation are neither known nor implied."""
        return related_atoms(relation, self.atoms.atoms, self.atoms.universe).variables

    @cached_property
    def is_too_wide(self) -> bool:
        """Whether rules of a relation are not worth grounding, to eliminate atoms.

        They have too many groundings, or hardly a pair of many items is known: of any two pairs
        that share one, all three are in one clause, or the two exclude each other.
        """
        relations = () if self.in_relations is None else self.in_relations.relations
        return any(map(self._is_too_wide, relations))

    def _is_too_wide(self, relation: Relation) -> bool:
        if relation.kind == "symmetric":
            return False
        types = self.program.predicates[relation.predicate].types
        rows, columns = map(self.atoms.universe.size, types)
        unknown = self._unknown_pairs(relation)
        every = rows * (rows - 1) / 2 if relation.kind in EQUIVALENCES else rows * columns
        return (rows + columns) * unknown > MOST_RULE_GROUNDINGS or (
            min(rows, columns) > MOST_OPEN_ITEMS and unknown > ALMOST_ALL * every
        )

    @cached_property
    def atoms(self) -> AtomTables:
        """The atoms of each predicate and what is known of them; nothing is ground."""
        return atom_tables(self.program, self.known, self.world)

    @cached_property
    def unknown_atoms(self) -> int:
        """How many variables a ground program has."""
        return sum(atoms.variables for atoms in self.atoms.atoms.values())

    @cached_property
    def lifting(self) -> lifted.Lifting | str:
        """How to count, or why that cannot be done."""
        try:
            return lifted.lift(self.program, self.atoms)
        except lifted.NotLiftableError as refusal:
            return str(refusal)

    @cached_property
    def cells(self) -> lifted.CellChain | str:
        """How to sample cells of constants, or why that cannot be done."""
        try:
            return lifted.build_cell_chain(self.program, self.atoms)
        except lifted.NotLiftableError as refusal:
            return str(refusal)

    @cached_property
    def prefers_cells(self) -> bool:
        """Whether a program has so many atoms that cells of constants are sampled instead."""
        return self.unknown_atoms > MANY_ATOMS and not isinstance(self.cells, str)


@dataclass(frozen=True, repr=False)
class MarkovLogic(HtmlRepr):
    """A program, and the atoms that were asked about.

    `model` is what is sampled; `in_atoms` says its marginals in terms of the atoms. A query may
    ask about `conjunctions` of atoms, too; without a query, nothing is `named`. A large program
    that can be counted is not ground before somebody needs its model. Answers repeat `doubts` as
    warnings.
    """

    source: ProgramSource
    patterns: tuple[Pattern, ...]
    remarks: tuple[str, ...] = field(default=())
    conjunctions: tuple[tuple[Pattern, ...], ...] = field(default=())
    named: bool = False
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say how large the program is when it is grounded."""
        if not self.is_ground:
            return f"MarkovLogic({self.source.unknown_atoms:,} unknown atoms, not ground yet)"
        return f"MarkovLogic({len(self.asked.names):,} atoms asked about, {self.model})"

    @property
    def is_ground(self) -> bool:
        """Whether the groundings are there already."""
        return "ground" in vars(self.source)

    @property
    def ground(self) -> Ground:
        """The program on its constants."""
        return self.source.ground

    @property
    def prefers_cells(self) -> bool:
        """Whether cells of constants are sampled, because there are too many atoms."""
        return not self.is_ground and not self.conjunctions and self.source.prefers_cells

    @cached_property
    def in_relations(self) -> "MarkovLogic | None":
        """The same program, relations in it not ground: for those who sample these only.

        None if there are none.
        """
        source = self.source.in_relations
        return None if source is None else replace(self, source=source)

    @cached_property
    def model(self) -> Model:
        return replace(model_of(self.ground), doubts=self.doubts)

    @cached_property
    def asked(self) -> QueryAtoms:
        return query_atoms(self.ground, self.patterns)

    @accepts_settings
    def marginals(
        self,
        settings: Settings | None = None,
        *,
        query: Names | None = None,
        watchers: Iterable[RunObserver] = (),
        **options: Unpack[Options],
    ) -> Marginals:
        """How probable each atom is; a query may ask about others than the program was read for."""
        return marginals(self, query=query, settings=settings, watchers=watchers, **options)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the model that say whether the atoms are true."""
        unknown = self.asked.variable[self.asked.variable >= 0].tolist()
        return tuple(self.model.names[variable] for variable in dict.fromkeys(unknown))

    def asking(self, query: Names | None) -> "MarkovLogic":
        """The same program, asked about other atoms."""
        if query is None:
            return self
        text = query if isinstance(query, str) else ";".join(query)
        program = self.source.program
        return replace(
            self,
            patterns=read_query(text, program),
            conjunctions=read_conjunctions(text, program),
            named=True,
        )

    def atoms_in(self, query: Names) -> Sequence[str]:
        """The atoms that a query means, known or not."""
        return self.asking(query).asked.names

    def knowing(self, *evidence: str) -> "MarkovLogic":
        """The same program with more evidence, lines of a database: `!Smokes(Anna)`, `0.3 P(A)`.

        What was unknown before stays unknown, unless a line says otherwise.

        >>> import orbitmc as om
        >>> program = om.read_logic("examples/smokers.mln", "examples/smokers.db")
        >>> round(program.knowing("!Cancer(Anna)").marginals()["Cancer(Bob)"]["true"], 3)
        0.119
        """
        if not evidence:
            return self
        source = self.source
        unknown = {name for name, atoms in source.atoms.atoms.items() if atoms.variables}
        more = [parse_database(text, source.program, source="evidence") for text in evidence]
        world = replace(source.world, opened=source.world.opened | unknown)
        known = merge_databases([source.known, *more])
        return self._with_source(replace(source, known=known, world=world, affordable={}))

    def over_symmetric(self, *, clusters: int = 6, rank: int = 5) -> "MarkovLogic":
        """The program with evidence that tells few constants apart: another, more symmetric model.

        Evidence on pairs of constants becomes so many rectangles (Boolean rank) for each predicate,
        soft evidence the means of `clusters`, and so do weights of rules that are copies for one
        constant each; rank 0 leaves pairs as they are. Where few classes of constants are left,
        answers are counted; elsewhere their cells can be sampled. All of them are biased, and their
        first warning says so.

        >>> import orbitmc as om
        >>> program = om.read_logic("examples/smokers.mln", "examples/smokers.db")
        >>> answer = program.over_symmetric(rank=1).marginals(query="Cancer(Bob)")
        >>> print(answer.about.warnings[0].partition(":")[0])
        this answers an approximation of the program, not the program
        """
        source, tables = self.source, self.source.atoms.atoms
        plain = {name: atoms for name, atoms in tables.items() if not atoms.in_blocks}
        opened = frozenset(name for name, atoms in plain.items() if atoms.default == UNKNOWN)
        known = symmetry.approximate_evidence(source.atoms, rank=rank, clusters=clusters)
        rules, members = symmetry.cluster_copies(source.program, clusters)
        closed = (frozenset(plain) - opened) | frozenset(members)
        world = replace(source.world, opened=opened, closed=closed)
        known = replace(known, facts={**known.facts, **members})
        pairs = f"evidence on pairs of Boolean rank {rank}, " if rank else ""
        doubt = (
            "this answers an approximation of the program, not the program: "
            f"{pairs}soft evidence {'and copies of rules ' if members else ''}in {clusters} "
            f"{'cluster' if clusters == 1 else 'clusters'}"
        )
        after = self._with_source(
            replace(source, program=rules, known=known, world=world, affordable={})
        )
        return replace(after, doubts=(*self.doubts, doubt))

    def _with_source(self, source: ProgramSource) -> "MarkovLogic":
        """The same questions about another source; small programs are ground, and not counted."""
        if self.is_ground:
            _ = source.ground
        return replace(self, source=source)

    def explain(self, error: ContradictionError) -> ContradictionError:
        """Say a contradiction in terms of the program's formulas, where they are to blame."""
        rules = contradicting_rules(self.ground)
        return ContradictionError(describe_contradiction(rules)) if rules else error

    def in_atoms(self, marginals: Marginals) -> Marginals:
        """The probabilities of the atoms, from those of the model's variables."""
        columns, asked = marginals.columns, self.asked
        unknown, known = np.flatnonzero(asked.variable >= 0), np.flatnonzero(asked.variable < 0)
        places = self._places(columns, asked.variable[unknown])
        sampled = columns.of_values(_names(asked, unknown), places, asked.value[unknown], TRUTH)
        if not len(known):
            return replace(marginals, columns=sampled)
        holds = (asked.status[known] == TRUE).astype(float)
        decided = certain_columns(_names(asked, known), [TRUTH] * len(known), holds, OBSERVED)
        order = np.argsort(np.concatenate([unknown, known]))
        return replace(marginals, columns=concatenate_columns([sampled, decided]).take(order))

    def _places(self, columns: Columns, variables: Ints) -> Ints:
        """Where the model's variables stand in an answer; mostly in the model's own order."""
        names = self.model.names
        if columns.names is names:
            return variables
        return np.array([columns.index[names[variable]] for variable in variables], dtype=np.int64)


def read_logic(
    program: str | Path | Sequence[str | Path],
    databases: str | Path | Sequence[str | Path] = (),
    *,
    query: str | None = None,
    query_file: str | Path | None = None,
    evidence: Iterable[str] = (),
    opened: Iterable[str] = (),
    closed: Iterable[str] = (),
    dialect: Dialect = "alchemy",
    meaning: Meaning = "formula",
    unweighted: float | None = None,
    max_groundings: int = MOST_GROUNDINGS,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> MarkovLogic:
    """Read a program and databases, and ground them for a query such as `Smokes,Friends(Anna,x)`.

    Without a query, all atoms that are not known are asked about; a `query_file` has one atom or
    predicate in each line. `evidence` may add atoms as text. `meaning` says what a weight counts
    for: the whole formula, or its clauses as in Alchemy. `opened` and `closed` name predicates
    whose unlisted atoms are unknown or false. Formulas without weights are refused unless
    `unweighted` says what they weigh. A project of pracmln (.pracmln) asks what it asked last,
    unless another database or query is given. `watch` is told about the progress of grounding.

    >>> import orbitmc as om
    >>> asked = om.read_logic("examples/smokers.mln", "examples/smokers.db", query="Smokes(Bob)")
    >>> list(asked.marginals(method="exact"))
    ['Smokes(Bob)']
    """
    files = [databases] if isinstance(databases, str | Path) else list(databases)
    texts = list(evidence)
    asked = (
        None
        if query is None and query_file is None
        else _combine_queries(query, query_file, memory)
    )
    project = _project(program, memory)
    if project is not None:
        files = files if files or texts else list(project.databases)
        asked = project.query if asked is None else asked
    spoken = read_program(
        program if project is None else project.programs,
        dialect=dialect if project is None else "pracmln",
        unweighted=unweighted,
        memory=memory,
        marked=project is not None and project.marked,
    )
    pieces = [read_database(path, spoken, memory=memory) for path in files]
    pieces += [parse_database(text, spoken, source="evidence") for text in texts]
    logic = ground_program(
        spoken,
        merge_databases(pieces),
        query=asked,
        opened=opened,
        closed=closed if project is None else [*closed, *project.closed(spoken, asked)],
        meaning=meaning,
        max_groundings=max_groundings,
        memory=memory,
        watch=watch,
    )
    return logic if project is None else replace(logic, remarks=(project.remark, *logic.remarks))


def _project(program: str | Path | Sequence[str | Path], memory: int) -> ProjectQuestion | None:
    if isinstance(program, str | Path) and is_project(program):
        return project_question(program, memory=memory)
    return None


def _combine_queries(query: str | None, file: str | Path | None, memory: int) -> str:
    """What is asked in words and in a file, together."""
    pieces = [] if query is None else [query]
    return ";".join(pieces if file is None else [*pieces, *query_lines(file, memory=memory)])


def ground_program(
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
    world = World(asked, predicates_by_name(opened, program), predicates_by_name(closed, program))
    remarks = [*program.warnings, *known.warnings, *closed_by_few(program, known, world)]
    remarks += asked_though_closed(world)
    declared = program.predicates.keys()
    program, type_remarks = remove_empty_types(program, known, asked or frozenset())
    remarks += type_remarks
    program, known = remove_degrees(program, known)
    gone = declared - program.predicates.keys()
    world = replace(world, opened=world.opened - gone, closed=world.closed - gone)
    fit = fit_constraint_weights(program, known, world, memory)
    program, remarks = fit.program, [*remarks, *fit.remarks]
    differing = [rule.place for rule in program.rules if meanings_differ(rule)]
    if program.dialect not in CLAUSAL:
        differing = []
    if differing:
        remarks.append(describe_weight_semantics(meaning, str(differing[0]), len(differing)))
    elif meaning == "alchemy":
        remarks.append("weights count for clauses, as in Alchemy; that makes no difference here")
    if meaning == "alchemy":
        program = split_into_clauses(program, universe(program, [known]))
    source = ProgramSource(program, known, world, max_groundings, memory, watch)
    can_wait = _can_wait(source)
    if source.unknown_atoms > GROUND_AT_ONCE and not can_wait:
        which = "all rules but those of relations" if source.is_too_wide else "all rules"
        remarks.append(f"{which} are ground, because counting cannot answer: {source.lifting}")
    if not can_wait and not source.is_too_wide:
        _ = source.ground  # what cannot be ground is refused while it is read
    joined = read_conjunctions(query, program) if query is not None else ()
    asked_about = patterns or _unknown_patterns(source)
    return MarkovLogic(source, asked_about, tuple(remarks), joined, query is not None)


def _can_wait(source: ProgramSource) -> bool:
    """Whether a program is large and can be lifted: perhaps nobody needs its groundings."""
    large = source.unknown_atoms > GROUND_AT_ONCE
    return large and (not isinstance(source.lifting, str) or source.prefers_cells)


def _unknown_patterns(source: ProgramSource) -> tuple[Pattern, ...]:
    tables = source.atoms.atoms
    patterns = tuple(Pattern(name, None) for name, atoms in tables.items() if atoms.variables)
    if not tables:
        raise InputError("the program declares no predicate: nothing can be asked about")
    if not patterns:
        raise InputError("evidence decides every atom: nothing is left to ask about")
    return patterns


def _names(asked: QueryAtoms, atoms: Ints) -> list[str]:
    return [asked.names[atom] for atom in atoms]
