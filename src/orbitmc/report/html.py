"""HTML of answers: safe words and numbers, and the style sheet of a page."""

import html
import math
from collections.abc import Iterable, Sequence

from orbitmc.estimate.formatting import escape_unprintable
from orbitmc.estimate.verdicts import BELIEVED, EXACT, FAIR, FORCED, GOOD, OBSERVED, RARE

# Words and numbers as safe HTML.

LONGEST_NAME = 60  # letters of a name that are shown
LONGEST_CODE = 20_000

VERDICT_TONES = {
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
    return VERDICT_TONES.get(verdict, "fair" if verdict in BELIEVED else "doubt")


def safe(words: object, longest: int = LONGEST_NAME) -> str:
    """Text that is only text in HTML; long ones are cut, in the middle.

    >>> safe("<b>&"), safe("abcdefgh", longest=5)
    ('&lt;b&gt;&amp;', 'ab…gh')
    """
    plain = escape_unprintable(str(words))
    if len(plain) > longest:
        half = longest // 2
        plain = f"{plain[:half]}…{plain[-half:]}"
    return html.escape(plain, quote=True)


def tag(name: str, inside: str = "", **attributes: object) -> str:
    """An element; `class_` stands for `class`, and attributes must be safe already."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{attributes[key]}"' for key in attributes
    )
    return f"<{name}{words}>{inside}</{name}>"


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
    lines = "\n".join(escape_unprintable(line) for line in text[:LONGEST_CODE].split("\n"))
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


def format_count(number: int, noun: str) -> str:
    """How many there are of a thing, in words.

    >>> format_count(1, "orbit"), format_count(2000, "orbit")
    ('1 orbit', '2,000 orbits')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# How tables and charts look. Colours are told apart without red and green (Okabe and Ito).

COMMON = """
.om{--good:#0072b2;--fair:#b07a00;--doubt:#c04a00;--known:#7b8190;--line:#8a8f9c;--ink:currentColor;
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.om table{border-collapse:collapse;font-size:13px;margin:.4em 0}
.om th,.om td{padding:2px 10px 2px 0;text-align:left;white-space:nowrap;border:0;background:none}
.om th{font-weight:600;border-bottom:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.om .n{text-align:right;font-variant-numeric:tabular-nums}
.om td.r{opacity:.38}
.om td.k{color:var(--known)}
.om tr.doubt td.k{color:var(--doubt);font-weight:600}
.om tr.fair td.k{color:var(--fair)}
.om svg.bar{width:120px;height:12px;vertical-align:middle;display:inline-block}
.om svg text{font:11.5px system-ui,sans-serif;fill:var(--ink)}
.om svg.chart{width:100%;max-width:640px;display:block}
.om svg.graph{width:100%;max-width:960px;display:block}
.om .t{fill:var(--line);opacity:.18}
.om .f.good{fill:var(--good)}.om .f.fair{fill:var(--fair)}.om .f.doubt{fill:var(--doubt)}
.om .f.known{fill:var(--known)}
.om .f{opacity:.75}
.om .w{stroke:var(--ink);stroke-width:1.2;fill:none}
.om .g{stroke:var(--line);stroke-width:.6;opacity:.4;fill:none}
.om .m{stroke:var(--doubt);stroke-width:1.2;stroke-dasharray:4 3}
.om .l{fill:none;stroke-width:2}
.om .l.good{stroke:var(--good)}.om .l.doubt{stroke:var(--doubt)}.om .l.known{stroke:var(--known)}
.om .d{stroke-dasharray:5 4;stroke-width:1.3}
.om .p.good{fill:var(--good)}.om .p.doubt{fill:var(--doubt)}.om .p{opacity:.8}
.om .e{stroke:var(--line);stroke-width:1;opacity:.55}
.om .v{stroke:var(--ink);stroke-width:.8}
.om .v.seen{stroke-width:2.6}
.om .a{fill:var(--line)}
.om text.seen{font-weight:700}
.om .o0{fill:#56b4e9}.om .o1{fill:#e69f00}.om .o2{fill:#009e73}.om .o3{fill:#cc79a7}
.om .o4{fill:#f0e442}.om .o5{fill:#d55e00}.om .o6{fill:#0072b2}.om .o7{fill:#bbbbbb}
.om .keys{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;margin:.2em 0 .3em}
.om .badge{border-radius:4px;padding:1px 8px;font-weight:600;color:#fff;background:var(--good)}
.om .badge.fair{background:var(--fair)}.om .badge.doubt{background:var(--doubt)}
.om .badge.known{background:var(--known)}
.om .quiet{opacity:.75;font-size:13px;margin:.2em 0}
.om table.heat td,.om table.heat th{padding:6px 10px;text-align:right;border:0}
.om td.h{background:color-mix(in srgb,var(--good) calc(var(--s)*100%),transparent);
font-variant-numeric:tabular-nums}
.om td.h.x{color:#fff}
.om td.h small{display:block;opacity:.75;font-size:10.5px}
"""

NOTEBOOK = (
    COMMON
    + '.om{overflow-x:auto}body[data-jp-theme-light="false"] .om,.vscode-dark .om'
    + "{--good:#56b4e9;--fair:#e6b450;--doubt:#ff8f4f;--known:#9aa1b0}\n"
    + 'body[data-jp-theme-light="false"] .om :is(.badge,td.h.x),.vscode-dark .om :is(.badge,td.h.x)'
    + "{color:#10151c}\n"
)


PAGE = (
    COMMON
    + """
:root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--text:#1c2330}
@media (prefers-color-scheme:dark){:root{--paper:#12161d;--card:#1b212b;--text:#e4e8ef}
.om{--good:#56b4e9;--fair:#e6b450;--doubt:#ff8f4f;--known:#9aa1b0;--line:#8f98a8}
.om .badge{color:#10151c}.om td.h.x{color:#10151c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--text)}
main{padding:1.5rem clamp(1.1rem,3vw,4rem) 4rem;font-size:15.5px;display:grid;gap:0 3rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,44rem),1fr))}
main>:not(section){grid-column:1/-1}main>section{min-width:0}
h1{font-size:1.5rem;line-height:1.25;margin:.2em 0 .6em}
h2{font-size:1.12rem;margin:2.2em 0 .5em;padding-bottom:.25em;
border-bottom:1px solid color-mix(in srgb,var(--line) 40%,transparent)}
h3{font-size:1rem;margin:1.2em 0 .2em}
p{max-width:46rem;margin:.5em 0}
nav{font-size:13px;display:flex;flex-wrap:wrap;gap:2px 14px;margin:.8em 0}
nav a,.om a{color:var(--good)}
.verdict{background:var(--card);border-left:5px solid var(--good);border-radius:5px;
padding:.8em 1.1em;margin:1em 0}
.verdict.doubt{border-color:var(--doubt)}.verdict.fair{border-color:var(--fair)}
.verdict p{margin:.25em 0}.verdict .says{font-size:1.1rem;font-weight:600}
.scroll{overflow-x:auto}
.tall{max-height:32rem;overflow-y:auto;border-radius:5px;padding:0 .6em;
border:1px solid color-mix(in srgb,var(--line) 35%,transparent)}
.tall thead th{position:sticky;top:0;background:var(--paper);padding-top:.5em}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.6em 1.6em}
.two>*{min-width:0}
pre{background:var(--card);border-radius:5px;padding:.8em 1em;overflow-x:auto;font-size:13px;
white-space:pre-wrap;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.6em 0}
dt{color:var(--known)}dd{margin:0;overflow-wrap:anywhere}
.filters{display:flex;flex-wrap:wrap;gap:.6em;margin:.5em 0}
.filters input,.filters select{font:inherit;font-size:14px;padding:.25em .5em;color:inherit;
background:var(--card);border:1px solid var(--line);border-radius:4px}
.stack{display:flex;height:14px;border-radius:4px;overflow:hidden;max-width:46rem;margin:.5em 0}
.stack i{display:block}.stack .good{background:var(--good)}.stack .fair{background:var(--fair)}
.stack .doubt{background:var(--doubt)}.stack .known{background:var(--known)}
ul{padding-left:1.2em;overflow-wrap:anywhere}
@media (max-width:40rem){.om .scroll>table:not(.marginals) td{white-space:normal}}
footer{margin-top:3em;font-size:13px;opacity:.8}
@media print{:root{--paper:#fff;--card:#f3f4f6;--text:#000}
.om{--good:#0072b2;--fair:#b07a00;--doubt:#c04a00;--known:#5b6170;--line:#8a8f9c}
nav,.filters{display:none}h2{break-after:avoid}svg,tr,.verdict,pre{break-inside:avoid}
main{display:block;padding:0}.scroll{overflow:visible;max-height:none;border:0}}
"""
)

SCRIPT = """
const word=document.getElementById("word"),kind=document.getElementById("kind");
if(word){const rows=[...document.querySelectorAll("table.marginals tbody tr")];
const show=()=>{const w=word.value.toLowerCase(),k=kind.value;let n=0;
for(const r of rows){const name=(r.cells[0].textContent+" "+r.cells[1].textContent).toLowerCase();
const on=name.includes(w)&&(!k||r.lastElementChild.textContent===k);r.hidden=!on;n+=on}
document.getElementById("shown").textContent=n+" of "+rows.length+" rows"};
word.addEventListener("input",show);kind.addEventListener("change",show);show()}
"""
