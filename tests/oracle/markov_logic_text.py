"""A Markov logic program and its database as text, with the parentheses that the dialect needs."""

from collections.abc import Iterator

import numpy as np

from tests.oracle.markov_logic import (
    Atom,
    Case,
    Equal,
    Formula,
    Join,
    Not,
    Predicate,
    Quantified,
    Rule,
    Star,
)

TIGHTNESS = {
    "alchemy": {"<=>": 1, "=>": 2, "v": 3, "^": 4, "!": 5},
    "pracmln": {"<=>": 1, "=>": 2, "^": 3, "v": 4, "!": 5},
}


def program_text(case: Case, rng: np.random.Generator) -> str:
    lines = [f"{kind} = {{{', '.join(names)}}}" for kind, names in case.constants.items() if names]
    lines += [_declaration(predicate) for predicate in case.predicates.values()]
    lines += [_Writer(case.dialect, rng).rule(rule) for rule in case.rules]
    return "".join(f"{line}\n" for line in lines)


def database_text(case: Case, rng: np.random.Generator) -> str:
    return "".join(f"{_fact(atom, given, rng)}\n" for atom, given in case.evidence.items())


def _declaration(predicate: Predicate) -> str:
    marked = zip(predicate.types, predicate.exclusive, strict=True)
    types = ",".join(f"{kind}!" if mark else kind for kind, mark in marked)
    star = "*" if predicate.starred else ""
    return f"{star}{predicate.name}({types})" if types else f"{star}{predicate.name}"


def _fact(atom: Atom, given: float | None, rng: np.random.Generator) -> str:
    if given is None:
        return f"?{atom}"
    if given in (0, 1) and rng.random() < 0.8:
        return f"{atom}" if given else f"!{atom}"
    return f"{given} {atom}" if rng.random() < 0.5 else f"{round(1 - given, 6)} !{atom}"


class _Writer:
    """Writes one formula; `unmarked` are the variables that still need a +."""

    def __init__(self, dialect: str, rng: np.random.Generator) -> None:
        self.dialect, self.tightness, self.rng = dialect, TIGHTNESS[dialect], rng
        self.unmarked: set[str] = set()

    def rule(self, rule: Rule) -> str:
        self.unmarked = set(rule.per)
        text = self.formula(rule.formula, 0, True, frozenset())
        return f"{text}." if rule.weight == np.inf else f"{rule.weight} {text}"

    def formula(self, formula: Formula, level: int, last: bool, bound: frozenset[str]) -> str:
        """What binds as tightly as `level`; nothing follows it in its parentheses if `last`."""
        if self.rng.random() < 0.1 and not isinstance(formula, Star):
            return f"({self.formula(formula, 0, True, bound)})"
        match formula:
            case Atom():
                return self._atom(formula, bound)
            case Star(atom):
                return f"*{self._atom(atom, bound)}"
            case Equal(left, right):
                return self._compared(left, "=", right, level)
            case Not(Equal(left, right)) if self.rng.random() < 0.5:
                return self._compared(left, "!=", right, level)
            case Not(body):
                return "!" + self.formula(body, 5, last, bound)
            case Join():
                return self._join(formula, level, last, bound)
            case Quantified(word, names, body):
                inner = bound | set(names)
                if self.dialect == "pracmln":
                    body_text = f"({self.formula(body, 0, True, inner)})"
                    return f"{word} {','.join(names)} {body_text}"
                if not last:
                    return f"({self.formula(formula, 0, True, bound)})"
                return f"{word} {','.join(names)} {self.formula(body, 0, True, inner)}"
        raise TypeError(formula)

    def _compared(self, left: str, sign: str, right: str, level: int) -> str:
        """A comparison; a v between blanks would mean "or"."""
        text = f"{left} {sign} {right}"
        return f"({text})" if level >= 5 or "v" in (left, right) else text

    def _join(self, formula: Join, level: int, last: bool, bound: frozenset[str]) -> str:
        own = self.tightness[formula.word]
        if own < level:
            return f"({self.formula(formula, 0, True, bound)})"
        texts = [
            self.formula(part, wanted, last and at_end, bound)
            for part, wanted, at_end in self._places(formula, own)
        ]
        return f" {formula.word} ".join(texts)

    def _places(self, formula: Join, own: int) -> Iterator[tuple[Formula, int, bool]]:
        """Parts, how tightly they must bind, and whether they are last; => groups from the left."""
        for number, part in enumerate(formula.parts):
            chain = number == 0 and self.dialect == "alchemy" and formula.word in ("=>", "<=>")
            yield part, own if chain else own + 1, number == len(formula.parts) - 1

    def _atom(self, atom: Atom, bound: frozenset[str]) -> str:
        terms = []
        for term in atom.terms:
            mark = term in self.unmarked and term not in bound
            self.unmarked -= {term} if mark else set()
            terms.append(f"+{term}" if mark else term)
        return str(Atom(atom.name, tuple(terms)))
