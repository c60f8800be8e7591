"""Constants that are nearly alike: classes of them, type by type; and rules that nearly are.

Classes only say where to jump; evidence of low Boolean rank changes what is asked about. Constants
that formulas name have no class, nor have those for which copies of a rule have weights of their
own.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._simd.bits import Matrix
from orbitmc._util.arrays import Floats, row_classes, snap
from orbitmc.errors import LimitError
from orbitmc.graph.model import Model
from orbitmc.mln.data.database import TRUE, Database, Facts, Ints, Universe
from orbitmc.mln.grounding.atoms import Atoms
from orbitmc.mln.grounding.folding import shape_of
from orbitmc.mln.grounding.grounding import AtomTables, Ground
from orbitmc.mln.language.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Formula,
    Predicate,
    Program,
    Rule,
    Variable,
    parts_of,
    with_parts,
)
from orbitmc.mln.symmetry.classes import Classes, Relation, fixed_constants, relations, rows_of
from orbitmc.symmetry.approximations import require_clusters
from orbitmc.symmetry.boolean_rank import factorise, factorise_links
from orbitmc.symmetry.clustering import cluster_means, clusters_of_numbers, clusters_of_vectors
from orbitmc.symmetry.color_passing import cells


def classes_by_evidence(ground: Ground, clusters: int = 6) -> Classes:
    """Cluster the constants of each type by what is known about them (Venugopal & Gogate 2014).

    They are compared by how many atoms of each relation they are known to be in, by the same of
    those they are related to, on average, and by how many groundings of each rule, still
    undecided, speak of them; all of it brought to one scale.
    """
    require_clusters(clusters)
    known = list(relations(ground))
    counts = {kind: _counts(known, kind, size) for kind, size in ground.universe.sizes.items()}
    undecided = _undecided_counts(ground)
    classes = {}
    for kind, free in free_constants(ground).items():
        traits = np.hstack([counts[kind], *_neighbour_means(known, kind, counts), undecided[kind]])
        classes[kind] = np.full(len(free), -1)
        classes[kind][free] = clusters_of_vectors(_standardise(traits[free]), clusters)
    return classes


def classes_by_messages(ground: Ground, model: Model, *, rounds: int = 1) -> Classes:
    """Put constants into one class when their atoms are alike after so many rounds of messages.

    Lifted network construction, stopped early (Singla, Nath & Domingos 2014): atoms pass colours
    as in `colours.cells`; constants of a class then have as many atoms of every colour, predicate
    and place, beside the same named constants. Few different weights let more atoms be alike.
    """
    colour = cells(model, rounds=rounds)
    free = free_constants(ground)
    words = {kind: np.zeros(len(mark), dtype=np.uint64) for kind, mark in free.items()}
    rng = np.random.default_rng(0)  # random words tell sums of different things apart
    for atoms in ground.atoms.values():
        variable = atoms.first + np.arange(atoms.variables)
        rows = rows_of(ground, atoms, atoms.variable_codes())
        kinds, exclusive = atoms.predicate.types, atoms.predicate.exclusive
        named = [
            np.where(free[kind][column], -1, column)
            for kind, column in zip(kinds, rows.T, strict=True)
        ]
        for place, kind in enumerate(kinds):
            if not exclusive[place]:
                beside = [column for other, column in enumerate(named) if other != place]
                keys = np.stack([colour[variable], *beside], axis=1)
                _, which = np.unique(keys, axis=0, return_inverse=True)
                random_words = rng.integers(2**64, size=len(variable), dtype=np.uint64)
                np.add.at(words[kind], rows[:, place], random_words[which.reshape(-1)])
    classes = {kind: np.full(len(mark), -1) for kind, mark in free.items()}
    for kind, mark in free.items():
        classes[kind][mark] = np.unique(words[kind][mark], return_inverse=True)[1]
    return classes


def cluster_rule_weights(ground: Ground, clusters: int = 6) -> Floats:
    """Weights in which the copies of every rule have at most so many different ones.

    Rules that differ only in the constants of their atoms count as copies of one. The clusters are
    optimal; each weight becomes the mean of its cluster. Hard rules stay hard.
    """
    require_clusters(clusters)
    shapes: dict[Formula, int] = {}
    numbers = [shapes.setdefault(shape_of(r.formula), len(shapes)) for r in ground.program.rules]
    shape = np.repeat(numbers, np.diff(ground.first_weight))
    weights = ground.weights.copy()
    for number in range(len(shapes)):
        copies = np.flatnonzero((shape == number) & np.isfinite(weights))
        if len(copies):
            labels = clusters_of_numbers(weights[copies], clusters)
            means = cluster_means(weights[copies, None], labels, int(labels.max()) + 1)
            weights[copies] = means[labels, 0]
    return weights


def free_constants(ground: Ground) -> dict[str, np.ndarray]:
    """For each type, which constants no formula names, and no copy of a rule has its weight for."""
    marks = fixed_constants(ground.program, ground.universe)
    for number, rule in enumerate(ground.program.rules):
        copies = ground.weights[ground.first_weight[number] : ground.first_weight[number + 1]]
        if len(np.unique(copies)) > 1:
            for name in rule.per_constant:
                marks[rule.types[name]][:] = True
    return {kind: ~mark for kind, mark in marks.items()}


def _counts(known: list[Relation], kind: str, size: int) -> Floats:
    """How often each constant of a type stands at each place of each relation, by truth.

    Atoms that say a constant twice count apart; soft evidence is added up.
    """
    columns: list[Floats] = [np.zeros(size)]
    for relation in known:
        rows = relation.arguments
        again = (rows[:, :1] == rows).all(axis=1) & relation.is_among_equals
        for place in np.flatnonzero([argument_kind == kind for argument_kind in relation.kinds]):
            column = rows[:, place]
            for truth in np.unique(relation.truth):
                for mark in (again, ~again):
                    chosen = column[mark & (relation.truth == truth)]
                    columns.append(np.bincount(chosen, minlength=size).astype(np.float64))
            columns.append(np.bincount(column, relation.log_odds, size).astype(np.float64))
    return np.stack(columns, axis=1)


def _neighbour_means(
    known: list[Relation], kind: str, counts: dict[str, Floats]
) -> Iterator[Floats]:
    """Averages over those to whom constants of a type are related."""
    for relation in known:
        if len(relation.kinds) != 2:
            continue
        for place in (0, 1):
            if relation.kinds[place] == kind:
                partner = counts[relation.kinds[1 - place]]
                here, there = relation.arguments[:, place], relation.arguments[:, 1 - place]
                shape = (len(counts[kind]), len(partner))
                joined = csr_array((np.ones(len(here)), (here, there)), shape=shape)
                totals = joined.sum(axis=1)
                yield (joined @ partner) / np.maximum(totals, 1.0)[:, None]


def _undecided_counts(ground: Ground) -> dict[str, Floats]:
    """How often undecided groundings of each rule speak of each constant, by type."""
    rules, variables = len(ground.program.rules), len(ground.cardinality)
    read = csr_array((variables, rules))  # how often the groundings of a rule read a variable
    for part in ground.features:
        rule = np.searchsorted(ground.first_weight, part.weight, side="right") - 1
        places = np.repeat(rule, part.scope.shape[1])
        entries = (np.ones(len(places)), (part.scope.reshape(-1), places))
        read = read + csr_array(entries, shape=read.shape)
    counts = {}
    for kind, size in ground.universe.sizes.items():
        speak = csr_array((size, variables))
        for atoms in ground.atoms.values():
            rows = rows_of(ground, atoms, atoms.variable_codes())
            arguments = zip(atoms.predicate.types, atoms.predicate.exclusive, strict=True)
            for place, (other, exclusive) in enumerate(arguments):
                if other == kind and not exclusive:
                    variable = atoms.first + np.arange(atoms.variables)
                    entries = (np.ones(len(variable)), (rows[:, place], variable))
                    speak = speak + csr_array(entries, shape=speak.shape)
        counts[kind] = (speak @ read).toarray()
    return counts


def _standardise(vectors: Floats) -> Floats:
    """Mean zero and spread one in every column that has any, turned into few dimensions."""
    deviation = vectors.std(axis=0) if len(vectors) else np.zeros(1)
    varied = deviation > 1e-12
    if not varied.any():
        return np.zeros((len(vectors), 1))
    scaled: Floats = (vectors - vectors.mean(axis=0))[:, varied] / deviation[varied]
    first, which = row_classes(snap(scaled))
    if scaled.shape[1] > len(scaled):  # distances stay the same
        left, lengths, _ = np.linalg.svd(scaled, full_matrices=False)
        scaled = left * lengths
    return scaled[first][which]  # equal rows stay equal, whatever rounding did


# Relations as a few rectangles: evidence of low Boolean rank, and constants it cannot tell apart.
#
# A relation between constants is a matrix of truth values. Covered by a few rectangles it becomes
# knowledge about single constants, in which rectangles they are (Van den Broeck & Darwiche 2013).
# What is known of a constant and itself is knowledge about a single one already, and is kept.

MOST_MATRIX_ENTRIES = 2**28  # of a relation as a matrix of bytes


def classes_by_boolean_rank(ground: Ground, rank: int = 5, *, clusters: int = 6) -> Classes:
    """Put constants into one class when evidence of that Boolean rank cannot tell them apart.

    What is known of single constants counts too, with soft evidence in clusters. Relations of
    three or more constants are not looked at.
    """
    require_clusters(clusters)
    free = free_constants(ground)
    columns = {kind: [np.where(mark, 0, 1)] for kind, mark in free.items()}
    for relation in relations(ground):
        if len(relation.kinds) == 1:
            labels = columns[relation.kinds[0]]
            labels.append(_labels(relation, relation.arguments[:, 0], len(labels[0]), clusters))
        elif len(relation.kinds) == 2:
            for kind, column in _signatures(ground, relation, rank):
                columns[kind].append(column)
    return {
        kind: np.where(mark, row_classes(np.stack(columns[kind], axis=1))[1], -1)
        for kind, mark in free.items()
    }


def related_pairs(name: str, shape: tuple[int, int], pairs: Ints) -> Matrix:
    """Pairs of constants, a row each, as a matrix."""
    if shape[0] * shape[1] > MOST_MATRIX_ENTRIES:
        raise LimitError(
            f"{name} has {shape[0] * shape[1]:,} pairs, too many for a matrix; its "
            "Boolean rank cannot be lowered"
        )
    related = np.zeros(shape, dtype=np.bool_)
    related[pairs[:, 0], pairs[:, 1]] = True
    return related


def _labels(relation: Relation, constant: Ints, size: int, clusters: int) -> Ints:
    """What is known of single constants; -1 where nothing is."""
    soft = clusters_of_numbers(relation.log_odds, clusters)
    labels = np.full(size, -1)
    labels[constant] = relation.truth.astype(np.int64) * clusters + soft
    return labels


def _signatures(ground: Ground, relation: Relation, rank: int) -> Iterator[tuple[str, Ints]]:
    """In which rectangles each constant is, and how it stands to itself."""
    cover = factorise_links if relation.is_among_equals else factorise
    shape = (ground.universe.size(relation.kinds[0]), ground.universe.size(relation.kinds[1]))
    for truth in np.unique(relation.truth):
        matrix = related_pairs(relation.name, shape, relation.arguments[relation.truth == truth])
        rectangles = cover(matrix, rank)
        for kind, sides in zip(relation.kinds, (rectangles.rows, rectangles.columns), strict=True):
            yield kind, row_classes(sides.astype(np.int64))[1]
    if relation.is_among_equals and len(relation.truth):
        first, second = relation.arguments.T
        alone = first == second
        itself = np.full(ground.universe.size(relation.kinds[0]), -1)
        itself[first[alone]] = relation.truth[alone]
        yield relation.kinds[0], itself


# Evidence of low Boolean rank in the place of what is known: another, more symmetric program.


def approximate_evidence(tables: AtomTables, *, rank: int = 5, clusters: int = 6) -> Database:
    """Evidence of low Boolean rank on pairs, soft evidence in clusters (Van den Broeck & Darwiche).

    What is known of pairs of different constants becomes `rank` rectangles for each predicate and
    each thing that is known; a pair in rectangles of two things is as if nothing was said of it.
    Rank 0 leaves pairs as they are. The soft evidence on a predicate becomes the means of so many
    `clusters`, which are optimal. All else stays.
    """
    require_clusters(clusters)
    facts = {}
    for name, atoms in tables.atoms.items():
        log_odds = _cluster(_log_odds(atoms, *tables.soft[name]), clusters)
        evidence = (atoms.known, atoms.truth, log_odds)
        if len(atoms.predicate.types) == 2 and not atoms.in_blocks and rank:
            evidence = _cover_pairs(atoms, tables.universe, evidence, rank)
        if len(evidence[0]):
            facts[name] = _facts(atoms, tables.universe, *evidence)
    return Database(facts, tables.universe.constants)


class CopiedRule(NamedTuple):
    """What copies of a rule have in common: the formula with a variable for its only constant."""

    formula: Formula
    types: tuple[tuple[str, str], ...]
    kind: str


MEMBER = "copy"  # the variable for the constant of a copy


def cluster_copies(program: Program, clusters: int) -> tuple[Program, dict[str, Facts]]:
    """The program with few weights for copies of a rule, one copy for each of many constants.

    Copies with weights in a cluster become one rule with their mean, about the members of a new
    predicate; its facts come with the program. Then constants in the same clusters can be
    exchanged. Hard rules, and copies that name several constants, stay as they are.
    """
    require_clusters(clusters)
    copies: dict[CopiedRule, list[tuple[int, str]]] = {}
    for number, rule in enumerate(program.rules):
        if (copy := _copied_rule(rule, program)) is not None:
            copies.setdefault(copy[0], []).append((number, copy[1]))
    predicates, facts = dict(program.predicates), dict[str, Facts]()
    rules: list[Rule | None] = list(program.rules)
    for copied, members in copies.items():
        names = [name for _, name in members]
        if len(set(names)) < max(2, len(names)):
            continue
        weights = np.array([program.rules[number].weight for number, _ in members])
        labels = clusters_of_numbers(weights, clusters)
        means = cluster_means(weights[:, None], labels, int(labels.max()) + 1)[:, 0]
        for label, mean in enumerate(means.tolist()):
            inside = [members[place] for place in np.flatnonzero(labels == label).tolist()]
            title = f"Copies{len(facts) + 1}"
            while title in predicates:
                title += "x"
            predicates[title] = Predicate(title, (copied.kind,), (False,), closed=True)
            constants = tuple(name for _, name in inside)
            true = np.full(len(inside), TRUE, np.int8)
            facts[title] = Facts((constants,), true, np.zeros(len(inside)))
            for number, _ in inside[1:]:
                rules[number] = None
            first = inside[0][0]
            rules[first] = replace(
                program.rules[first],
                formula=And((Atom(title, (Variable(MEMBER),)), copied.formula)),
                weight=mean,
                types=dict(copied.types) | {MEMBER: copied.kind},
            )
    fewer = tuple(rule for rule in rules if rule is not None)
    return replace(program, predicates=predicates, rules=fewer), facts


def _copied_rule(rule: Rule, program: Program) -> tuple[CopiedRule, str] | None:
    """A rule about one named constant, and that constant; None of others."""
    if rule.weight is None or not np.isfinite(rule.weight) or rule.per_constant:
        return None
    named: set[tuple[str, str]] = set()
    for part in parts_of(rule.formula):
        if isinstance(part, Comparison):
            if isinstance(part.left, Constant) or isinstance(part.right, Constant):
                return None
            continue
        kinds = program.predicates[part.predicate].types
        for term, kind in zip(part.arguments, kinds, strict=True):
            if isinstance(term, Constant):
                named.add((term.name, kind))
    if len(named) != 1:
        return None
    ((name, kind),) = named
    return CopiedRule(_with_member(rule.formula), tuple(sorted(rule.types.items())), kind), name


def _with_member(formula: Formula) -> Formula:
    if isinstance(formula, Atom):
        terms = (Variable(MEMBER) if isinstance(t, Constant) else t for t in formula.arguments)
        return replace(formula, arguments=tuple(terms))
    return with_parts(formula, _with_member)


Evidence = tuple[Ints, NDArray[np.int8], Floats]
"""Codes of atoms, their truth, and what is added to the log-odds of unknown ones."""


def _log_odds(atoms: Atoms, codes: Ints, log_odds: Floats) -> Floats:
    """Soft evidence on all atoms of which something is known."""
    every = np.zeros(len(atoms.known))
    every[np.searchsorted(atoms.known, codes)] = log_odds
    return every


def _cluster(log_odds: Floats, clusters: int) -> Floats:
    """The mean of its cluster for each atom with soft evidence."""
    soft = np.flatnonzero(log_odds)
    if not len(soft):
        return log_odds
    labels = clusters_of_numbers(log_odds[soft], clusters)
    means = cluster_means(log_odds[soft, None], labels, int(labels.max()) + 1)
    clustered = log_odds.copy()
    clustered[soft] = means[labels, 0]
    return clustered


def _cover_pairs(atoms: Atoms, universe: Universe, evidence: Evidence, rank: int) -> Evidence:
    """Put rectangles in the place of pairs; what is known of a constant and itself stays."""
    codes, truth, log_odds = evidence
    kinds, name = atoms.predicate.types, atoms.predicate.name
    shape = (universe.size(kinds[0]), universe.size(kinds[1]))
    pairs = np.stack(atoms.arguments(codes, universe), axis=1)
    alone = (pairs[:, 0] == pairs[:, 1]) & (kinds[0] == kinds[1])
    unusual = ~alone & ((truth != atoms.default) | (log_odds != 0))
    things, thing = np.unique(
        np.stack([truth, log_odds], axis=1)[unusual], axis=0, return_inverse=True
    )
    times, which = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    cover = factorise_links if kinds[0] == kinds[1] else factorise
    for number in range(len(things)):
        covered = cover(
            related_pairs(name, shape, pairs[unusual][thing.reshape(-1) == number]), rank
        ).cover()
        if kinds[0] == kinds[1]:
            np.fill_diagonal(covered, val=False)
        times += covered
        which[covered] = number
    first, second = np.nonzero(times == 1)
    known = things[which[first, second]]
    return (
        np.concatenate([codes[alone], atoms.codes([first, second], len(first))]),
        np.concatenate([truth[alone], known[:, 0].astype(np.int8)]),
        np.concatenate([log_odds[alone], known[:, 1]]),
    )


def _facts(
    atoms: Atoms, universe: Universe, codes: Ints, truth: NDArray[np.int8], log_odds: Floats
) -> Facts:
    columns = zip(atoms.predicate.types, atoms.arguments(codes, universe), strict=True)
    names = universe.constants
    words = (tuple(names[kind][number] for number in column.tolist()) for kind, column in columns)
    return Facts(tuple(words), truth, log_odds)


# Atoms that look alike when constants are known by their classes only.


def variable_cells(ground: Ground, classes: Classes) -> Ints:
    """Number variables so that permuting constants within classes joins equal numbers.

    Two variables of a predicate, with as many values, are joined when their constants have the
    same classes, place by place, and are equal to each other at the same places. Constants without
    a class stand for themselves.
    """
    cells_of = np.zeros(len(ground.cardinality), dtype=np.int64)
    offset = 0
    for atoms in ground.atoms.values():
        variables = slice(atoms.first, atoms.first + atoms.variables)
        traits = [ground.cardinality[variables], *_traits(ground, atoms, classes)]
        first, cells = row_classes(np.stack(traits, axis=1))
        cells_of[variables] = offset + cells
        offset += len(first)
    return cells_of


def _traits(ground: Ground, atoms: Atoms, classes: Classes) -> Iterator[Ints]:
    """The classes of the constants of each variable, and which of them are equal."""
    columns = atoms.arguments(atoms.variable_codes(), ground.universe)
    kinds = atoms.predicate.types
    for place, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
        size = ground.universe.size(kind)
        class_of = classes.get(kind, np.full(size, -1))
        yield np.where(class_of < 0, -1 - np.arange(size), class_of)[column]
        for other in range(place):
            if kinds[other] == kind:
                yield (columns[other] == column).astype(np.int64)
