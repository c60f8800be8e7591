"""Read XML piece by piece; entities that a file declares are refused, nothing else is loaded."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, NoReturn
from xml.parsers import expat

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import number_in, quoted, require_memory, shortened
from orbitmc.errors import InputError

BYTES_PER_BYTE = 50
"""What a byte of XML takes as names and numbers, at most: `1 ` is two and makes a number."""


class Place(NamedTuple):
    """A place in a file."""

    source: str
    line: int
    column: int

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source, line=self.line, column=self.column)

    def probabilities(self, words: Sequence[str], which: str) -> Floats:
        """Numbers that are finite and not negative."""
        numbers = [number_in(word) for word in words]
        for word, number in zip(words, numbers, strict=True):
            if not 0 <= number < math.inf:
                wanted = f"a probability (finite, not negative) {which}"
                raise self.error(f"expected {wanted}, found {quoted(word)}")
        return np.array(numbers)


class XmlReader:
    """Calls `started` and `ended` for elements; `outer` is the tag around, in capitals."""

    roots: ClassVar[tuple[str, ...]] = ()

    def __init__(self, source: str) -> None:
        self.source, self.root = source, ""
        self.tags: list[str] = []
        self.letters: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.letters.append
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def parse(self, data: bytes, memory: int) -> None:
        """Read a file; what is not XML, or begins with another element, is refused."""
        require_memory(self.source, BYTES_PER_BYTE * len(data), memory)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(
                f"this is not XML: {expat.ErrorString(error.code)}",
                source=self.source,
                line=error.lineno,
                column=error.offset + 1,
            ) from None
        except (ValueError, LookupError) as error:
            raise InputError(f"this is not XML we read: {error}", source=self.source) from None
        if self.root not in self.roots:
            wanted = " or ".join(f"<{root}>" for root in self.roots)
            raise InputError(
                f"expected {wanted} at the top, found <{shortened(self.root)}>", source=self.source
            )

    @property
    def outer(self) -> str:
        """The element around."""
        return self.tags[-1] if self.tags else ""

    def started(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; its tag is in capitals."""

    def ended(self, tag: str, text: str) -> None:
        """An element ends; its text has no white space at its ends."""

    def here(self) -> Place:
        """Where the parser is."""
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return Place(self.source, line, column + 1)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.root = self.root or tag.upper()
        self.letters.clear()
        self.started(tag.upper(), attributes)
        self.tags.append(tag.upper())

    def _end(self, tag: str) -> None:
        inner = self.tags.pop()
        self.ended(inner, "".join(self.letters).strip())
        self.letters.clear()

    def _refuse(self, name: str, *details: object) -> NoReturn:
        raise self.here().error(f"entity {quoted(name)} is refused; write its text instead")
