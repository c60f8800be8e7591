"""Which variable a name means: quantifiers bind names, and no two bind the same one."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from orbitmc.logic.language.syntax import And, Atom, Exist, Forall, Formula, Not, Or, Term
from orbitmc.logic.language.trees import Tree

NAMES = ("name", "application", "per_constant")


@dataclass
class Scope:
    """Names that one quantifier binds, or all free names.

    `links` define the names of functions' values, `values` finds them by function and arguments.
    """

    depth: int = 0
    outer: "Scope | None" = None
    names: dict[str, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    links: dict[Atom, str] = field(default_factory=dict)
    values: dict[tuple[str, tuple[Term, ...]], str] = field(default_factory=dict)

    def holder(self, name: str) -> "Scope":
        """Give the scope that a name belongs to: the innermost that binds it, or the outermost."""
        if name in self.names or self.outer is None:
            return self
        return self.outer.holder(name)

    def outermost(self) -> "Scope":
        return self if self.outer is None else self.outer.outermost()

    def close(self, body: Formula, quantifier: str) -> Formula:
        """Bind what the body uses. Where a function has no value, it says nothing."""
        names = (*self.used, *self.links.values())
        links = tuple(self.links)
        if quantifier == "EXIST":
            return Exist(names, And((*links, body)) if links else body) if names else body
        negated = tuple(map(Not, links))
        rest = body.parts if isinstance(body, Or) else (body,)
        body = Or((*negated, *rest)) if links else body
        return Forall(names, body) if names and self.outer else body


def free_names(tree: Tree) -> Iterator[str]:
    """Give all names that stand for terms or atoms outside the quantifiers that bind them."""
    waiting: list[tuple[Tree, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        found, bound = waiting.pop()
        parts = found.parts
        if found.kind == "quantified":
            *named, body = parts
            bound, parts = bound | {name.word for name in named}, (body,)
        elif found.kind in NAMES and found.word not in bound:
            yield found.word
        waiting += [(part, bound) for part in parts]
