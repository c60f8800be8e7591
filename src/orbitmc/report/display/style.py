"""How tables and charts look. Colours are told apart without red and green (Okabe and Ito)."""

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
.om svg.chart{width:100%;max-width:560px;display:block}
.om svg.graph{width:100%;max-width:680px;display:block}
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
