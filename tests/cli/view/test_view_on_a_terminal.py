"""The view on a real pseudo-terminal, with real processes: what is seen, what the keys do, and how it is left.

The snapshots were looked at; a colour stands in them as `‹31›`, and its end as `‹›`. Run with UPDATE_SNAPSHOTS=1 to
write them anew, and look at what changed.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.view.conftest import Shop, Show, Told
from tests.cli.view.watched import Watched

pytestmark = pytest.mark.slow

SNAPSHOTS = Path(__file__).parent / "snapshots"
# Of one width each, so that columns stay where they are.
MASKS = (
    (re.compile(r"(?<= :)\d{5}\b"), "12345"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "14:02:11"),
    (re.compile(r"\b\d\.\ds"), "1.2s"),
    (re.compile(r"\b\ds\b"), "1s"),
)
NAMES = ("db", "migrate", "api", "web")


def is_as_seen(name: str, text: str) -> None:
    """Whether a text is the one that was looked at."""
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize(("columns", "look"), [(80, "colour"), (140, "plain")])
def test_a_table_fills_and_what_the_app_prints_follows(shop: Shop, show: Show, columns: int, look: str) -> None:
    colours = look == "colour"
    with show(columns=columns, **({} if colours else {"NO_COLOR": "1"})) as view:
        view.until(lambda text: bool(re.search(r"starting +1s", text) and re.search(r"api .* waiting for mig", text)))
        is_as_seen(f"starting-{columns}-{look}", view.terminal.text(colours=colours))
        shop.change("go")
        view.until("it is cold")
        shop.change("api.conf")
        view.until("api restarted")
        view.press("q")
        assert view.ends() == 0
        assert bool(re.search(r"\x1b\[[\d;]*m", view.raw)) is colours
        is_as_seen(f"ready-{columns}-{look}", view.terminal.text(colours=colours))


@pytest.mark.parametrize(("columns", "look"), [(80, "plain"), (140, "colour")])
def test_what_fails_is_explained_and_the_rest_runs(shop: Shop, show: Show, columns: int, look: str) -> None:
    shop.change("go")
    shop.does("migrate", "say looking for the tables", "warn ModuleNotFoundError: No module named 'tables'", "exit 3")
    with show("quiet", columns=columns, **({} if look == "colour" else {"NO_COLOR": "1"})) as view:
        view.until("hint:")
        is_as_seen(f"failed-{columns}-{look}", view.terminal.text(colours=look == "colour"))
        shop.does("migrate")
        view.press("r")
        view.until("restart which?")
        view.press("2")
        view.until("all ready")
        view.press("d")
        assert view.ends() == 0
        seen = view.text
    assert "migrate done again" in seen
    assert "outcome detached" in seen
    assert "restart which?" not in seen


def test_a_change_of_size_while_it_fills_leaves_one_table_and_folds_what_has_no_room(shop: Shop, show: Show) -> None:
    with show("quiet", columns=100) as view:
        view.until("waiting for api")
        for columns in (60, 120, 50):
            view.resize(columns, 30)
            view.until(lambda text: text.count("\n  web ") == 1 and text.count("of 4 ready") == 1)
        view.resize(80, 5)
        view.until("… 2 more: 2 not ready")
        shop.change("go")
        seen = view.until("ready in")
    assert all(re.search(rf"^  {name} .*(ready|done)", seen, re.MULTILINE) for name in NAMES)
    assert "more:" not in seen


def test_keys_show_and_hide_output_and_explain_themselves(shop: Shop, show: Show) -> None:
    shop.change("go")
    with show() as view:
        view.until("it is cold")
        view.press("?")
        view.until("marks lines of stderr")
        view.press("l")
        view.until("output hidden")
        view.press("l")
        view.until("output shown")
        view.press("r")
        view.until("restart which?")
        view.press("\x1b")
        view.until(lambda text: "restart which?" not in text)
        view.press("\x1b[A")  # an arrow means nothing
        view.press("r1")
        view.until("db restarted: a restart was requested")
        seen = view.until(lambda text: text.count("it is cold") == 2)
        assert view.is_taken
        view.press("\x03")
        assert view.ends() == 0
        assert "outcome quit" in view.text
        assert not view.is_taken
    # What was printed before it was hidden is not printed again.
    assert seen.count("db is up") == 2


def test_output_can_be_shown_before_all_is_ready(shop: Shop, show: Show) -> None:
    shop.does("db", "say still loading", "await go", "say db is up")
    with show() as view:
        view.until("waiting for db")
        view.press("l")
        view.until("│ still loading")
        shop.change("go")
        view.until("all ready")
        view.press("q")
        assert view.ends() == 0


def test_who_only_joined_leaves_the_app_alone(shop: Shop, show: Show) -> None:
    with show("joined") as view:
        view.until("[l]ogs [r]estart [q] leave")
        view.press("q")
        assert view.ends() == 0
        assert "outcome left" in view.text
        # What was seen last is still to be seen.
        assert "waiting for api" in view.text


def test_a_signal_ends_the_view_in_good_order(shop: Shop, show: Show) -> None:
    with show("quiet") as view:
        view.until("waiting for db")
        os.kill(view.process.pid, signal.SIGTERM)
        assert view.ends() == 0
        assert "outcome quit" in view.text
        assert not view.is_taken


def test_the_terminal_is_given_back_when_something_goes_wrong(shop: Shop, show: Show) -> None:
    with show("broken") as view:
        assert view.ends() == 1
        assert "AttributeError" in view.text
        assert not view.is_taken


def test_it_can_be_stopped_and_goes_on_where_it_was(shop: Shop) -> None:
    words = " ".join(f"'{word}'" for word in shop.command("quiet"))
    script = f"set -m; {words}; stty -a | grep -o '.icanon'; while ! [ -e on ]; do sleep 0.05; done; fg"

    def start(terminal: str) -> subprocess.Popen[bytes]:
        # A shell that has the terminal for its own, and so can have others in the foreground.
        command = ["setsid", "--ctty", "bash", "-c", script]
        with open(terminal, "r+b", buffering=0) as opened:
            streams = {"stdin": opened, "stdout": opened, "stderr": opened}
            return subprocess.Popen(command, env=shop.environ(), cwd=shop.directory, **streams)  # type: ignore[call-overload,no-any-return]

    view = Watched(start, 80, 30)
    try:
        view.until("waiting for db")
        view.press("\x1a")
        view.until(" icanon")
        assert not view.is_taken
        shop.change("on")
        shop.change("go")
        view.until("ready in")
        assert view.is_taken
        view.press("q")
        view.ends()
        assert "outcome quit" in view.text
        assert not view.is_taken
    finally:
        view.close()


def test_a_terminal_that_nobody_reads_does_not_keep_the_view_from_ending(shop: Shop, show: Show) -> None:
    shop.does("db", "say db is up", *(["say " + "x" * 200] * 1_000))
    with show() as view:
        view.until("waiting for")
        shop.change("go")
        # Nothing is read from here on until the view has ended, so that the terminal takes no more.
        time.sleep(1)
        os.kill(view.process.pid, signal.SIGTERM)
        while not (shop.directory / "ended").exists():
            time.sleep(0.01)
        assert view.ends() == 0
        assert "outcome quit" in view.text


def test_elsewhere_than_on_a_terminal_every_change_is_a_line(shop: Shop, told: Told) -> None:
    shop.change("go")
    code, text = told("until_ready")
    assert code == 0
    assert "\x1b" not in text
    lines = [re.sub(r"\d\.\ds", "1.2s", line) for line in text.splitlines()]
    assert lines[0] == "shop · session shop-3f2a"
    of_web = [line for line in lines if line.startswith("web")]
    # That it starts may be over before anybody looks.
    assert [line for line in of_web if line != "web starting"] == ["web waiting for api", "web ready (1.2s)"]
    assert "migrate done (1.2s)" in lines
    assert lines[-2:] == ["ready in 1.2s · critical path db → migrate → api → web", "outcome ready"]


def test_what_waits_until_all_is_ready_says_what_failed_and_what_is_late(shop: Shop, told: Told) -> None:
    assert told("until_ready", "impatient")[1].endswith("outcome late db migrate api web\n")
    shop.change("go")
    shop.does("migrate", "warn no tables", "exit 3")
    _, text = told("until_ready")
    assert "migrate failed: exit code 3 · setpoint why migrate\n  │ no tables\n" in text
    assert text.endswith("outcome failed migrate\n")


def test_a_terminal_that_cannot_move_its_cursor_gets_lines_and_keys(shop: Shop, show: Show) -> None:
    with show("quiet", TERM="dumb") as view:
        view.until("migrate waiting for db")
        shop.change("go")
        view.until("[l]ogs [r]estart")
        os.kill(view.process.pid, signal.SIGHUP)
        assert view.ends() == 0
        assert "\x1b" not in view.raw
        assert "web ready (" in view.text
        assert "outcome quit" in view.text
