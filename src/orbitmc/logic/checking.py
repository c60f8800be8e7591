"""Find the type of every variable of a formula, and the variables that have two."""

from collections.abc import Iterable

from orbitmc.errors import InputError
from orbitmc.logic.scanner import error_at
from orbitmc.logic.syntax import Arithmetic, Place, Term, Variable


class Typing:
    """What is known about the types of variables while a formula is read.

    An argument of a predicate fixes a variable's type. Where a variable stands in none, what it
    is compared or calculated with may tell.
    """

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self._first: dict[str, Place] = {}
        self._wanted: dict[str, str] = {}
        self._alike: list[tuple[str, ...]] = []

    def fix(self, variable: str, kind: str, place: Place) -> InputError | None:
        """Note the type of a variable; give an error if it has another one already."""
        known = self.types.setdefault(variable, kind)
        self._first.setdefault(variable, place)
        if known == kind:
            return None
        first = self._first[variable]
        return error_at(
            place,
            f"the variable {variable} is of type {kind} here, but of type {known} in line "
            f"{first.line}, column {first.column}; use two variables",
        )

    def want(self, variable: str, kind: str) -> None:
        """Note a type that a variable has if nothing says otherwise."""
        self._wanted.setdefault(variable, kind)

    def alike(self, variables: Iterable[str]) -> None:
        """Note that variables are compared, so that one type may do for all."""
        self._alike.append(tuple(variables))

    def settle(self) -> None:
        """Give types to variables that stand in no predicate, as far as possible."""
        for variable, kind in self._wanted.items():
            self.types.setdefault(variable, kind)
        changed = True
        while changed:
            changed = False
            for group in self._alike:
                known = [self.types[one] for one in group if one in self.types]
                for variable in group:
                    if known and variable not in self.types:
                        self.types[variable] = known[0]
                        changed = True


def variables(term: Term) -> Iterable[str]:
    """Give the names of the variables in a term."""
    if isinstance(term, Variable):
        yield term.name
    if isinstance(term, Arithmetic):
        for argument in term.arguments:
            yield from variables(argument)
