"""How programs are written, and where in a file something stands."""

from typing import Literal, NamedTuple

from orbitmc.errors import InputError

Dialect = Literal["alchemy", "pracmln", "tuffy", "lomrf"]


class Notation(NamedTuple):
    """How formulas are written: a dialect, and whether variables are marked by ? as in pracmln."""

    dialect: Dialect
    marked: bool = False

    def is_variable(self, word: str) -> bool:
        """Whether a word without quotes stands for a variable."""
        if self.marked:
            return word.startswith("?")
        return not (word[0].isupper() or word[0].isdigit())


class Place(NamedTuple):
    """Where something stands in a file, counted from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source or None, line=self.line, column=self.column)


NOWHERE = Place("", 0, 0)
