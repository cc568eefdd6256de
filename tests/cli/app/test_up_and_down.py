"""`up` and `down` when somebody is impatient, changes their mind, or is elsewhere: nothing half done remains, and
what is said is so."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ

from setpoint.cli.app import up
from setpoint.session.registry import Session, Sessions
from setpoint.session.startup import Started
from setpoint.workload.kinds.api_names import GROUP

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 30.0
PLAIN = "app: shop\nservices: { api: { run: sleep 600 } }\n"
# Says that it was asked to end, and does so only when the test permits it.
STUBBORN = """\
app: shop
services:
  api:
    run: "sh -c 'trap \\"touch asked\\" TERM; touch up; while [ ! -e may-end ]; do sleep 0.1; done; rm may-end'"
    stop: { grace: 60s }
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Shop]:
    """A directory with an app, of which nothing runs yet, nor any more."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "setpoint.yaml").write_text(PLAIN)
    found = Shop(directory, own_environ(tmp_path / "state"))
    yield found
    directory.mkdir(exist_ok=True)
    assert found.run("down", "--all", "--timeout", "0").code == 0


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def running(place: Shop) -> list[str]:
    return [session.app for session in Sessions.of(place.environ).alive()]


def begun(place: Shop) -> list[Path]:
    """The locks of hosts: each has begun to host something."""
    return list(Path(place.environ["XDG_STATE_HOME"]).glob("setpoint/sessions/shop-*/lock"))


def stubborn(place: Shop) -> None:
    """The app runs, and takes its time to end."""
    (place.directory / "setpoint.yaml").write_text(STUBBORN)
    assert place.run("up", "-d").code == 0
    until((place.directory / "up").exists)


def test_who_interrupts_while_the_file_is_read_sees_no_fault_and_leaves_nothing(place: Shop) -> None:
    (place.directory / "app.py").write_text("raise KeyboardInterrupt\n")
    assert place.run("up", "app.py") == (130, "", "")
    assert not begun(place)


def test_who_interrupts_while_it_starts_leaves_nothing_even_if_it_was_to_run_on(place: Shop) -> None:
    with place.running("up", "-d") as process:
        until(lambda: begun(place))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in (0, 130)  # in time to be taken for a quit, it ends as one
    until(lambda: not running(place))


def test_what_is_being_ended_starts_when_that_is_done(place: Shop) -> None:
    stubborn(place)
    with place.running("down") as down:
        until((place.directory / "asked").exists)
        with place.running("up", "-d") as again:
            assert again.stderr is not None
            assert again.stderr.readline() == "shop is stopping; it starts again afterwards\n"
            (place.directory / "may-end").touch()
            out, err = again.communicate(timeout=60)
        assert "nothing left running (1 process checked)" in down.communicate(timeout=PATIENCE_SECONDS)[0]
    assert (again.returncode, err) == (0, ""), out
    assert running(place) == ["shop"]


def test_down_names_the_processes_that_it_waits_for(place: Shop) -> None:
    stubborn(place)
    with place.running("down") as down:
        assert down.stderr is not None
        line = down.stderr.readline()
        assert re.fullmatch(r"waiting for api \[pid \d+ \(sh\)(, pid \d+ \(\w*\))*\]\n", line), line
        (place.directory / "may-end").touch()
        assert "nothing left running (1 process checked)" in down.communicate(timeout=PATIENCE_SECONDS)[0]


def test_a_session_that_is_gone_when_up_asks_it_counts_as_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = Session("shop", str(tmp_path), "1:1:gone", str(tmp_path / "kubeconfig"), "https://127.0.0.1:1")
    assert asyncio.run(up._is_ending(Started(found, joined=True)))


def test_who_does_not_wait_for_the_end_is_told_that_it_goes_on(place: Shop) -> None:
    stubborn(place)
    with place.running("down") as down:
        until((place.directory / "asked").exists)
        down.send_signal(signal.SIGINT)
        _, told = down.communicate(timeout=PATIENCE_SECONDS)
    assert down.returncode == 130
    assert told.endswith(
        "shop continues stopping in the background · `setpoint down --timeout 0` kills all remaining parts\n"
    )
    # And it does, without anything being called unexpected afterwards.
    assert place.run("down", "--timeout", "0").stdout == "shop ended · nothing left running (1 process checked)\n"
    assert place.run("sessions").stderr.startswith("No app is running.")
    assert "Crashed" not in place.run("sessions", "--all").stdout


def test_where_nothing_runs_there_is_nothing_to_end_whatever_cluster_the_shell_is_set_to(place: Shop) -> None:
    elsewhere = Shop(place.directory, {**place.environ, "KUBECONFIG": str(place.directory / "setpoint.yaml")})
    for each in (place, elsewhere):
        assert each.run("down") == (0, "", "No app is running here.\n")


def test_a_file_with_a_mistake_leaves_what_runs_as_it_is(place: Shop) -> None:
    assert place.run("up", "-d").code == 0
    (place.directory / "setpoint.yaml").write_text(PLAIN.replace("run", "rn"))
    refused = place.run("up", "-d")
    assert refused.code == 2
    assert "setpoint.yaml has an error; the running app was not changed" in refused.stderr
    assert running(place) == ["shop"]


def test_a_file_with_nothing_in_it_neither_starts_nor_ends_anything(place: Shop) -> None:
    assert place.run("up", "-d").code == 0
    (place.directory / "setpoint.yaml").write_text("app: shop\n")
    refused = place.run("up", "-d")
    assert refused.code == 2
    assert "defines no services" in refused.stderr
    assert place.run("ps", "-o", "name").stdout == f"executable.{GROUP}/api\n"


def test_who_joins_is_told_with_whom_the_app_ends(place: Shop) -> None:
    with place.running("up") as shown:
        until(lambda: running(place))
        joined = place.run("up", "-d")
        assert joined.stdout.endswith(
            "shop keeps running, as long as the terminal that started it · `setpoint down` stops the app\n"
        )
        shown.send_signal(signal.SIGINT)
        assert "nothing left running" in shown.communicate(timeout=PATIENCE_SECONDS)[0]
    assert shown.returncode == 0


def test_an_app_whose_directory_was_removed_is_ended_from_there(place: Shop) -> None:
    assert place.run("up", "-d").code == 0
    script = 'cd "$0" && rm -r "$0" && exec "$1" -m setpoint down'
    words = ["sh", "-c", script, str(place.directory), sys.executable]
    done = subprocess.run(words, env=dict(place.environ), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("shop ended · nothing left running (1 process checked)\n", "")


def test_an_app_in_python_is_found_again_and_its_mistakes_have_a_line(place: Shop) -> None:
    (place.directory / "setpoint.yaml").unlink()
    file = place.directory / "app.py"
    file.write_text("import setpoint as sp\napp = sp.App('shop')\napp.service('api', run='sleep 600')\n")
    assert place.run("up", "-d", "app.py").code == 0
    assert place.run("up", "-d").stdout.startswith("shop · session")
    file.write_text("import setpoint as sp\n\napp = spp.App('shop')\n")
    assert "app.py: line 3: NameError" in place.run("up", "-d").stderr
    file.write_text("import setpoint as sp\napp = sp.App('shop')\napp.service('api', rn='sleep 600')\n")
    assert place.run("up", "-d").stderr.startswith("services.api: rn: there is no such field; did you mean run?")
