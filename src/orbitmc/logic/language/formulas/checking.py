"""Find the type of every variable of a formula, and the variables that have two."""

from collections import deque
from collections.abc import Iterable

from orbitmc.logic.language.scanner import Statement


class Typing:
    """What is known about the types of variables while a formula is read.

    An argument of a predicate fixes a variable's type. Where a variable stands in none, what it
    is compared or calculated with may tell.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.types: dict[str, str] = {}
        self._first: dict[str, int] = {}
        self._wanted: dict[str, str] = {}
        self._alike: list[tuple[str, ...]] = []

    def fix(self, variable: str, kind: str, offset: int) -> str:
        """Note the type of a variable; say what is wrong if it has another one already."""
        known = self.types.setdefault(variable, kind)
        self._first.setdefault(variable, offset)
        if known == kind:
            return ""
        first = self.statement.place(self._first[variable])
        return (
            f"the variable {variable} is of type {kind} here, but of type {known} in line "
            f"{first.line}, column {first.column}; use two variables"
        )

    def alike(self, variables: Iterable[str], kind: str = "") -> None:
        """Note that variables are compared or calculated with: one type may do, say that wanted."""
        self._alike.append(tuple(variables))
        for variable in self._alike[-1] if kind else ():
            self._wanted.setdefault(variable, kind)

    def settle(self) -> None:
        """Give types to variables that stand in no predicate, as far as possible."""
        for variable, kind in self._wanted.items():
            self.types.setdefault(variable, kind)
        groups: dict[str, list[tuple[str, ...]]] = {}
        for group in self._alike:
            for variable in group:
                groups.setdefault(variable, []).append(group)
        waiting = deque(self._alike)
        while waiting:
            for variable in self._spread(waiting.popleft()):
                waiting.extend(groups.pop(variable))

    def _spread(self, group: tuple[str, ...]) -> list[str]:
        """Give variables without type the type of the first that has one; say which."""
        known = next((self.types[one] for one in group if one in self.types), None)
        new = [one for one in dict.fromkeys(group) if known and one not in self.types]
        self.types.update(dict.fromkeys(new, known or ""))
        return new
