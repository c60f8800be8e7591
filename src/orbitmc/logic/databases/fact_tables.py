"""Evidence while it is gathered: one value for every atom, whatever is said last."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from orbitmc.logic.databases.database import Database, Facts

Key = str | tuple[str, ...]
"""The arguments of an atom: joined by commas if all are plain words, which is fast, or not."""


class FactTable:
    """Evidence on the atoms of one predicate."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.truth: dict[Key, int] = {}
        self.log_odds: dict[Key, float] = {}

    def put(self, key: Key, truth: int, log_odds: float = 0.0) -> bool:
        """Set the value of an atom; say whether it had another one."""
        known, odds = self.truth.get(key, truth), self.log_odds.get(key, 0.0)
        same = known == truth and math.isclose(odds, log_odds, rel_tol=1e-12)
        changed = key in self.truth and not same
        self.truth[key] = truth
        self.log_odds.pop(key, None)
        if log_odds:
            self.log_odds[key] = log_odds
        return changed

    def facts(self) -> Facts:
        """Give what was gathered, in columns."""
        truth = np.fromiter(self.truth.values(), np.int8, len(self.truth))
        log_odds = np.zeros(len(self.truth))
        if self.log_odds:
            soft = (self.log_odds.get(key, 0.0) for key in self.truth)
            log_odds = np.fromiter(soft, np.float64, len(self.truth))
        words = flat_words(self.truth)
        columns = tuple(tuple(words[place :: self.arity]) for place in range(self.arity))
        return Facts(columns, truth, log_odds)


def flat_words(keys: Iterable[Key]) -> list[str]:
    """Give the arguments of all atoms, one after the other."""
    gathered = list(keys)
    plain = [key for key in gathered if isinstance(key, str)]
    if len(plain) == len(gathered):
        return ",".join(plain).split(",") if plain else []
    split = (key.split(",") if isinstance(key, str) else key for key in gathered)
    return [word for words in split for word in words]


def merged(databases: Sequence[Database]) -> Database:
    """Put databases together; where they differ, the later one counts, with a warning."""
    if len(databases) == 1:
        return databases[0]
    warnings = [warning for database in databases for warning in database.warnings]
    facts = {}
    for name in dict.fromkeys(name for database in databases for name in database.facts):
        parts = [database.facts[name] for database in databases if name in database.facts]
        facts[name], changed = _merged_facts(parts)
        if changed:
            warnings.append(
                f"{changed} {'atom' if changed == 1 else 'atoms'} of {name} with different values "
                "in different databases; the last one counts"
            )
    constants: dict[str, dict[str, None]] = {}
    for database in databases:
        for kind, names in database.constants.items():
            constants.setdefault(kind, {}).update(dict.fromkeys(names))
    every = {kind: tuple(own) for kind, own in constants.items()}
    return Database(facts, every, tuple(warnings))


def _merged_facts(parts: Sequence[Facts]) -> tuple[Facts, int]:
    if len(parts) == 1:
        return parts[0], 0
    table, changed = FactTable(len(parts[0].columns)), 0
    for part in parts:
        keys: Iterable[Key] = zip(*part.columns, strict=True) if part.columns else [()]
        for key, truth, log_odds in zip(
            keys, part.truth.tolist(), part.log_odds.tolist(), strict=True
        ):
            changed += table.put(key, truth, log_odds)
    return table.facts(), changed
