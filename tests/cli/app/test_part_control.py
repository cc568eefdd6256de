"""`setpoint stop`, `start`, `restart` and `scale` on the parts of an app that really runs."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.conftest import Ran

# Starts a session.
pytestmark = pytest.mark.slow

Command = Callable[..., Ran]
SECONDS = re.compile(r"\(\d+\.\d+s\)")


@pytest.fixture(autouse=True)
def _whole(setpoint: Command, shop: Shop) -> Iterator[None]:
    """Every test leaves the app as it found it."""
    yield
    (shop.directory / "broken").unlink(missing_ok=True)
    setpoint("scale", "api=2")
    assert setpoint("start", "--all").code == 0


def told(ran: Ran) -> list[str]:
    assert ran.code == 0, ran
    return [SECONDS.sub("(0s)", line) for line in ran.stdout.splitlines()]


def state(setpoint: Command, name: str) -> str:
    """The state that `ps` shows."""
    rows = [line.split() for line in setpoint("ps", "-a").stdout.splitlines()]
    [row] = [row for row in rows if row[0] == name]
    return next(word for word in row[1:] if word not in ("Executable", "Task") and not word.startswith("×"))


def objects(setpoint: Command, *arguments: str) -> list[Any]:
    return list(json.loads(setpoint("get", *arguments, "-o", "json").stdout)["items"])


def pids(setpoint: Command) -> dict[str, int]:
    """The processes of all that run, by the names of their objects."""
    return {
        each["metadata"]["name"]: each["status"]["pid"] for each in objects(setpoint, "exe") if "pid" in each["status"]
    }


def test_what_is_stopped_says_so_and_comes_back(setpoint: Command) -> None:
    assert told(setpoint("stop", "web")) == ["web stopped (0s)"]
    assert state(setpoint, "web") == "Stopped"
    assert "web" not in pids(setpoint)
    assert told(setpoint("stop", "web")) == ["web is already stopped"]
    why = setpoint("why", "web").stdout
    assert why.startswith("web does not run: suspended")
    assert "you (setpoint stop)" in why
    assert told(setpoint("start", "web")) == ["web started (0s)"]
    assert state(setpoint, "web") == "Running"
    assert told(setpoint("start", "web")) == ["web is already running"]


def test_who_needs_what_was_stopped_is_named(setpoint: Command) -> None:
    assert told(setpoint("stop", "base")) == ["base stopped (0s)", "api needs base and keeps running"]
    # What was stopped as well needs nothing.
    assert told(setpoint("stop", "api")) == ["api stopped (0s)", "web needs api and keeps running"]
    waiting = setpoint("start", "api", "--timeout", "500ms")
    assert waiting.code == 4
    assert "api is not started after 0.5 s" in waiting.stderr
    assert told(setpoint("start", "base", "api")) == ["base started (0s)", "api started (0s)"]


def test_one_replica_is_stopped_and_started_by_its_number(setpoint: Command) -> None:
    before = pids(setpoint)
    assert told(setpoint("stop", "api.2")) == ["api.2 stopped (0s)"]
    after = pids(setpoint)
    assert len([name for name in before if name.startswith("api-")]) == 2
    assert len([name for name in after if name.startswith("api-")]) == 1
    assert told(setpoint("start", "api.2")) == ["api.2 started (0s)"]
    setpoint("stop", "api.1", "api.2")
    assert told(setpoint("start", "api")) == ["api started (0s)"]
    setpoint("stop", "api")
    refused = setpoint("start", "api.1")
    assert (refused.code, "setpoint start api" in refused.stderr) == (2, True)


def test_a_restart_makes_new_processes_of_the_same_objects(setpoint: Command) -> None:
    before = pids(setpoint)
    assert told(setpoint("restart", "api", "web")) == ["api restarted (0s)", "web restarted (0s)"]
    after = pids(setpoint)
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {
        name for name in before if name.startswith(("api-", "web"))
    }
    setpoint("stop", "web")
    assert told(setpoint("restart", "web")) == ["web restarted (0s)"]


def test_everything_is_taken_in_its_order(setpoint: Command) -> None:
    stopped = told(setpoint("stop", "--all"))
    assert [line.partition(" ")[0] for line in stopped if not line.startswith("yearly")] in (
        ["fragile", "web", "api", "base"],
        ["web", "fragile", "api", "base"],
    )
    assert pids(setpoint) == {}
    started = [line.partition(" ")[0] for line in told(setpoint("start", "--all"))]
    assert started.index("base") < started.index("api") < started.index("web")
    restarted = [line.partition(" ")[0] for line in told(setpoint("restart", "--all"))]
    assert restarted.index("base") < restarted.index("api") < restarted.index("web")
    assert set(restarted) == {"base", "api", "web", "fragile"}


def test_bringing_the_app_up_again_starts_what_was_stopped(setpoint: Command, shop: Shop) -> None:
    setpoint("stop", "web", "api.1", "yearly")
    ran = shop.run("up", "-d")
    assert ran.code == 0, ran
    [yearly] = [each for each in objects(setpoint, "task") if each["metadata"]["name"] == "yearly"]
    assert "suspend" not in yearly["spec"]
    assert [state(setpoint, name) for name in ("web", "api")] == ["Running", "Running"]
    # What runs by hand is not run for it.
    assert state(setpoint, "long") == "Pending"


def test_what_cannot_start_says_why_at_once(setpoint: Command, shop: Shop) -> None:
    (shop.directory / "broken").touch()
    ran = setpoint("restart", "fragile")
    assert ran.code == 1
    assert "fragile is not restarted: the process ended with exit code 4; last output: no key" in ran.stderr
    assert "setpoint why fragile" in ran.stderr
    (shop.directory / "broken").unlink()
    assert told(setpoint("start", "fragile")) == ["fragile started (0s)"]


def test_a_task_is_stopped_started_and_restarted(setpoint: Command) -> None:
    assert told(setpoint("stop", "long")) == ["long is not running"]
    assert told(setpoint("start", "long")) == ["long started (0s)"]
    assert told(setpoint("start", "long")) == ["long is already running"]
    assert told(setpoint("restart", "long")) == ["long restarted (0s)"]
    assert told(setpoint("stop", "long")) == ["long stopped (0s)"]
    assert state(setpoint, "long") == "Failed"
    # One with a schedule does not run by it any more.
    assert told(setpoint("stop", "yearly")) == ["yearly stopped (0s)"]
    [yearly] = [each for each in objects(setpoint, "task") if each["metadata"]["name"] == "yearly"]
    assert yearly["spec"]["suspend"] is True
    assert told(setpoint("start", "yearly")) == ["yearly started (0s)"]


def test_what_is_stopped_for_good_cannot_be_started_and_what_was_not_to_start_yet_can(
    setpoint: Command, shop: Shop
) -> None:
    def made(name: str, **spec: Any) -> dict[str, Any]:
        tree = {"apiVersion": "usvc-dev.developer.microsoft.com/v1", "kind": "Executable", "metadata": {"name": name}}
        return {**tree, "spec": {"executablePath": "sleep", "args": ["600"], **spec}}

    file = shop.directory / "others.json"
    file.write_text("\n---\n".join(json.dumps(tree) for tree in (made("ended", stop=True), made("idle", start=False))))
    assert setpoint("apply", "-f", str(file)).code == 0
    try:
        assert setpoint("wait", "exe/ended", "--for", "jsonpath={.status.state}=FailedToStart").code == 0
        assert told(setpoint("stop", "ended")) == ["ended is already stopped"]
        ran = setpoint("start", "ended")
        assert (ran.code, "delete and recreate the object" in ran.stderr) == (2, True)
        assert told(setpoint("start", "idle")) == ["idle started (0s)"]
    finally:
        assert setpoint("delete", "exe/ended", "exe/idle").code == 0


def test_who_does_not_wait_is_told_so(setpoint: Command) -> None:
    assert told(setpoint("stop", "web", "--no-wait")) == ["web is stopping"]
    assert setpoint("wait", "exe/web", "--for", "jsonpath={.status.state}=Finished").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["stop"], 2, "specify NAME..., --group or --all"),
        (["stop", "web", "--all"], 2, "specify NAME"),
        (["stop", "wbe"], 3, "workload wbe not found; did you mean web?"),
        (["start", "api.9"], 3, "workload api.9 not found"),
        (["scale", "web=2"], 2, "add `replicas: 1` under services.web in the app file"),
        (["scale", "long=2"], 2, "long is a task, which cannot be scaled"),
        (["scale", "nobody", "--replicas", "2"], 3, "no scalable object named nobody"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_named_with_their_remedy(setpoint: Command, arguments: list[str], code: int, said: str) -> None:
    ran = setpoint(*arguments)
    assert ran.code == code
    assert said in ran.stderr


def test_parts_are_scaled_by_their_names(setpoint: Command) -> None:
    assert told(setpoint("scale", "api=3")) == ["executablereplicaset/api scaled from 2 to 3"]
    assert told(setpoint("scale", "api", "--replicas", "1")) == ["executablereplicaset/api scaled from 3 to 1"]
    assert setpoint("wait", "exers/api").code == 0


def test_a_changed_file_that_nobody_applied_is_no_matter(setpoint: Command, shop: Shop) -> None:
    file = Path(shop.directory / "setpoint.yaml")
    before = file.read_text()
    try:
        file.write_text("nonsense")
        assert told(setpoint("restart", "web")) == ["web restarted (0s)"]
    finally:
        file.write_text(before)


def test_parts_are_waited_for_by_their_names(setpoint: Command) -> None:
    assert setpoint("wait", "web", "api", "--timeout", "30s").stdout.count(" is ready") == 2
    setpoint("stop", "web")
    late = setpoint("wait", "web", "--timeout", "200ms")
    assert (late.code, "suspended" in late.stderr) == (4, True)
    unknown = setpoint("wait", "wbe")
    assert (unknown.code, "did you mean web?" in unknown.stderr) == (3, True)
