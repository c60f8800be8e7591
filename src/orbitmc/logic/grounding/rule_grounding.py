"""Ground one rule: bindings in, features out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from orbitmc.errors import ContradictionError
from orbitmc.logic.databases.database import FALSE, TRUE, UNKNOWN
from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding import patterns
from orbitmc.logic.grounding.atoms import Atoms, meeting
from orbitmc.logic.grounding.bindings import Tables, bindings
from orbitmc.logic.grounding.expansion import guards, negation_normal, without_quantifiers
from orbitmc.logic.grounding.features import Features
from orbitmc.logic.grounding.folding import COPY, Template
from orbitmc.logic.grounding.term_numbers import NOBODY, BoundTerms
from orbitmc.logic.language.syntax import (
    Arithmetic,
    Comparison,
    Formula,
    Term,
    Variable,
    atoms_of,
    free_variables,
    parts_of,
    variables,
)
from orbitmc.logic.rewriting.counts import conjuncts

CHUNK = 2**20  # atoms at a time


class RuleGrounder:
    """Plans the grounding of a rule, so that its size is known before it is done."""

    def __init__(
        self,
        template: Template,
        universe: Universe,
        atoms: Mapping[str, Atoms],
        cardinality: Ints,
        tables: Tables,
    ) -> None:
        rule = template.rule
        self.rule, self.universe, self.atoms = rule, universe, atoms
        self.members = template.members
        self.cardinality = cardinality
        self.is_hard = rule.weight == np.inf
        self.formula = without_quantifiers(rule.formula, rule.types, universe)
        listed = template.constants
        self.sizes = {
            name: universe.size(rule.types[name]) if name != COPY else len(self.members)
            for name in dict.fromkeys((*free_variables(rule.formula), *rule.per_constant))
            if name not in listed
        }
        plans = [
            (side, bindings(guards(rule.formula, side), self.sizes, tables, listed))
            for side in ((True,) if self.is_hard else (True, False))
        ]
        self.pruned_is, self.bindings = min(plans, key=lambda plan: plan[1].count)
        whole = negation_normal(self.formula)
        self.clause = patterns.literals(whole)
        self.conjuncts = conjuncts(whole) if self.is_hard and self.clause is None else []
        read = whole if len(self.conjuncts) > 1 else self.formula
        self.parts: list[patterns.Part] = list(dict.fromkeys(parts_of(read)))
        if self.clause is not None:
            self.parts = [part for part, _ in self.clause[0]]
        self.width = len(self.parts)  # how many atoms a grounding has

    def ground(self) -> tuple[list[Features], Ints]:
        """Make all groundings: features, and for each copy how many are true already."""
        features: list[Features] = []
        copies = math.prod(self.sizes[name] for name in self.rule.per_constant)
        true = np.zeros(copies, dtype=np.int64)
        seen = np.zeros(copies, dtype=np.int64)
        for bound, rows in self.bindings.chunks(max(1, CHUNK // max(1, self.width))):
            columns = self._columns(bound, rows)
            seen += np.bincount(columns.weight, minlength=copies)
            for piece in self._features(columns):
                if not isinstance(piece, patterns.Decided):
                    features.append(piece)
                elif piece.holds:
                    true += np.bincount(piece.weight, minlength=copies)
                elif self.is_hard and len(piece.weight):
                    raise self._contradiction(piece.weight)
        if self.pruned_is and not self._has_arithmetic:
            true += math.prod(self.sizes.values()) // copies - seen
        return features, true

    def _contradiction(self, copies: Ints) -> ContradictionError:
        """Say which formula evidence contradicts, the first if it is several."""
        first = self.members[copies.min() if len(self.members) > 1 else 0]
        count = (copies == copies.min()).sum() if len(self.members) > 1 else len(copies)
        return ContradictionError(
            f"{first.place}: evidence contradicts {count} groundings of this hard formula"
        )

    def _features(self, columns: patterns.Columns) -> Iterator[Features | patterns.Decided]:
        if len(self.conjuncts) > 1:
            return self._each_conjunct(columns)
        return self._features_of(columns, self.formula, self.clause, self.parts)

    def _features_of(
        self,
        columns: patterns.Columns,
        formula: Formula,
        clause: patterns.Clause | None,
        parts: Sequence[patterns.Part],
    ) -> Iterator[Features | patterns.Decided]:
        pairs = meeting(parts, self.atoms)
        if clause is None:
            return patterns.table_features(columns, patterns.formula_truth(formula, parts), pairs)
        signs = [sign for _, sign in clause[0]]
        return patterns.clause_features(columns, signs, clause[1], pairs)

    def _each_conjunct(self, columns: patterns.Columns) -> Iterator[Features | patterns.Decided]:
        """Features of a hard formula that is a conjunction: each part must hold by itself."""
        place = {part: number for number, part in enumerate(self.parts)}
        for formula in self.conjuncts:
            clause = patterns.literals(formula)
            used = list(dict.fromkeys(parts_of(formula)))
            if clause is not None:
                used = [part for part, _ in clause[0]]
            own = columns.of([place[part] for part in used])
            yield from self._features_of(own, formula, clause, used)

    def _columns(self, bound: Mapping[str, Ints], rows: int) -> patterns.Columns:
        terms = BoundTerms(self.universe, self.rule.types, bound, rows)
        # Column after column in memory, as they are written and mostly read.
        status = np.full((self.width, rows), FALSE, dtype=np.int8).T
        variable, value, size = (np.zeros((self.width, rows), np.int64).T for _ in range(3))
        kept = np.ones(rows, dtype=bool)
        for column, part in enumerate(self.parts):
            if isinstance(part, Comparison):
                status[:, column] = np.where(terms.holds(part), TRUE, FALSE)
                continue
            own = self.atoms[part.predicate]
            pairs = zip(part.arguments, own.predicate.types, strict=True)
            arguments = [terms.numbers(term, kind) for term, kind in pairs]
            moves = any(_moves(term) for term in part.arguments)
            exists = np.ones(rows, dtype=bool)
            for term, numbers in zip(part.arguments, arguments, strict=True):
                if not isinstance(term, Variable):
                    exists &= numbers != NOBODY
            if moves:
                kept &= exists
            codes = own.codes([np.maximum(number, 0) for number in arguments], rows)
            found = np.where(exists, own.status(codes), FALSE)
            status[:, column] = found
            unknown: Any = found == UNKNOWN
            if unknown.all():
                unknown = slice(None)
            variable[unknown, column], value[unknown, column] = own.literals(codes[unknown])
            size[unknown, column] = self.cardinality[variable[unknown, column]]
        weight = np.zeros(rows, dtype=np.int64)
        for name in self.rule.per_constant:
            weight = weight * self.sizes[name] + bound[name]
        columns = patterns.Columns(status, variable, value, size, weight)
        return columns if kept.all() else columns.take(kept)

    @cached_property
    def _has_arithmetic(self) -> bool:
        return any(_moves(term) for atom in atoms_of(self.formula) for term in atom.arguments)


def _moves(term: Term) -> bool:
    """Whether a term is computed from variables, so that it may have no result."""
    return isinstance(term, Arithmetic) and any(True for _ in variables(term))
