"""Small valid files of each format, random models, and what it means to be the same model."""

import math

import numpy as np
from hypothesis import strategies as st

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model, Observed

UAI = """MARKOV
3
2 2 3
3
1 0
2 0 1
2 1 2

2
 0.436 0.564
4
 0.128 0.872
 0.920 0.080
6
 0.210 0.333 0.457
 0.811 0.000 0.189
"""

BIF = """// the weather
network "unknown" { property "version 1"; }
variable rain { /* two values */
  type discrete [ 2 ] { yes, no };
  property position = (73, 165) ;
}
variable grass {
  type discrete [ 3 ] { <5, 5-12, "12 or more" };
}
variable sprinkler(1) { type discrete [ 2 ] { on, off }; }
probability ( rain ) { table 2e-1, 0.8; }
probability ( sprinkler(1) | rain ) {
  (no) 0.4, 0.6;
  (yes) 0.01, 0.99;
}
probability ( grass | rain, sprinkler(1) ) {
  default 0.5, 0.25, 0.25;
  (yes, off) 1.0, 0.0, 0.0;
}
"""

XMLBIF = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>weather</NAME>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>grass</NAME>
  <OUTCOME>&lt;5</OUTCOME><OUTCOME>5-12</OUTCOME><OUTCOME>more</OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY>
</VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>grass</FOR><GIVEN>rain</GIVEN>
  <TABLE> <!-- yes --> 0.1 0.2 0.7 <!-- no --> 1 0 0 </TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""

JSON = """{"format": "orbitmc-model", "version": 1,
"variables": [{"name": "a", "values": ["x", "y"]}, {"name": "b", "values": ["0", "1", "2"]}],
"tables": [[0.0, -1.5, "-inf", 2, 0.25, 1e-3], [0.0, 1.5]],
"factors": [[0, 0, 1], [1, 0]],
"clauses": [[1, 0, 1, 1, 2]],
"constant": -0.5,
"observed": [{"name": "c", "values": ["no", "yes"], "value": 1}],
"order": ["c", "a", "b"]}
"""

NET = """% the weather
net { node_size = (80 40); name = "weather \\"today\\""; }
node rain { states = ("yes" "no"); label = "will it (rain)?"; position = (1 2); }
discrete node grass { states = ("<5" "5-12" "12 or more"); }
node warm air { states = (yes no); }
potential (rain) { data = (0.2 0.8); }
potential (warm air |) { data = (0.375 0.625); }
potential (grass | rain warm air) {
  data = (((0.5 0.25 0.25) % rain and warm
    (1.0 0.0 0.0))((0.125 0.125 0.75)(0.1 0.2 0.7)));
}
"""

XDSL = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="weather" numsamples="10000">
<nodes>
<cpt id="rain"><state id="yes" /><state id="no" />
  <probabilities>0.2 0.8</probabilities></cpt>
<cpt id="warm"><state id="yes" /><state id="no" /><property id="x">1</property>
  <probabilities>0.375 0.625</probabilities></cpt>
<cpt id="grass"><state id="dry" /><state id="wet" /><state id="flooded" />
  <parents>rain warm</parents>
  <probabilities>0.5 0.25 0.25 1 0 0 0.125 0.125 0.75 0.1 0.2 0.7</probabilities></cpt>
<deterministic id="boots"><state id="on" /><state id="off" />
  <parents>grass</parents><resultingstates>off on on</resultingstates></deterministic>
</nodes>
<extensions><genie version="1.0"><node id="rain"><name>Rain</name></node></genie></extensions>
</smile>
"""

COO = """# vartype=BINARY
0 0 0.500000
3 0 -1.250000
1 3 0.75
1 1 -2.0
"""

ISING = """4 3  # spins, couplings
1 2 1.5
2 3 -0.5
1 1 0.25
3 1 1e-1
"""

EVIDENCE_JSON = '{"rain": "yes", "grass": {"<5": 0.2, "5-12": 0.7}, "sprinkler(1)": [1, 0.5]}'
EVIDENCE_UAI = "1\n2 0 1 2 2\n"

TEXTS = {".uai": UAI, ".bif": BIF, ".xmlbif": XMLBIF, ".json": JSON}
ONLY_READ = {".net": NET, ".xdsl": XDSL, ".coo": COO, ".ising": ISING}

NAMES = st.text(max_size=8).filter(lambda name: name.encode(errors="ignore").decode() == name)
LOGS = st.one_of(st.floats(-600, 600), st.just(-np.inf), st.sampled_from([0.0, -0.0, 1e-300]))


def distinct(size, names=NAMES):
    return st.lists(names, min_size=size, max_size=size, unique=True).map(tuple)


@st.composite
def models(draw, clauses=True, observed=True, names=NAMES):
    """Any small model, with whatever a model may hold."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    builder = Builder(sizes)
    for _ in range(draw(st.integers(0, 4))):
        scope = draw(st.permutations(range(len(sizes))))[: draw(st.integers(1, 3))]
        shape = [sizes[variable] for variable in scope]
        logs = draw(st.lists(LOGS, min_size=math.prod(shape), max_size=math.prod(shape)))
        builder.add_factor(scope, np.reshape(logs, shape))
    for _ in range(draw(st.integers(0, 3)) if clauses else 0):
        scope = draw(st.permutations(range(len(sizes))))[: draw(st.integers(1, 4))]
        wanted = [draw(st.integers(0, sizes[variable] - 1)) for variable in scope]
        builder.add_clause(scope, wanted, draw(st.floats(-9, 9) | st.just(np.inf)))
    seen = draw(st.lists(st.integers(1, 3), max_size=2)) if observed else []
    builder.constant = draw(st.floats(-600, 600)) if observed else 0.0
    called = draw(distinct(len(sizes) + len(seen), names))
    values = tuple(draw(distinct(size, names)) for size in sizes)
    known = {
        name: Observed(draw(distinct(size, names)), draw(st.integers(0, size - 1)))
        for name, size in zip(called[len(sizes) :], seen, strict=True)
    }
    order = tuple(draw(st.permutations(called)))
    return Model(builder.build(), called[: len(sizes)], values, known, order)


@st.composite
def networks(draw, names):
    """Any small Bayesian network, variables in any order."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    builder = Builder(sizes)
    order = draw(st.permutations(range(len(sizes))))
    for place, child in enumerate(order):
        scope = [one for one in order[:place] if draw(st.booleans())] + [child]
        shape = [sizes[variable] for variable in scope]
        weights = np.reshape(
            draw(st.lists(st.integers(0, 9), min_size=math.prod(shape), max_size=math.prod(shape))),
            shape,
        )
        weights = weights + (weights.sum(axis=-1, keepdims=True) == 0)
        with np.errstate(divide="ignore"):
            builder.add_factor(scope, np.log(weights / weights.sum(axis=-1, keepdims=True)))
    values = tuple(draw(distinct(size, names)) for size in sizes)
    return Model(builder.build(), draw(distinct(len(sizes), names)), values)


def assert_same(first, second):
    """Two models with equal names and, to the bit, equal arrays."""
    assert first.names == second.names
    assert first.values == second.values
    assert first.observed == second.observed
    assert first.order == second.order
    assert_same_but_for_tables(first, second)
    for field in ("table_of", "table_start"):
        np.testing.assert_array_equal(getattr(first.graph, field), getattr(second.graph, field))
    assert first.graph.table.tobytes() == second.graph.table.tobytes()
    assert first.graph.constant == second.graph.constant


def assert_same_but_for_tables(first, second):
    """Equal factors over equal variables; equal tables may be stored once or twice."""
    for field in ("cardinality", "scope_start", "scope", "satisfying", "first_clause"):
        np.testing.assert_array_equal(getattr(first.graph, field), getattr(second.graph, field))


def assert_close_factors(first, second):
    """Equal names, equal scopes, and equal weights up to the last digits."""
    assert (first.names, first.values) == (second.names, second.values)
    assert_same_but_for_tables(first, second)
    for factor in range(first.graph.factors):
        np.testing.assert_allclose(
            first.graph.table_values(factor), second.graph.table_values(factor), rtol=0, atol=2e-13
        )
