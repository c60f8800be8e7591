"""What one clicks is answered as what one types; the page is for whoever has its address."""

import http.client

import pytest

import orbitmc as om
from tests.explorer.served import EXAMPLES, SPRINKLER, page_of, serve

RAIN_IF_WET = [0.46525, 0.29220, 0.24255]  # the README says so


def test_a_page_gives_the_numbers_of_the_readme():
    with serve(SPRINKLER) as served, page_of(served) as page:
        page.hear("answer")
        answer = page.ask(do="observe", name="grass", value="wet")
        assert answer["exact"]
        assert answer["rows"]["rain"]["p"] == pytest.approx(RAIN_IF_WET, abs=5e-6)


def test_without_the_token_of_the_address_there_is_nothing():
    with serve(SPRINKLER) as served:
        connection = http.client.HTTPConnection(served.host, timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403
        connection.close()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Cancer(Bob)"], {"Cancer(Bob)": 1.0}),
        (["!Cancer(Bob)", "!Cancer(Anna)"], {"Cancer(Bob)": 0.0, "Cancer(Anna)": 0.0}),
        ([], {}),
    ],
)
def test_a_program_that_knows_more_is_the_program_that_was_read_with_it(lines, expected):
    program, known = EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db"
    first = om.read_logic(program, known, query="Smokes,Cancer")
    again = om.read_logic(program, known, query="Smokes,Cancer", evidence=lines)
    answer, same = first.knowing(*lines).marginals(), again.marginals()
    assert list(answer) == list(same)
    for name in answer:
        assert answer[name]["true"] == pytest.approx(same[name]["true"], abs=1e-12)
    for name, p in expected.items():
        assert answer[name]["true"] == p


def test_weights_of_an_atom_change_its_odds():
    program = om.read_logic(EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db")
    before = program.marginals()["Cancer(Bob)"]["true"]
    after = program.knowing("0.8 Cancer(Bob)").marginals()["Cancer(Bob)"]["true"]
    assert after / (1 - after) == pytest.approx(4 * before / (1 - before))
