"""Files with endless words, names and brackets: memory within the limit, errors of a line."""

import re
import tracemalloc

import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError, OrbitError
from orbitmc.formats import bif, net, read
from orbitmc.formats.bif import quote_name

SIZE = 200_000
LONG = "x" * SIZE
LONGEST_ERROR = 500  # letters beside the name of the file
SMALL = 2**21  # bytes that reading takes whatever the file
BIF_A = "variable a { type discrete [ 2 ] { x, y }; }\n"
BIF_TABLE = BIF_A + "probability ( a ) { table "
NET_A = 'node a { states = ("x" "y"); }\n'
NET_TABLE = NET_A + "potential (a) { data = ("
PIECES = {
    ".bif": {
        "word": LONG,
        "name": f"variable {LONG}",
        "letters": f"variable \U0001f600{LONG}",
        "slashes": "a/" * SIZE,
        "brackets": "(" * SIZE,
        "brackets of a name": "variable a" + "(b)" * SIZE,
        "empty brackets of a name": "variable a" + "()" * SIZE,
        "values": "variable a { type discrete [ 9 ] {" + "ab," * SIZE,
        "words of values": "variable a { type discrete [ 9 ] {" + "ab " * SIZE,
        "phrase": "variable " + "ab " * SIZE,
        "numbers": BIF_TABLE + "1," * SIZE,
        "digits": BIF_TABLE + "1" * SIZE,
        "no number": BIF_TABLE + "0." + "1" * SIZE + "x;",
        "quotes": f'variable "{LONG}',
        "comment": f"/*{LONG}*/",
        "comments": "//\n" * SIZE,
        "property": f"network x {{ property {LONG}",
        "properties": "network x { property " + '"y" ' * SIZE,
        "count": "variable a { type discrete [ " + "9" * SIZE + " ] { a }; }",
        "unknown": BIF_A + f"probability ( a | {LONG}",
        "value": BIF_A + BIF_A.replace("a {", "b {", 1) + f"probability ( a | b ) {{ ({LONG}",
        "twice": f"variable {LONG} {{ type discrete [ 1 ] {{ a }}; }}" * 2,
        "no block": f"variable {LONG} {{ type discrete [ 1 ] {{ a }}; }}",
        "no type": f"variable {LONG} {{ }}",
        "spaces": " " * SIZE,
    },
    ".net": {
        "word": LONG,
        "name": f"node {LONG}",
        "brackets": "(" * SIZE,
        "brackets of data": NET_TABLE + "(" * SIZE,
        "pairs of brackets": NET_TABLE + "()" * SIZE,
        "numbers": NET_TABLE + "1 " * SIZE,
        "words": "node " + "ab " * SIZE,
        "quotes": f'node "{LONG}',
        "escapes": 'node "' + "\\x" * SIZE + '" {',
        "marks": "net { a = " + "(=" * SIZE,
        "empty texts": "net { a = " + '""' * SIZE,
        "states": "node a { states = (" + "abc " * SIZE,
        "comments": "%\n" * SIZE,
        "unknown": NET_A + f"potential ({LONG}",
        "twice": f"node {LONG} {{ states = (x y); }}" * 2,
        "no potential": f"node {LONG} {{ states = (x y); }}",
    },
}
PER_LETTER = {".bif": bif.BIF_BYTES_PER_CHARACTER, ".net": net.NET_BYTES_PER_CHARACTER}
ALL = [(suffix, name) for suffix, named in PIECES.items() for name in named]
ERRORS = {
    ".uai": [LONG, f"MARKOV {LONG}", "MARKOV 1 2 1 1 0 2 1 " + LONG, "MARKOV " + "9" * SIZE],
    ".json": [LONG, f'{{"{LONG}": 1}}', "[" * SIZE, f'{{"variables": {{"{LONG}": 1}}}}'],
    ".xmlbif": [
        f"<{LONG}>",
        f"<{LONG}></{LONG}>",
        f"<BIF><NETWORK><VARIABLE><NAME>{LONG}</NAME><OUTCOME>a</OUTCOME></VARIABLE></NETWORK></BIF>",
        f"<BIF><NETWORK><DEFINITION><FOR>{LONG}</FOR></DEFINITION></NETWORK></BIF>",
    ],
    ".xdsl": [f"<{LONG}/>", f'<smile><nodes><cpt id="{LONG}"></cpt></nodes></smile>'],
    ".ising": [LONG, f"0 1 {LONG}", "9" * SIZE + " 1 2"],
    ".coo": [LONG, f"# vartype={LONG}", f"# vartype=SPIN\n0 1 {LONG}"],
    ".mln": [f"{LONG}(a", f"P(a)\n1 {LONG}(x)", f"P(a)\n1 P({LONG},y)", "(" * SIZE],
}


def written(folder, suffix, text):
    path = folder / f"long{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


def require_short(error, path):
    said = str(error).replace(str(path), "")
    assert len(said) < LONGEST_ERROR, said[:200]
    assert len(said.splitlines()) <= 2


@pytest.mark.parametrize(("suffix", "name"), ALL, ids=[" ".join(one) for one in ALL])
def test_reading_takes_no_more_memory_than_it_may(tmp_path, suffix, name):
    text = PIECES[suffix][name]
    path = written(tmp_path, suffix, text)
    memory = PER_LETTER[suffix] * len(text)
    tracemalloc.start()
    try:
        with pytest.raises(OrbitError) as caught:
            read(path, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, InputError)
    assert peak < memory + SMALL
    require_short(caught.value, path)


@pytest.mark.parametrize("suffix", PER_LETTER)
def test_a_file_that_might_take_more_is_refused_at_once(tmp_path, suffix):
    path = written(tmp_path, suffix, LONG)
    with pytest.raises(LimitError, match="over the memory limit"):
        read(path, memory=PER_LETTER[suffix] * SIZE - 1)


@pytest.mark.parametrize(
    ("suffix", "number"), [(one, k) for one, texts in ERRORS.items() for k in range(len(texts))]
)
def test_no_error_repeats_what_it_found_at_length(tmp_path, suffix, number):
    path = written(tmp_path, suffix, ERRORS[suffix][number])
    with pytest.raises(OrbitError) as caught:
        om.read(path)
    require_short(caught.value, path)


def test_names_with_long_words_are_shortened_in_all_that_is_said_of_evidence(tmp_path):
    model = om.model({LONG: ["a", "b"], "y": [LONG, "b"]}, [([LONG, "y"], [[1, 2], [3, 4]])])
    for evidence in ({LONG: "c"}, {"z" + LONG: "a"}, {"y": "z" + LONG}, {LONG: [1, 2, 3]}):
        with pytest.raises(InputError) as caught:
            model.given(evidence)
        require_short(caught.value, tmp_path)
    with pytest.raises(InputError) as caught:
        om.marginals(model, query=["z" + LONG])
    require_short(caught.value, tmp_path)


@pytest.mark.parametrize("name", ["a//b", "a/*b", "//", "a/b", "a(b)", "a b"])
def test_names_that_would_begin_a_comment_are_written_in_quotes(tmp_path, name):
    assert (quote_name(name) == name) == bool(re.fullmatch(r"a/b|a\(b\)", name))
    model = om.model({name: ["x", "y"]}, [([name], [0.25, 0.75])])
    om.write(model, tmp_path / "x.bif")
    assert om.read(tmp_path / "x.bif").names == (name,)


@pytest.mark.parametrize("suffix", [".bif", ".net"])
def test_a_name_of_very_many_words_needs_quotes(tmp_path, suffix):
    begun = {".bif": "variable ", ".net": "node "}[suffix]
    with pytest.raises(InputError, match="1,000 words"):
        read(written(tmp_path, suffix, begun + "a " * 2000 + "{"))


def test_names_of_many_words_are_found_by_their_beginnings(tmp_path):
    """Names that are beginnings of others, in quotes or not."""
    names = ["big", "big red", "big red dog", "bigger dog", "red"]
    declared = "".join(
        f"variable {n} {{ type discrete [ 2 ] {{ x y, x z }}; }}\n" for n in names[2:]
    )
    rows = "(x y) 0.5, 0.5; (x z) 0.25, 0.75;"
    blocks = "probability ( big red dog ) { table 0.5, 0.5; }\n"
    blocks += f"probability ( red | big red dog ) {{ {rows} }}\n"
    blocks += f"probability ( bigger dog | red ) {{ {rows} }}\n"
    model = read(written(tmp_path, ".bif", declared + blocks))
    assert model.names == ("big red dog", "bigger dog", "red")
    assert model.values[0] == ("x y", "x z")
    assert float(om.marginals(model)["bigger dog"].probability[0]) == pytest.approx(0.34375)
