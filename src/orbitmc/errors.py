"""What can go wrong, in words a person can act on; each kind has its exit code."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

MOST_ERRORS_SHOWN = 20  # of many errors are shown
MOST_ERRORS = 1000  # are found in a text before the rest is left unread


class OrbitError(Exception):
    """The only error that bad input, contradictions or limits may raise."""

    exit_code = 2


class InputError(OrbitError):
    """A question we cannot understand: what, where, and what was expected.

    >>> print(InputError("expected 4 cardinalities, found 3", source="grid.uai", line=3, column=7))
    grid.uai:3:7: expected 4 cardinalities, found 3
    """

    def __init__(
        self, message: str, *, source: str | None = None, line: int = 0, column: int = 0
    ) -> None:
        place = "".join(f":{number}" for number in (line, column) if number)
        super().__init__(f"{source}{place}: {message}" if source else message)
        self.message, self.source, self.line, self.column = message, source, line, column


class ManyInputError(InputError):
    """Everything that is wrong with the input, a line each; of very many, the first ones.

    >>> print(ManyInputError([InputError("no weight", source="a.mln", line=2)]))
    a.mln:2: no weight
    """

    def __init__(self, errors: Iterable[InputError], *, unread: bool = False) -> None:
        self.errors = tuple(errors)
        lines = [str(error) for error in self.errors[:MOST_ERRORS_SHOWN]]
        more = len(self.errors) - len(lines)
        rest = "; what follows was not read" if unread else ""
        super().__init__(
            "\n".join([*lines, f"… and {more:,} more like these{rest}"] if more else lines)
        )


@contextmanager
def attribute_to_file(source: str, so: str = "") -> Iterator[None]:
    """Name the file that what is wrong inside is said of, and what is `so` because of it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{so}{error.message}", source=source) from None


class OutOfRangeError(InputError):
    """A kernel has given a variable a value that it does not have.

    >>> print(str(OutOfRangeError("Mine", 4, 3, 2).with_name("rain")).partition(";")[0])
    the kernel Mine has given 'rain' the value 3, but it has 2 values, 0 to 1
    """

    def __init__(self, kernel: str, variable: int, value: int, size: int, name: str = "") -> None:
        called = repr(name) if name else f"variable {variable}"
        super().__init__(
            f"the kernel {kernel} has given {called} the value {value}, but it has {size} values, "
            f'0 to {size - 1}; see the rules for steps on the page "Write your own kernel"'
        )
        self.kernel, self.variable, self.value, self.size = kernel, variable, value, size

    def with_name(self, name: str) -> "OutOfRangeError":
        """The same, with the name of the variable."""
        return OutOfRangeError(self.kernel, self.variable, self.value, self.size, name)


class ContradictionError(OrbitError):
    """Evidence or hard constraints that no state satisfies."""

    exit_code = 4


class LimitError(OrbitError):
    """A limit (memory, time, size) that the question would exceed; says the predicted figure."""

    exit_code = 5


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: when it comes inside compiled code, that wraps it."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)
