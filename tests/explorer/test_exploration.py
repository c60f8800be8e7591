"""What a page shows follows from what was clicked, and nothing else."""

import itertools
import shlex
import threading
import time

import numpy as np
import pytest

import orbitmc as om
from orbitmc import explorer
from orbitmc.explorer.answers import divergence_bits
from orbitmc.explorer.exploration import pulled
from tests.cli.commands import answer_of
from tests.explorer.served import EXAMPLES, SPRINKLER

SECONDS = 60


class Page:
    """Keeps what an exploration says."""

    def __init__(self, model, evidence=None, **options):
        findings = explorer.findings_of(model, evidence) if isinstance(model, om.Model) else {}
        origin = options.pop("origin", explorer.Origin())
        settings = om.Settings(**options)
        self.messages, self.news = [], threading.Condition()
        shown = explorer.explored(model, findings, settings, origin)
        self.exploration = explorer.Exploration(shown, self._hear)
        self.do("begin")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.exploration.close()
        assert self.exploration.join(SECONDS)

    def _hear(self, message):
        with self.news:
            self.messages.append(message)
            self.news.notify_all()

    def do(self, action, **fields):
        self.exploration.handle({"do": action, **fields})

    def last(self, kind):
        """Wait for a message of a kind about the present evidence."""

        def find():
            version = self.exploration.version
            for message in reversed(self.messages):
                if message["say"] == kind and message.get("version", version) == version:
                    return message
            return None

        with self.news:
            assert self.news.wait_for(find, SECONDS), f"nothing is said of {kind}"
            return find()

    def bars(self):
        """The probabilities of each name."""
        return {name: row["p"] for name, row in self.last("answer")["rows"].items()}

    @property
    def evidence(self):
        return self.last("state")["evidence"]


def chances(model, evidence=None):
    answer = om.marginals(model, evidence)
    return {name: marginal.probability.tolist() for name, marginal in answer.items()}


def is_same(bars, answer):
    assert bars.keys() == answer.keys()
    for name, p in answer.items():
        assert bars[name] == pytest.approx(p, abs=1e-9), name
    return True


@pytest.fixture(scope="module")
def sprinkler():
    return om.read(SPRINKLER)


def test_clicks_are_evidence_and_a_second_click_takes_it_back(sprinkler):
    with Page(sprinkler, {"grass": "wet"}) as page:
        assert is_same(page.bars(), chances(sprinkler, {"grass": "wet"}))
        page.do("observe", name="rain", value="light")
        assert is_same(page.bars(), chances(sprinkler, {"grass": "wet", "rain": "light"}))
        page.do("observe", name="rain", value="heavy")
        assert page.evidence == {"grass": "wet", "rain": "heavy"}
        page.do("observe", name="rain", value="heavy")
        assert page.evidence == {"grass": "wet"}
        page.do("forget", name="grass")
        assert is_same(page.bars(), chances(sprinkler))


def test_steps_are_taken_back_and_taken_again(sprinkler):
    with Page(sprinkler) as page:
        page.do("observe", name="rain", value="light")
        page.do("observe", name="grass", value="wet")
        page.do("undo")
        assert page.evidence == {"rain": "light"}
        page.do("undo")
        page.do("undo")
        assert page.evidence == {}
        page.do("go", to=2)
        assert page.evidence == {"rain": "light", "grass": "wet"}
        page.do("go", to=7)
        page.do("undo")
        page.do("redo")
        page.do("redo")
        assert page.evidence == {"rain": "light", "grass": "wet"}
        page.do("undo")
        page.do("observe", name="season", value="dry")
        state = page.last("state")
        assert state["steps"] == ["begin", "rain = light", "season = dry"]
        page.do("clear")
        assert is_same(page.bars(), chances(sprinkler))


def test_a_bar_that_is_dragged_brings_the_probability_there(sprinkler):
    with Page(sprinkler, {"grass": "wet"}) as page:
        before = page.bars()
        page.do("pull", name="rain", value="light", to=0.75, more=False)
        after = page.bars()["rain"]
        assert after[1] == pytest.approx(0.75, abs=1e-9)
        assert after[0] / after[2] == pytest.approx(before["rain"][0] / before["rain"][2])
        weights = page.evidence["rain"]
        assert max(weights) == 1
        assert is_same(page.bars(), chances(sprinkler, {"grass": "wet", "rain": weights}))


def test_while_a_bar_is_dragged_there_is_one_step(sprinkler):
    with Page(sprinkler) as page:
        page.bars()
        for number, goal in enumerate((0.3, 0.5, 0.8)):
            page.do("pull", name="rain", value="heavy", to=goal, more=number > 0)
            assert page.bars()["rain"][2] == pytest.approx(goal, abs=1e-9)
        assert page.last("state")["total"] == 2
        page.do("undo")
        assert page.evidence == {}


def test_a_bar_that_is_dragged_to_its_end_decides():
    values = ("off", "on", "high")
    assert pulled([0.5, 0.3, 0.2], None, values, 1, 1.0) == "on"
    assert pulled([0.5, 0.3, 0.2], None, values, 1, 0.0) == (1.0, 0.0, 1.0)
    with pytest.raises(om.InputError, match="0 or 1"):
        pulled([1.0, 0.0, 0.0], "off", values, 1, 0.5)


def test_impossible_evidence_is_said_with_those_to_blame():
    values = {"a": ("no", "yes"), "b": ("no", "yes"), "c": ("no", "yes")}
    same = [[1.0, 0.0], [0.0, 1.0]]
    model = om.model(values, [(["a", "b"], same), (["b", "c"], [[1, 2], [2, 1]])])
    with Page(model) as page:
        page.do("observe", name="c", value="yes")
        page.do("observe", name="a", value="yes")
        page.do("observe", name="b", value="no")
        conflict = page.last("conflict")
        assert "impossible" in conflict["words"] or "contradict" in conflict["words"]
        deadline = time.monotonic() + SECONDS
        while not page.last("conflict")["blamed"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sorted(page.last("conflict")["blamed"]) == ["a", "b"]
        page.do("undo")
        assert is_same(page.bars(), chances(model, {"c": "yes", "a": "yes"}))


def test_the_right_column_says_what_the_questions_say(sprinkler):
    with Page(sprinkler) as page:
        page.do("select", name="rain")
        page.bars()
        page.do("observe", name="grass", value="wet")
        evidence = {"grass": "wet"}
        weight = page.last("weight")
        assert weight["nats"] == pytest.approx(om.log_z(sprinkler, evidence).value)
        best = page.last("best")
        state = om.best(sprinkler, evidence)[0]
        assert best["values"] == {name: state[name] for name in state if name != "grass"}
        found = om.information(sprinkler, "rain", evidence=evidence)
        rows = {row["name"]: row["bits"] for row in page.last("next")["rows"]}
        assert rows == {name: pytest.approx(float(each.value)) for name, each in found.items()}
        joint = om.joint(sprinkler, list(sprinkler.names), evidence).probability
        assert best["p"] == pytest.approx(float(joint.max()))


def test_what_changed_most_is_measured_from_the_step_before(sprinkler):
    with Page(sprinkler) as page:
        page.bars()
        page.do("observe", name="grass", value="wet")
        rows = {row["name"]: row for row in page.last("changed")["rows"]}
        before, after = chances(sprinkler), chances(sprinkler, {"grass": "wet"})
        assert "grass" not in rows
        for name, row in rows.items():
            p, q = np.array(before[name]), np.array(after[name])
            middle = (p + q) / 2
            terms = [np.sum(x[x > 0] * np.log2(x[x > 0] / middle[x > 0])) for x in (p, q)]
            assert row["bits"] == pytest.approx(sum(terms) / 2)


def test_an_atom_of_which_one_value_is_told_has_a_rest():
    start = np.array([0, 1])
    both = divergence_bits(np.array([0.3, 0.7]), np.array([0.9, 0.1]), np.array([0, 2]))
    alone = divergence_bits(np.array([0.3]), np.array([0.9]), start)
    assert alone == pytest.approx(both)


def test_sampled_bars_become_sharper_and_have_errors(tmp_path):
    model = om.ising_grid(5, 5, 0.2, 0.1)
    exact = chances(model)
    with Page(model, method="gibbs", seconds=4.0, seed=1) as page:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            told = [message for message in page.messages if message["say"] == "answer"]
            if len(told) > 1:
                break
            time.sleep(0.05)
        assert not told[0]["exact"]
        assert max(told[1]["errors"]) < max(told[0]["errors"])
        page.do("select", name="s2_2")
        row = page.last("answer")["rows"]["s2_2"]
        for p, error, truth in zip(row["p"], row["error"], exact["s2_2"], strict=True):
            assert error > 0
            assert abs(p - truth) < 6 * error


@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_other_questions_are_asked_of_a_short_run_too(sprinkler, seconds):
    with Page(sprinkler, {"grass": "wet"}, method="gibbs", seconds=seconds) as page:
        assert page.last("best")["values"]["sprinkler"] == "on"
        told = [message for message in page.messages if message["say"] == "answer"]
        assert len(told) == 1
        assert sum(message["say"] == "best" for message in page.messages) == 1


def test_bars_do_not_wait_for_a_question_that_does_not_end(sprinkler, monkeypatch):
    """The best explanation of the step before may be under way where nothing interrupts it."""
    ended = threading.Event()

    def search_for_long(*arguments, **options):
        ended.wait(SECONDS)
        raise om.LimitError("it took too long")

    with Page(sprinkler) as page:
        page.bars()
        monkeypatch.setattr("orbitmc.inference._best.best", search_for_long)
        page.do("observe", name="grass", value="wet")
        page.last("next")
        page.do("observe", name="rain", value="light")
        assert is_same(page.bars(), chances(sprinkler, {"grass": "wet", "rain": "light"}))
        ended.set()
        assert page.last("best")["words"] == "it took too long"


def test_new_evidence_ends_what_is_under_way():
    model = om.ising_grid(20, 20, 0.3, 0.1)
    with Page(model, method="gibbs", seconds=600.0, standard_error=1e-9) as page:
        page.last("answer")
        for number in range(5):
            page.do("observe", name=f"s{number}_0", value="up")
        version = page.exploration.version
        answer = page.last("answer")
        assert answer["version"] == version
        page.do("pause")
        time.sleep(1.0)
        count = len(page.messages)
        time.sleep(1.0)
        assert len(page.messages) == count


def test_a_program_is_a_table_of_atoms():
    program = om.read_logic(
        EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db", query="Smokes,Cancer"
    )
    with Page(program) as page:
        table = page.last("answer")["table"]
        assert table["total"] == 8
        assert table["rows"]["Smokes(Anna)"]["verdict"] == "observed"
        page.do("observe", name="Smokes(Anna)", value="false")
        assert "known beforehand" in page.last("trouble")["words"]
        page.do("observe", name="Cancer(Bob)", value="true")
        page.do("observe", name="Cancer(Cloe)", value="false")
        expected = chances(program.knowing("Cancer(Bob)", "!Cancer(Cloe)"))
        rows = page.last("answer")["table"]["rows"]
        assert {name: row["p"] for name, row in rows.items()} == {
            name: pytest.approx(p) for name, p in expected.items()
        }
        page.do("pull", name="Smokes(Bob)", value="true", to=0.9, more=False)
        rows = page.last("answer")["table"]["rows"]
        assert rows["Smokes(Bob)"]["p"] == [pytest.approx(0.9, abs=1e-5)]
        page.do("rows", text="smokes", first=0)
        assert list(page.last("table")["rows"]) == [f"Smokes({x})" for x in PEOPLE]


PEOPLE = ("Anna", "Bob", "Cloe", "Dave")


def test_a_bar_with_soft_evidence_is_dragged_to_where_it_should_be(tmp_path):
    (tmp_path / "two.mln").write_text("t = {A, B}\nP(t)\n0.5 P(x)\n1.0 P(A) ^ P(B)\n")
    database = ["0.7 P(A)"]
    program = om.read_logic(tmp_path / "two.mln", evidence=database, opened=["P"])
    with Page(program) as page:
        page.last("answer")
        page.do("pull", name="P(A)", value="true", to=0.4, more=False)
        rows = page.last("answer")["table"]["rows"]
        assert rows["P(A)"]["p"] == [pytest.approx(0.4, abs=1e-5)]
        copied = {}
        exec(page.last("state")["python"], {"program": program, "om": om}, copied)
        assert copied["answer"]["P(A)"]["true"] == pytest.approx(0.4, abs=1e-5)


def test_what_is_copied_asks_the_same(sprinkler):
    python = ("import orbitmc as om", "", f"model = om.read({str(SPRINKLER)!r})")
    origin = explorer.Origin(("orbitmc", "infer", str(SPRINKLER)), python)
    with Page(sprinkler, {"grass": "wet"}, origin=origin) as page:
        page.bars()
        page.do("observe", name="season", value="dry")
        page.bars()
        page.do("pull", name="rain", value="light", to=0.4, more=False)
        bars, state = page.bars(), page.last("state")
    told = answer_of(*shlex.split(state["command"])[1:])["variables"]
    names = {}
    exec(state["python"], names)
    for name, p in bars.items():
        assert told[name]["probability"] == pytest.approx(p, abs=1e-5)
        assert names["answer"][name].probability.tolist() == pytest.approx(p, abs=1e-5)


def test_a_report_page_is_sent(sprinkler):
    with Page(sprinkler) as page:
        page.bars()
        page.do("report")
        assert page.last("report")["page"].startswith("<!doctype html>")


def test_a_page_that_was_cut_off_brings_its_evidence_along(sprinkler):
    with Page(sprinkler) as page:
        page.do(
            "begin", evidence={"rain": "light", "snow": "yes", "grass": [1, 2], "season": [0, 0]}
        )
        assert page.evidence == {"rain": "light", "grass": [0.5, 1.0]}


def test_what_a_model_was_given_stays_as_it_is(sprinkler):
    with Page(sprinkler.given({"grass": "wet"})) as page:
        assert page.last("model")["fixed"] == {"grass": "wet"}
        page.do("observe", name="grass", value="dry")
        assert "known beforehand" in page.last("trouble")["words"]


def test_the_neighbourhood_of_a_large_field_is_known_at_once():
    names = [f"n{k}" for k in range(150)]
    tables = [([a, b], [[3, 1], [1, 2]]) for a, b in itertools.pairwise(names)]
    model = om.model(dict.fromkeys(names, ("no", "yes")), tables)
    with Page(model, method="gibbs", seconds=600.0, standard_error=1e-9) as page:
        assert len(page.last("answer")["rows"]) == 60
        page.do("look", name="n140")
        after = page.last("answer")
        asked = om.marginals(model)
        assert "n149" in after["rows"]
        assert "n2" not in after["rows"]
        for name, row in after["rows"].items():
            assert abs(row["p"][1] - asked[name]["yes"]) < 8 * row["error"][1]


def test_names_are_found_by_their_letters(sprinkler):
    with Page(sprinkler) as page:
        page.do("find", text="S")
        found = page.last("found")
        assert found["names"] == ["season", "sprinkler", "grass"]
        assert found["total"] == 3
