"""The page is for who has its address, on this machine; all others are refused."""

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import orbitmc as om
from tests.cli.commands import orbitmc
from tests.explorer.served import EXAMPLES, SPRINKLER, ended, page_of, serve

refusals = pytest.importorskip(
    "websockets.exceptions", reason="the extra `explore` is not installed"
)


sends_signals = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")


@pytest.fixture(scope="module")
def served():
    with serve(SPRINKLER, "-e", "grass=wet") as one:
        yield one


def get(served, path, **headers):
    connection = http.client.HTTPConnection(served.host, timeout=30)
    connection.request("GET", path, headers=headers)
    try:
        answer = connection.getresponse()
        return answer, answer.read().decode()
    finally:
        connection.close()


def test_the_page_has_what_it_needs_and_nothing_from_elsewhere(served):
    for name in ("", "explore.js", "explore.css"):
        answer, text = get(served, served.parts.path + name)
        assert answer.status == 200
        assert text
        assert "//" not in text.replace("http://www.w3.org/2000/svg", "") or name == "explore.js"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/explore.js", "/wrong/socket"])
def test_without_the_token_nothing_is_shown(served, path):
    answer, text = get(served, path)
    assert answer.status == 403
    assert served.parts.path.strip("/") not in text


def test_another_file_is_not_found(served):
    for name in ("server.py", "..%2fserver.py", "other"):
        assert get(served, served.parts.path + name)[0].status in (403, 404)


def test_another_name_of_this_machine_is_refused(served):
    """A page may give its own name the address of loopback, and ask under that name."""
    assert get(served, served.parts.path, Host="example.org")[0].status == 403
    port = served.parts.port
    assert get(served, served.parts.path, Host=f"localhost:{port}")[0].status == 200


def test_another_origin_is_refused(served):
    assert get(served, served.parts.path, Origin="http://example.org")[0].status == 403
    ours = f"http://{served.host}"
    assert get(served, served.parts.path, Origin=ours)[0].status == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", None, "http://127.0.0.1"])
def test_a_socket_for_another_origin_is_refused(served, origin):
    with (
        pytest.raises(refusals.InvalidStatus),
        page_of(served, origin=origin) as page,
    ):
        page.hear("model")


def test_two_tokens_are_not_the_same(served):
    with serve(SPRINKLER) as other:
        assert other.parts.path != served.parts.path
        assert len(other.parts.path) > 30


def test_it_listens_on_loopback_only(served):
    try:
        outside = socket.gethostbyname(socket.gethostname())
    except OSError:
        pytest.skip("this machine has no name")
    if outside.startswith("127."):
        pytest.skip("this machine has no address outside")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((outside, served.parts.port), timeout=10)


def test_bars_are_the_answers_of_marginals(served):
    answer = om.marginals(om.read(SPRINKLER), {"grass": "wet", "rain": "light"})
    with page_of(served) as page:
        page.hear("answer")
        bars = page.ask(do="observe", name="rain", value="light")["rows"]
        for name, marginal in answer.items():
            assert bars[name]["p"] == pytest.approx(marginal.probability.tolist(), abs=1e-12)
            assert bars[name]["verdict"] == marginal.verdict


def test_two_tabs_have_evidence_of_their_own(served):
    with page_of(served) as first, page_of(served) as second:
        first.hear("answer")
        second.hear("answer")
        first.ask(do="observe", name="rain", value="light")
        bars = second.ask(do="observe", name="season", value="dry")["rows"]
        assert second.heard["state"]["evidence"] == {"grass": "wet", "season": "dry"}
        assert bars["rain"]["verdict"] == "exact"


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "{}", '{"do": "close"}', '{"do": ["begin"]}', "[" * 50_000, "1e999"]
)
def test_what_is_no_message_is_said_and_changes_nothing(served, text):
    with page_of(served) as page:
        page.hear("answer")
        page.connection.send(text)
        assert "does not exist" in page.hear("trouble")["words"]
        page.ask(do="observe", name="rain", value="light")


@pytest.mark.parametrize(
    "message",
    [
        {"do": "observe", "name": "snow", "value": "light"},
        {"do": "observe", "name": ["rain"], "value": "light"},
        {"do": "observe", "name": "rain", "value": "drizzle"},
        {"do": "observe", "name": "rain", "value": {"light": 1}},
        {"do": "pull", "name": "rain", "value": "light", "to": "far"},
        {"do": "pull", "name": "grass", "value": "wet", "to": 0.5},
    ],
)
def test_what_makes_no_sense_is_said_in_words(served, message):
    with page_of(served) as page:
        page.hear("answer")
        page.say(**message)
        assert page.hear("trouble")["words"]
        page.ask(do="observe", name="rain", value="none")


def test_a_message_that_is_too_large_closes_the_page(served):
    with page_of(served) as page:
        page.hear("answer")
        page.connection.send("x" * 2**20)
        with pytest.raises(refusals.ConnectionClosed):
            page.hear("trouble")
    with page_of(served) as page:
        page.hear("answer")


def test_there_are_not_more_pages_than_it_can_serve(served):
    with ExitStack() as opened:
        for _ in range(16):
            opened.enter_context(page_of(served)).hear("answer")
        with pytest.raises(refusals.ConnectionClosed) as closed, page_of(served) as page:
            page.hear("answer")
        assert "close one" in str(closed.value)
    time.sleep(0.5)
    with page_of(served) as page:
        page.hear("answer")


@sends_signals
def test_ctrl_c_ends_it_as_it_should_end():
    with serve(SPRINKLER) as one, page_of(one) as page:
        page.hear("answer")
        code, said = one.interrupt()
        assert code == 0
        assert "Traceback" not in said


@sends_signals
def test_ctrl_c_ends_a_sampled_answer(tmp_path):
    om.write(om.ising_grid(30, 30, 0.3, 0.1), tmp_path / "grid.uai")
    with serve(tmp_path / "grid.uai", "--method", "gibbs") as one, page_of(one) as page:
        page.hear("answer")
        code, said = one.interrupt()
        assert code == 0
        assert "Traceback" not in said


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_closing_the_page_ends_its_work(tmp_path):
    om.write(om.ising_grid(30, 30, 0.3, 0.1), tmp_path / "grid.uai")
    words = (tmp_path / "grid.uai", "--method", "gibbs", "--error", "1e-9")
    with serve(*words) as one:
        with page_of(one) as page:
            page.hear("answer")
        time.sleep(3.0)
        before = one.cpu_seconds()
        time.sleep(2.0)
        assert one.cpu_seconds() - before < 0.5


def test_a_port_that_is_taken_is_said_in_a_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = orbitmc("explore", SPRINKLER, "--port", port)
    assert done.returncode == 2
    assert f"port {port}: another program listens there" in done.stderr


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_is_said(port):
    done = orbitmc("explore", SPRINKLER, "--port", port)
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_a_missing_file_is_said(tmp_path):
    done = orbitmc("explore", tmp_path / "nothing.bif")
    assert done.returncode == 2
    assert "nothing.bif" in done.stderr


def test_what_cannot_be_explored_is_said():
    with pytest.raises(om.InputError, match="become sharper by the clock"):
        om.explore(om.read(SPRINKLER), samples=100)
    done = orbitmc("explore", EXAMPLES / "ring.uai", "-q", "Smokes")
    assert "belongs to Markov logic programs" in done.stderr


MISSING = """
import sys
sys.modules[{library!r}] = None
from typer.testing import CliRunner
from orbitmc.cli.main import app
done = CliRunner().invoke(app, ["explore", {model!r}])
print(done.exit_code, done.stderr)
"""


@pytest.mark.parametrize("library", ["starlette", "uvicorn", "websockets"])
def test_a_missing_extra_is_named(library):
    script = MISSING.format(library=library, model=str(SPRINKLER))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert f"this needs the library {library}: pip install 'orbitmc[explore]'" in done.stdout
    assert done.stdout.startswith("2 ")


def test_other_questions_load_nothing_of_it():
    script = (
        "import sys, orbitmc as om\n"
        f"om.marginals(om.read({str(SPRINKLER)!r}))\n"
        "import orbitmc.cli.main\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"starlette", "uvicorn", "websockets", "anywidget"}
    assert "orbitmc.explorer" not in done.stdout.split()


@sends_signals
def test_sigterm_ends_it_too():
    with serve(SPRINKLER) as one:
        one.process.terminate()
        assert ended(one.process) == 0
