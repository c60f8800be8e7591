"""The elements of an XMLBIF file that matter, each with its place."""

from collections.abc import Mapping
from typing import NamedTuple

from orbitmc.errors import InputError
from orbitmc.formats.xml_reading import Place, XmlReader

PARTS = {"VARIABLE": ("NAME", "OUTCOME"), "DEFINITION": ("FOR", "GIVEN", "TABLE")}
SYNONYMS = {"VALUE": "OUTCOME"}


class Element(NamedTuple):
    """A VARIABLE or DEFINITION: where it begins, and the texts of its parts by their tags."""

    place: Place
    texts: dict[str, list[str]]

    def error(self, message: str) -> InputError:
        return self.place.error(message)


def parse_elements(data: bytes, source: str, memory: int) -> dict[str, list[Element]]:
    """Find the variables and definitions in an XML file, and refuse its entities."""
    reader = _Elements(source)
    reader.parse(data, memory)
    return reader.elements


class _Elements(XmlReader):
    roots = ("BIF",)

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.elements: dict[str, list[Element]] = {tag: [] for tag in PARTS}

    def started(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in PARTS:
            texts: dict[str, list[str]] = {part: [] for own in PARTS.values() for part in own}
            self.elements[tag].append(Element(self.here(), texts))

    def ended(self, tag: str, text: str) -> None:
        inner = SYNONYMS.get(tag, tag)
        if inner in PARTS.get(self.outer, ()):
            self.elements[self.outer][-1].texts[inner].append(text)
