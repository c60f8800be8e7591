"""What hard rules make of a predicate: an equivalence relation, an order, a matching, a forest.

Rules that speak of one binary predicate only, for all constants and with at most three variables,
hold of a relation if and only if they hold of its restrictions to three elements. So they are known
by their meaning, however they are written: all relations on few elements are listed, and those that
satisfy the rules are compared with those of each kind.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orbitmc.mln.grounding.rewriting import (
    conjuncts,
    drop_forall,
    negation_normal,
    quantified_names,
)
from orbitmc.mln.language.syntax import (
    And,
    Atom,
    Comparison,
    Count,
    Exist,
    Formula,
    Not,
    Or,
    Predicate,
    Program,
    Rule,
    Truth,
    Variable,
    atoms_of,
    free_variables,
    parts,
    parts_of,
    variables,
)

Kind = Literal[
    "equivalence",
    "partial equivalence",
    "total order",
    "strict total order",
    "forest",
    "partial matching",
    "matching of all first",
    "matching of all second",
    "perfect matching",
    "symmetric",
]
ORDERS: frozenset[Kind] = frozenset({"total order", "strict total order"})
MATCHINGS: Mapping[Kind, tuple[bool, bool]] = {
    "partial matching": (False, False),
    "matching of all first": (True, False),
    "matching of all second": (False, True),
    "perfect matching": (True, True),
}
"""Matchings of two sorts, and whether everything of each is matched."""

Flags = NDArray[np.bool_]
Size = tuple[int, int]
Law = Callable[[Flags], Any]

MOST_VARIABLES = 3  # of a rule: more need relations on more elements, and there are 65,536 on four
ONE_SORT: tuple[Size, ...] = ((1, 1), (2, 2), (3, 3))
TWO_SORTS: tuple[Size, ...] = ((1, 1), (1, 2), (2, 1))


@dataclass(frozen=True)
class Relation:
    """A predicate that hard rules make a relation of some kind; `rules` are the numbers of these.

    The rules of a forest are those of the relation "is an ancestor of".
    """

    predicate: str
    kind: Kind
    rules: tuple[int, ...]


def recognise_relations(program: Program) -> tuple[Relation, ...]:
    r"""Which predicates hard rules make relations of a kind; other rules may say more of them.

    >>> from orbitmc.mln.language.parser import parse
    >>> rules = "Same(x,x).\n Same(x,y) ^ Same(x,z) => Same(y,z).\n"
    >>> recognise_relations(parse("Same(thing, thing)\n" + rules))
    (Relation(predicate='Same', kind='equivalence', rules=(0, 1)),)
    """
    by_predicate: dict[str, list[int]] = {}
    for number, rule in enumerate(program.rules):
        predicate = _only_predicate(rule, program)
        if predicate is not None:
            by_predicate.setdefault(predicate.name, []).append(number)
    every = (
        _recognise(program.predicates[name], numbers, program)
        for name, numbers in by_predicate.items()
    )
    return tuple(relation for relation in every if relation is not None)


def _only_predicate(rule: Rule, program: Program) -> Predicate | None:
    """The binary predicate that a hard rule speaks of; None if it says anything else, too."""
    if rule.weight != np.inf or rule.per_constant:
        return None
    names = {atom.predicate for atom in atoms_of(rule.formula)}
    predicate = program.predicates[names.pop()] if len(names) == 1 else None
    if predicate is None or len(predicate.types) != 2 or predicate.is_block:
        return None
    if predicate.name in {*program.functions.values(), *program.fuzzy}:
        return None
    return predicate if _is_plain(rule, predicate) else None


def _is_plain(rule: Rule, predicate: Predicate) -> bool:
    """Whether a rule compares variables for equality at most."""
    for part in parts_of(rule.formula):
        terms = part.arguments if isinstance(part, Atom) else (part.left, part.right)
        if not all(isinstance(term, Variable) for term in terms):
            return False
        if isinstance(part, Comparison):
            sorts = {rule.types[name] for term in terms for name in variables(term)}
            if part.operator not in ("=", "!=") or len(sorts) > 1:
                return False
    used = {*free_variables(rule.formula), *quantified_names(rule.formula)}
    return {rule.types[name] for name in used} <= {*predicate.types} and not _counts(rule.formula)


def _counts(formula: Formula) -> bool:
    return isinstance(formula, Count) or any(map(_counts, parts(formula)))


def _recognise(predicate: Predicate, numbers: list[int], program: Program) -> Relation | None:
    """The kind with the fewest relations whose own rules are among those given."""
    same_sort = predicate.types[0] == predicate.types[1]
    sizes = ONE_SORT if same_sort else TWO_SORTS
    every = {n: _models(program.rules[n], predicate, sizes) for n in numbers}
    universal = {n: models for n, models in every.items() if models is not None}
    for kind, wanted in _kinds(same_sort).items():
        rules = [n for n, models in universal.items() if _all_within(wanted, models)]
        if rules and _all_within(_conjunction(universal[n] for n in rules), wanted):
            if kind == "partial matching" and not same_sort:
                return _complete_matching(predicate, rules, numbers, program)
            return Relation(predicate.name, kind, tuple(rules))
    return None


Models = tuple[Flags, ...]
"""For each size, which of all relations satisfy something."""


def _all_within(models: Models, others: Models) -> bool:
    return all(bool((other | ~one).all()) for one, other in zip(models, others, strict=True))


def _conjunction(every: Iterable[Models]) -> Models:
    return tuple(np.logical_and.reduce(column) for column in zip(*every, strict=True))


def _models(rule: Rule, predicate: Predicate, sizes: Sequence[Size]) -> Models | None:
    """Which relations of each size satisfy a rule; None if three elements do not decide that.

    A conjunction holds where its parts do, and each of these has variables of its own.
    """
    every = [_models_of(part, rule, predicate, sizes) for part in _conjuncts(rule)]
    known = [models for models in every if models is not None]
    return _conjunction(known) if len(known) == len(every) else None


def _conjuncts(rule: Rule) -> list[Formula]:
    return conjuncts(drop_forall(negation_normal(rule.formula)))


def _models_of(
    formula: Formula, rule: Rule, predicate: Predicate, sizes: Sequence[Size]
) -> Models | None:
    names = free_variables(formula)
    if len(names) > MOST_VARIABLES or any(True for _ in quantified_names(formula)):
        return None
    place = [int(rule.types[name] == predicate.types[1]) for name in names]
    return tuple(_satisfied(formula, names, [size[p] for p in place], size) for size in sizes)


def _satisfied(
    formula: Formula, names: Sequence[str], elements: Sequence[int], size: Size
) -> Flags:
    """Which relations satisfy a formula, whatever elements its variables stand for."""
    related = all_relations(size)
    holds = np.ones(len(related), dtype=np.bool_)
    for chosen in itertools.product(*map(range, elements)):
        holds &= _truth(formula, dict(zip(names, chosen, strict=True)), related)
    return holds


@cache
def all_relations(size: Size) -> Flags:
    """Every relation between so many elements and so many: `related[number, first, second]`."""
    cells = size[0] * size[1]
    bits = np.arange(2**cells)[:, None] >> np.arange(cells) & 1
    return bits.astype(np.bool_).reshape(-1, *size)


def _truth(formula: Formula, bound: Mapping[str, int], related: Flags) -> Any:
    """Whether a formula without quantifiers holds in each relation."""
    match formula:
        case Atom(_, (Variable(first), Variable(second))):
            return related[:, bound[first], bound[second]]
        case Comparison(_, Variable(first), Variable(second)):
            return bound[first] == bound[second]  # "!=" is a negation by now
        case Truth(holds):
            return holds
        case Not(body):
            return np.logical_not(_truth(body, bound, related))
        case And(found):
            return np.logical_and.reduce(
                np.broadcast_arrays(*(_truth(part, bound, related) for part in found))
            )
        case Or(found):
            return np.logical_or.reduce(
                np.broadcast_arrays(*(_truth(part, bound, related) for part in found))
            )
    raise TypeError(f"not in negation normal form: {formula}")


# The kinds, each by the laws of which it is made.


def _reflexive(r: Flags) -> Any:
    return np.einsum("nii->ni", r).all(axis=1)


def _irreflexive(r: Flags) -> Any:
    return ~np.einsum("nii->ni", r).any(axis=1)


def _symmetric(r: Flags) -> Any:
    return (r == r.swapaxes(1, 2)).all(axis=(1, 2))


def _transitive(r: Flags) -> Any:
    two_steps = (r[:, :, :, None] & r[:, None, :, :]).any(axis=2)
    return (r | ~two_steps).all(axis=(1, 2))


def _total(r: Flags) -> Any:
    return (r | r.swapaxes(1, 2) | np.eye(r.shape[1], dtype=np.bool_)).all(axis=(1, 2))


def _antisymmetric(r: Flags) -> Any:
    both = r & r.swapaxes(1, 2)
    return ~(both & ~np.eye(r.shape[1], dtype=np.bool_)).any(axis=(1, 2))


def _one_chain_upwards(r: Flags) -> Any:
    """Of two ancestors of something, one is the other or an ancestor of it."""
    comparable = r | r.swapaxes(1, 2) | np.eye(r.shape[1], dtype=np.bool_)
    both = r[:, :, None, :] & r[:, None, :, :]  # [number, ancestor, ancestor, of what]
    return (comparable[:, :, :, None] | ~both).all(axis=(1, 2, 3))


def _at_most_one_second(r: Flags) -> Any:
    return (r.sum(axis=2) <= 1).all(axis=1)


def _at_most_one_first(r: Flags) -> Any:
    return (r.sum(axis=1) <= 1).all(axis=1)


MATCHING: Mapping[Kind, tuple[Law, ...]] = {
    "partial matching": (_at_most_one_second, _at_most_one_first)
}
KINDS: Mapping[Kind, tuple[Law, ...]] = {
    "equivalence": (_reflexive, _symmetric, _transitive),
    "total order": (_reflexive, _total, _antisymmetric, _transitive),
    "strict total order": (_irreflexive, _total, _antisymmetric, _transitive),
    "partial equivalence": (_symmetric, _transitive),
    "forest": (_irreflexive, _transitive, _one_chain_upwards),
    **MATCHING,
    "symmetric": (_symmetric,),
}
"""The laws of each kind, from few relations to many."""


@cache
def _kinds(same_sort: bool) -> dict[Kind, Models]:
    kinds, sizes = (KINDS, ONE_SORT) if same_sort else (MATCHING, TWO_SORTS)
    return {
        kind: tuple(
            np.logical_and.reduce([law(all_relations(size)) for law in laws]) for size in sizes
        )
        for kind, laws in kinds.items()
    }


# Matchings of two sorts that leave nobody out: that somebody exists is no matter of three elements.


def _complete_matching(
    predicate: Predicate, rules: list[int], numbers: list[int], program: Program
) -> Relation:
    """The kind of a matching, by what rules say of partners that exist."""
    first = [n for n in numbers if _says_that_exists(program.rules[n], predicate, bound=1)]
    second = [n for n in numbers if _says_that_exists(program.rules[n], predicate, bound=0)]
    kind: Kind = "partial matching"
    if first or second:
        kind = "matching of all first" if first else "matching of all second"
    if first and second:
        kind = "perfect matching"
    return Relation(predicate.name, kind, tuple(sorted({*rules, *first, *second})))


def _says_that_exists(rule: Rule, predicate: Predicate, *, bound: int) -> bool:
    """Whether a rule means that everything of one sort has a partner of the other, the bound one.

    Under one EXIST the atom of both variables is all that can be said of two sorts, so one pair
    of elements decides.
    """
    formula = drop_forall(negation_normal(rule.formula))
    if not isinstance(formula, Exist) or len(formula.variables) != 1:
        return False
    (partner,) = formula.variables
    others = [name for name in free_variables(formula) if name != partner]
    if len(others) != 1 or any(True for _ in quantified_names(formula.body)):
        return False
    if rule.types[partner] != predicate.types[bound]:
        return False
    means = _truth(formula.body, {partner: 0, others[0]: 0}, all_relations((1, 1)))
    return bool((means == all_relations((1, 1))[:, 0, 0]).all())
