"""The elements of an XMLBIF file that matter, each with its place."""

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from orbitmc.errors import InputError
from orbitmc.machine.text import quoted, require_memory

BYTES_PER_BYTE = 50
"""What a byte of XML takes as names and numbers, at most: `1 ` is two and makes a number."""


@dataclass(frozen=True)
class Place:
    """Where an element begins."""

    source: str
    line: int
    column: int

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source, line=self.line, column=self.column)


@dataclass(frozen=True)
class Variable:
    """What stands between `<VARIABLE>` and `</VARIABLE>`."""

    place: Place
    names: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Definition:
    """What stands between `<DEFINITION>` and `</DEFINITION>`."""

    place: Place
    children: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    table: list[str] = field(default_factory=list)

    @property
    def child(self) -> str:
        return self.children[0]


@dataclass(frozen=True)
class Elements:
    """All variables and definitions of a file, in its order."""

    source: str
    variables: list[Variable] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)


def parse_elements(data: bytes, source: str, memory: int) -> Elements:
    """Find the variables and definitions in an XML file, and refuse its entities."""
    require_memory(source, BYTES_PER_BYTE * len(data), memory)
    parsing = _Parsing(source)
    try:
        parsing.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(
            f"this is not XML: {expat.ErrorString(error.code)}",
            source=source,
            line=error.lineno,
            column=error.offset + 1,
        ) from None
    except (ValueError, LookupError) as error:
        raise InputError(f"this is not XML we read: {error}", source=source) from None
    if parsing.root != "BIF":
        raise InputError(f"expected <BIF> at the top, found <{parsing.root}>", source=source)
    return parsing.elements


class _Parsing:
    def __init__(self, source: str) -> None:
        self.elements = Elements(source)
        self.root = ""
        self.tags: list[str] = []
        self.letters: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.letters.append
        self.parser.EntityDeclHandler = self.refuse
        self.parser.SkippedEntityHandler = self.refuse

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.tags.append(tag.upper())
        self.root = self.root or tag.upper()
        self.letters.clear()
        if self.tags[-1] == "VARIABLE":
            self.elements.variables.append(Variable(self.place()))
        elif self.tags[-1] == "DEFINITION":
            self.elements.definitions.append(Definition(self.place()))

    def end(self, tag: str) -> None:
        target = self.target(*self.tags[-2:])
        if target is not None:
            target.append("".join(self.letters).strip())
        self.tags.pop()
        self.letters.clear()

    def target(self, outer: str, inner: str = "") -> list[str] | None:
        """Where the letters of a finished element belong, if they matter."""
        if outer == "VARIABLE":
            variable = self.elements.variables[-1]
            lists = {"NAME": variable.names, "OUTCOME": variable.values, "VALUE": variable.values}
            return lists.get(inner)
        if outer == "DEFINITION":
            one = self.elements.definitions[-1]
            return {"FOR": one.children, "GIVEN": one.parents, "TABLE": one.table}.get(inner)
        return None

    def place(self) -> Place:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return Place(self.elements.source, line, column + 1)

    def refuse(self, name: str, *details: object) -> NoReturn:
        raise self.place().error(f"entity {quoted(name)} is refused; write its text instead")
