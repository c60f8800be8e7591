"""Words and numbers as safe HTML."""

import html
import math
from collections.abc import Iterable, Sequence

from orbitmc.estimate.formatting import printable
from orbitmc.estimate.verdicts import (
    BELIEVED,
    EXACT,
    FAIR,
    FORCED,
    GOOD,
    OBSERVED,
    RARE,
)

LONGEST = 60  # letters of a name that are shown
LONGEST_CODE = 20_000

TONES = {
    GOOD: "good",
    EXACT: "good",
    FAIR: "fair",
    RARE: "fair",
    OBSERVED: "known",
    FORCED: "known",
}
"""What colour a verdict has; all others are doubted."""


def tone(verdict: str) -> str:
    """The class of a verdict: good, fair, known or doubt.

    >>> tone("exact"), tone("frozen")
    ('good', 'doubt')
    """
    return TONES.get(verdict, "fair" if verdict in BELIEVED else "doubt")


def safe(words: object, longest: int = LONGEST) -> str:
    """Text that is only text in HTML; long ones are cut, in the middle.

    >>> safe("<b>&"), safe("abcdefgh", longest=5)
    ('&lt;b&gt;&amp;', 'ab…gh')
    """
    plain = printable(str(words))
    if len(plain) > longest:
        half = longest // 2
        plain = f"{plain[:half]}…{plain[-half:]}"
    return html.escape(plain, quote=True)


def tag(name: str, inside: str = "", **attributes: object) -> str:
    """An element; `class_` stands for `class`, and attributes must be safe already."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{attributes[key]}"' for key in attributes
    )
    return f"<{name}{said}>{inside}</{name}>"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of safe cells; columns of `numbers` are aligned to the right."""
    right = set(numbers)

    def cells(name: str, words: Sequence[str]) -> str:
        kinds = (' class="n"' if place in right else "" for place in range(len(words)))
        return "".join(
            f"<{name}{kind}>{word}</{name}>" for kind, word in zip(kinds, words, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', titles)}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def code(text: str) -> str:
    """Lines as they are, for people to copy."""
    lines = "\n".join(printable(line) for line in text[:LONGEST_CODE].split("\n"))
    return f"<pre>{html.escape(lines)}</pre>"


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of safe words."""
    return f'<p class="{kind}">{words}</p>' if kind else f"<p>{words}</p>"


def short(number: float) -> str:
    """A number in few letters.

    >>> short(1234567.0), short(0.000123), short(math.inf)
    ('1,234,567', '1.2e-04', '∞')
    """
    if math.isinf(number):
        return "∞"
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.1e}" if 0 < abs(number) < 1e-3 else f"{number:.3g}"


def counted(number: int, thing: str) -> str:
    """How many there are of a thing, in words.

    >>> counted(1, "orbit"), counted(2000, "orbit")
    ('1 orbit', '2,000 orbits')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
