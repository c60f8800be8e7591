"""The page in a real browser: what is clicked, drawn and typed is what is answered."""

import importlib.util
import itertools
import json
import re
from pathlib import Path

import pytest

import orbitmc as om
from orbitmc import explorer
from orbitmc.explorer.server import read_asset
from tests.explorer.browser import Window, browser, needs_chromium
from tests.explorer.served import EXAMPLES, SPRINKLER, serve

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None, reason="Playwright is not installed"
    ),
]


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def sprinkler():
    return om.read(SPRINKLER)


@pytest.fixture(scope="module")
def served():
    with serve(SPRINKLER, "-e", "grass=wet") as one:
        yield one


def is_same(window, model, evidence):
    answer = om.marginals(model, evidence)
    for name, p in window.bars(model).items():
        assert p == pytest.approx(answer[name].probability.tolist(), abs=1e-9), name
    return True


def test_a_click_is_evidence_and_undo_takes_it_back(chromium, served, sprinkler):
    with Window(chromium, served) as window:
        assert is_same(window, sprinkler, {"grass": "wet"})
        window.observe("rain", "light")
        assert is_same(window, sprinkler, {"grass": "wet", "rain": "light"})
        assert window.row("rain", "light").get_attribute("aria-pressed") == "true"
        window.observe("season", "dry")
        window.do(lambda: window.page.get_by_role("button", name="take the last step back").click())
        assert is_same(window, sprinkler, {"grass": "wet", "rain": "light"})
        window.do(lambda: window.page.keyboard.press("Control+z"))
        assert is_same(window, sprinkler, {"grass": "wet"})
        window.do(lambda: window.page.keyboard.press("Control+y"))
        assert is_same(window, sprinkler, {"grass": "wet", "rain": "light"})


def test_a_bar_is_dragged_with_the_mouse(chromium, served, sprinkler):
    with Window(chromium, served) as window:
        bar = window.row("rain", "light").locator(".omx-bar").bounding_box()
        middle = bar["y"] + bar["height"] / 2

        def draw():
            window.page.mouse.move(bar["x"] + 3, middle)
            window.page.mouse.down()
            for share in (0.3, 0.5, 0.6, 0.75):
                window.page.mouse.move(bar["x"] + share * bar["width"], middle)
            window.page.mouse.up()

        window.do(draw)
        row = window.row("rain", "light")
        for _ in range(50):
            if abs(float(row.get_attribute("data-p")) - 0.75) < 0.02:
                break
            window.page.wait_for_timeout(100)
        assert float(row.get_attribute("data-p")) == pytest.approx(0.75, abs=0.02)
        assert row.get_attribute("aria-pressed") == "mixed"
        history = window.page.locator("[data-part=history] li")
        assert history.count() == 2


def test_everything_can_be_done_with_the_keyboard(chromium, served, sprinkler):
    with Window(chromium, served) as window:
        window.row("rain", "none").focus()
        window.page.keyboard.press("ArrowDown")
        window.do(lambda: window.page.keyboard.press("Enter"))
        assert is_same(window, sprinkler, {"grass": "wet", "rain": "light"})
        window.do(lambda: window.page.keyboard.press("Delete"))
        assert is_same(window, sprinkler, {"grass": "wet"})
        before = window.bars(sprinkler)["rain"][1]
        window.do(lambda: window.page.keyboard.press("ArrowRight"))
        assert window.bars(sprinkler)["rain"][1] > before


def test_every_button_has_a_name_and_every_bar_says_its_numbers(chromium, served):
    with Window(chromium, served) as window:
        for button in window.page.locator("button:visible").all():
            assert button.get_attribute("aria-label") or button.inner_text().strip()
        label = window.row("rain", "heavy").get_attribute("aria-label")
        assert re.fullmatch(r"rain = heavy: 0\.\d+, exact", label)
        boxes = window.page.locator('.omx-canvas [role="group"]')
        assert boxes.count() == 4
        assert window.page.locator("[role=status]").inner_text().startswith("exact")


def test_impossible_evidence_is_said_in_words(chromium, tmp_path):
    model = om.model(
        {"a": ("no", "yes"), "b": ("no", "yes")},
        [(["a"], [0.5, 0.5]), (["a", "b"], [[1.0, 0.0], [0.0, 1.0]])],
    )
    om.write(model, tmp_path / "same.json")
    with serve(tmp_path / "same.json") as one, Window(chromium, one) as window:
        window.observe("a", "yes")
        window.observe("b", "no")
        alert = window.page.get_by_role("alert")
        alert.get_by_text("These cannot be true together").wait_for()
        assert "a: yes" in alert.inner_text()
        assert "b: no" in alert.inner_text()
        window.do(lambda: alert.get_by_role("button", name="take back a").click())
        assert is_same(window, model, {"b": "no"})
        assert not alert.is_visible()


def test_two_tabs_do_not_disturb_each_other(chromium, served, sprinkler):
    with Window(chromium, served) as first, Window(chromium, served) as second:
        first.observe("rain", "light")
        second.observe("season", "rainy")
        assert is_same(first, sprinkler, {"grass": "wet", "rain": "light"})
        assert is_same(second, sprinkler, {"grass": "wet", "season": "rainy"})


def test_a_wrong_token_shows_nothing(chromium, served):
    context = chromium.new_context()
    page = context.new_page()
    answer = page.goto(f"http://{served.host}/wrong/")
    assert answer.status == 403
    assert "token" in page.locator("body").inner_text()
    context.close()


INTRUDER = """<!doctype html><title>waiting</title><script>
const done = (words) => { document.title += " " + words; };
fetch("{address}").then((r) => r.text()).then((t) => done("read"), () => done("unread"));
const socket = new WebSocket("{socket}");
socket.onmessage = () => done("heard");
socket.onopen = () => socket.send('{"do": "begin"}');
socket.onerror = () => done("refused");
const frame = document.createElement("iframe");
frame.src = "{address}";
document.documentElement.append(frame);
</script>"""


def test_another_origin_is_refused_even_if_it_knows_the_address(chromium, served):
    """A page of another server tries to read ours, to talk to it, and to show it in a frame."""
    text = INTRUDER.replace("{address}", served.address).replace("{socket}", served.socket_address)
    context = chromium.new_context()
    page = context.new_page()
    page.route(
        "http://intruder.test/", lambda route: route.fulfill(body=text, content_type="text/html")
    )
    page.goto("http://intruder.test/")
    for _ in range(100):
        if "unread" in page.title() and "refused" in page.title():
            break
        page.wait_for_timeout(100)
    assert "unread" in page.title()
    assert "refused" in page.title()
    assert "heard" not in page.title()
    context.close()


def test_it_is_found_in_a_large_network(chromium, tmp_path):
    names = [f"n{k}" for k in range(200)]
    tables = [(["n0"], [0.5, 0.5])]
    tables += [([a, b], [[0.9, 0.1], [0.2, 0.8]]) for a, b in itertools.pairwise(names)]
    om.write(om.model(dict.fromkeys(names, ("no", "yes")), tables), tmp_path / "chain.bif")
    model = om.read(tmp_path / "chain.bif")
    with serve(tmp_path / "chain.bif") as one, Window(chromium, one) as window:
        search = window.page.get_by_role("searchbox")
        search.fill("n150")
        window.page.locator(".omx-found button").first.wait_for()
        window.do(lambda: window.page.keyboard.press("Enter"))
        window.observe("n150", "yes")
        answer = om.marginals(model, {"n150": "yes"})
        for name in ("n149", "n151", "n125"):
            shown = float(window.row(name, "yes").get_attribute("data-p"))
            assert shown == pytest.approx(answer[name]["yes"], abs=1e-9)
        changed = window.page.locator("[data-part=changed]")
        changed.get_by_text("bit").first.wait_for()


def test_a_lattice_is_drawn_as_cells(chromium, tmp_path):
    model = om.ising_grid(6, 7, 0.4, 0.1)
    om.write(model, tmp_path / "grid.uai")
    with serve(tmp_path / "grid.uai") as one, Window(chromium, one) as window:
        cells = window.page.locator(".omx-cell")
        assert cells.count() == 42
        name = cells.nth(9).get_attribute("data-name")
        window.do(lambda: cells.nth(9).click())
        window.do(lambda: window.page.locator('.omx-chosen [data-value="down"]').click())
        answer = om.marginals(om.read(tmp_path / "grid.uai"), {name: "down"})
        for cell in cells.all():
            p = answer[cell.get_attribute("data-name")]["up"]
            assert float(cell.get_attribute("data-p")) == pytest.approx(p, abs=1e-5)


def test_sampled_bars_have_whiskers_and_become_sharper(chromium, tmp_path):
    om.write(om.read(SPRINKLER), tmp_path / "model.bif")
    words = (tmp_path / "model.bif", "--method", "gibbs", "--error", "1e-9", "--seed", "1")
    with serve(*words) as one, Window(chromium, one) as window:
        row = window.row("rain", "heavy")
        first = float(row.get_attribute("data-error"))
        assert row.locator(".omx-whisker").is_visible()
        for _ in range(100):
            if float(row.get_attribute("data-error")) < 0.8 * first:
                break
            window.page.wait_for_timeout(100)
        assert float(row.get_attribute("data-error")) < 0.8 * first
        truth = om.marginals(om.read(SPRINKLER))["rain"]["heavy"]
        shown, error = (float(row.get_attribute(f"data-{key}")) for key in ("p", "error"))
        assert abs(shown - truth) < 6 * error


def test_a_program_is_a_table_with_a_filter(chromium):
    words = (EXAMPLES / "smokers.mln", "-e", EXAMPLES / "smokers.db", "-q", "Smokes,Cancer")
    program = om.read_logic(words[0], words[2], query="Smokes,Cancer")
    with serve(*words) as one, Window(chromium, one) as window:
        row = window.page.locator("tbody tr").filter(has_text="Cancer(Bob)")
        window.do(lambda: row.get_by_role("button", name="Cancer(Bob) is false").click())
        answer = om.marginals(program.knowing("!Cancer(Bob)"))
        for name in ("Smokes(Bob)", "Smokes(Cloe)", "Cancer(Anna)"):
            shown = float(window.row(name, "true").get_attribute("data-p"))
            assert shown == pytest.approx(answer[name]["true"], abs=1e-9)
        window.page.get_by_role("searchbox").fill("smokes")
        window.page.get_by_text("1 to 4 of 4").wait_for()
        assert window.page.locator("tbody tr").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1300])
def test_nothing_is_wider_than_the_window(chromium, served, scheme, width):
    with Window(chromium, served, color_scheme=scheme) as window:
        window.page.set_viewport_size({"width": width, "height": 800})
        window.page.wait_for_timeout(200)
        for part in (".omx-head", ".omx-body", ".omx-side"):
            box = window.page.locator(part).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width + 0.5


def test_names_are_only_text(chromium, tmp_path):
    """Whoever wrote the model can run nothing on the page."""
    bad = "<img src=x onerror=document.title='run'>"
    model = om.model(
        {bad: ("<b>no</b>", "yes"), "b": ("no", "yes")}, [([bad, "b"], [[1, 2], [3, 4]])]
    )
    om.write(model, tmp_path / "bad.json")
    with serve(tmp_path / "bad.json") as one, Window(chromium, one) as window:
        window.observe("b", "yes")
        assert window.page.locator("img").count() == 0
        assert "run" not in window.page.title()


def test_a_report_is_saved(chromium, served, tmp_path):
    with Window(chromium, served) as window:
        window.observe("rain", "light")
        with window.page.expect_download() as saved:
            window.page.get_by_role("button", name="Report page").click()
        saved.value.save_as(tmp_path / "report.html")
        text = Path(tmp_path / "report.html").read_text()
        assert "rain=light" in text
        assert "Marginals" in text


NOTEBOOK = """<!doctype html><body><div id="cell"></div><script type="module">
import widget from "./explore.js";
let hear = () => {};
const model = {
  send: (message) => toPython(JSON.stringify(message)),
  on: (event, act) => { hear = act; },
  off: () => { hear = () => {}; },
};
setInterval(async () => { for (const one of await fromPython()) hear(one); }, 20);
const cell = document.getElementById("cell");
window.close_cell = widget.render({ model, el: cell });
</script></body>"""


def test_the_same_module_draws_a_widget(chromium, sprinkler):
    """As a notebook does: messages go through a model that sends and hears."""
    said = []
    shown = explorer.explored(sprinkler, {}, om.Settings(), explorer.Origin())
    exploration = explorer.Exploration(shown, said.append)
    heard = []

    def to_python(text):
        heard.append(json.loads(text))
        exploration.handle(heard[-1])

    def from_python():
        taken = said[:]
        del said[: len(taken)]
        return taken

    page = chromium.new_page()
    page.expose_function("toPython", to_python)
    page.expose_function("fromPython", from_python)
    script = {"body": read_asset("explore.js"), "content_type": "text/javascript"}
    page.route("http://cell.test/explore.js", lambda route: route.fulfill(**script))
    page.route(
        "http://cell.test/", lambda route: route.fulfill(body=NOTEBOOK, content_type="text/html")
    )
    page.goto("http://cell.test/")
    page.wait_for_selector('#cell[data-answered="1"]')
    page.click('[data-name="grass"][data-value="wet"]')
    page.wait_for_selector('#cell[data-answered="2"]')
    p = om.marginals(sprinkler, {"grass": "wet"})["rain"]["light"]
    shown = page.get_attribute('[data-name="rain"][data-value="light"]', "data-p")
    assert float(shown) == pytest.approx(p, abs=1e-9)
    page.evaluate("window.close_cell()")
    page.wait_for_timeout(200)
    assert heard[-1] == {"do": "pause"}
    page.close()
    exploration.close()
    assert exploration.join(30)
