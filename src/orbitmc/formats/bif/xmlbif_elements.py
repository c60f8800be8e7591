"""The elements of an XMLBIF file that matter, each with its place."""

from typing import NamedTuple, NoReturn
from xml.parsers import expat

from orbitmc.errors import InputError
from orbitmc.machine.text import quoted, require_memory

BYTES_PER_BYTE = 50
"""What a byte of XML takes as names and numbers, at most: `1 ` is two and makes a number."""

PARTS = {"VARIABLE": ("NAME", "OUTCOME"), "DEFINITION": ("FOR", "GIVEN", "TABLE")}
SYNONYMS = {"VALUE": "OUTCOME"}


class Element(NamedTuple):
    """A VARIABLE or DEFINITION: where it begins, and the texts of its parts by their tags."""

    source: str
    line: int
    column: int
    texts: dict[str, list[str]]

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source, line=self.line, column=self.column)


def parse_elements(data: bytes, source: str, memory: int) -> dict[str, list[Element]]:
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
        self.source, self.root = source, ""
        self.elements: dict[str, list[Element]] = {tag: [] for tag in PARTS}
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
        if tag.upper() in PARTS:
            self.elements[tag.upper()].append(self.here())

    def end(self, tag: str) -> None:
        inner = self.tags.pop()
        inner = SYNONYMS.get(inner, inner)
        outer = self.tags[-1] if self.tags else ""
        if inner in PARTS.get(outer, ()):
            self.elements[outer][-1].texts[inner].append("".join(self.letters).strip())
        self.letters.clear()

    def here(self) -> Element:
        """An element that begins here, without texts as yet."""
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        texts: dict[str, list[str]] = {part: [] for own in PARTS.values() for part in own}
        return Element(self.source, line, column + 1, texts)

    def refuse(self, name: str, *details: object) -> NoReturn:
        raise self.here().error(f"entity {quoted(name)} is refused; write its text instead")
