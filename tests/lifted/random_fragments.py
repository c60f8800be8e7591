"""Random programs of at most two logical variables, as text, with evidence of every kind."""

from dataclasses import dataclass

import numpy as np

MOST_BITS = 17
JOINS = ("^", "v", "=>", "<=>")


@dataclass(frozen=True)
class Written:
    """A program and a database as text, and the predicates that are open."""

    program: str
    database: str
    opened: tuple[str, ...]


class _Writer:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        while True:
            self._declare()
            if self._bits() <= MOST_BITS:
                break

    def _declare(self) -> None:
        rng = self.rng
        kinds = ["p", "q"] if rng.random() < 0.4 else ["p"]
        self.sizes = {kind: int(rng.integers(1, 6 if len(kinds) == 1 else 4)) for kind in kinds}
        self.unary = {
            f"U{k}": (str(rng.choice(kinds)), int(rng.choice([2, 2, 3])))
            for k in range(rng.integers(1, 4))
        }
        self.binary = {
            f"R{k}": (str(rng.choice(kinds)), str(rng.choice(kinds)))
            for k in range(rng.integers(0, 3))
        }
        self.plain = ["Rain"] if rng.random() < 0.25 else []

    def _bits(self) -> float:
        unary = sum(self.sizes[kind] * np.log2(size) for kind, size in self.unary.values())
        pairs = sum(self.sizes[one] * self.sizes[two] for one, two in self.binary.values())
        return float(unary + pairs + len(self.plain))

    def write(self) -> Written:
        lines = [
            f"{kind} = {{{', '.join(f'{kind.upper()}{n}' for n in range(size))}}}"
            for kind, size in self.sizes.items()
        ]
        for name, (kind, size) in self.unary.items():
            if size > 2:
                lines.append(f"v{name} = {{{', '.join(f'V{n}' for n in range(size))}}}")
            lines.append(f"{name}({kind}, v{name}!)" if size > 2 else f"{name}({kind})")
        lines += [f"{name}({one}, {two})" for name, (one, two) in self.binary.items()]
        lines += self.plain
        lines += [self._rule() for _ in range(self.rng.integers(1, 5))]
        opened = [*self.unary, *self.binary, *self.plain]
        closed = {name for name in self.binary if self.rng.random() < 0.15}
        return Written(
            "\n".join(lines) + "\n",
            self._database(),
            tuple(name for name in opened if name not in closed and not self._is_block(name)),
        )

    def _is_block(self, name: str) -> bool:
        return name in self.unary and self.unary[name][1] > 2

    def _rule(self) -> str:
        rng = self.rng
        kinds = list(self.sizes)
        while True:
            variables = {"x": str(rng.choice(kinds))}
            if rng.random() < 0.75:
                variables["y"] = str(rng.choice(kinds))
            terms = dict(variables)
            if len(variables) == 1 and rng.random() < 0.3:
                kind = str(rng.choice(kinds))
                terms[f"{kind.upper()}{rng.integers(self.sizes[kind])}"] = kind
            atoms = self._atoms(terms)
            if not atoms:
                continue
            body = self._grow(atoms, 2)
            if all(f"({name}" in body or f",{name})" in body for name in variables):
                break
        if len(set(variables.values())) == 1 and len(variables) == 2 and rng.random() < 0.3:
            body = f"({body}) v x = y" if rng.random() < 0.5 else f"x != y => ({body})"
        if rng.random() < 0.2:
            return f"{body}."
        return f"{float(rng.normal(scale=1.2))!r} {body}"

    def _atoms(self, terms: dict[str, str]) -> list[str]:
        atoms = list(self.plain)
        for name, (kind, size) in self.unary.items():
            for term, own in terms.items():
                if own == kind:
                    value = f",V{self.rng.integers(size)}" if size > 2 else ""
                    atoms.append(f"{name}({term}{value})")
        for name, (one, two) in self.binary.items():
            atoms += [
                f"{name}({first},{second})"
                for first, own in terms.items()
                for second, other in terms.items()
                if (own, other) == (one, two)
            ]
        return atoms

    def _grow(self, atoms: list[str], depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.2:
            atom = atoms[self.rng.integers(len(atoms))]
            return f"!{atom}" if self.rng.random() < 0.4 else atom
        join = JOINS[self.rng.integers(4)]
        return f"(({self._grow(atoms, depth - 1)}) {join} ({self._grow(atoms, depth - 1)}))"

    def _database(self) -> str:
        lines = []
        for name, (kind, size) in self.unary.items():
            share = self.rng.choice([0.0, 0.3, 0.6])
            for number in range(self.sizes[kind]):
                if self.rng.random() < share:
                    value = f",V{self.rng.integers(size)}" if size > 2 else ""
                    lines.append(self._fact(f"{name}({kind.upper()}{number}{value})"))
        for name, (one, two) in self.binary.items():
            share = self.rng.choice([0.0, 0.0, 0.2, 0.5])
            for first in range(self.sizes[one]):
                for second in range(self.sizes[two]):
                    if self.rng.random() < share:
                        atom = f"{name}({one.upper()}{first},{two.upper()}{second})"
                        lines.append(self._fact(atom))
        return "\n".join(lines) + "\n"

    def _fact(self, atom: str) -> str:
        kind = self.rng.random()
        if kind < 0.7:
            return atom if kind < 0.35 else f"!{atom}"
        return f"?{atom}" if kind < 0.8 else f"{self.rng.choice([0.2, 0.7])} {atom}"


def random_fragment(seed: int) -> Written:
    """A program that can be lifted, unless evidence about pairs is too irregular."""
    return _Writer(np.random.default_rng(seed)).write()
