"""The style sheet of a page, and the few lines of script that filter its table."""

from orbitmc.report.display.style import COMMON

PAGE = (
    COMMON
    + """
:root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--text:#1c2330}
@media (prefers-color-scheme:dark){:root{--paper:#12161d;--card:#1b212b;--text:#e4e8ef}
.om{--good:#56b4e9;--fair:#e6b450;--doubt:#ff8f4f;--known:#9aa1b0;--line:#8f98a8}
.om .badge{color:#10151c}.om td.h.x{color:#10151c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--text)}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.1rem 4rem;font-size:15.5px}
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
main{max-width:none;padding:0}.scroll{overflow:visible;max-height:none;border:0}}
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
