"""A session from its start to its end: hosted apart, found, joined, changed by differences, and nothing left."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.session.apps import WAITS, app
from tests.workload.app import gone as ended_process

from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.session.attachment import detach
from setpoint.session.cleanup import Cleaning
from setpoint.session.host import touch_lock
from setpoint.session.registry import Sessions
from setpoint.session.startup import StartFailed, start
from setpoint.workload.process.exit_wait import wait_exit
from setpoint.workload.process.identity import identity_of, parse

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)


def services(**fields: str) -> str:
    return "app: shop\nservices:\n" + "".join(f"  {name}: {{ run: {WAITS}{more} }}\n" for name, more in fields.items())


async def gone(process: str) -> None:
    found = parse(process)
    assert found is not None
    async with asyncio.timeout(30):
        await wait_exit(found, SystemClock())


async def test_an_app_runs_until_it_is_ended_and_nothing_is_left(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="", web=", after: api")) as shop:
        assert [session.app for session in Sessions.of(os.environ).alive()] == ["shop"]
        pids = [await shop.running("api"), await shop.running("web")]
        ended = await shop.end()
    assert str(ended) == "nothing left running (2 processes checked)"
    assert all(identity_of(pid) is None for pid in pids)
    assert Sessions.of(os.environ).all() == []


async def test_what_is_kept_on_purpose_is_named_at_the_end(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="", db=", keep: true")) as shop:
        await shop.running("api")
        pid = await shop.running("db")
        ended = await shop.end()
    assert str(ended) == "nothing else left running (1 process checked); kept on purpose: db"
    assert identity_of(pid) is not None
    async with app(tmp_path / "shop", services(db=", keep: true")) as shop:
        assert await shop.running("db") == pid
        await shop.end()
    cleaning = Cleaning(os.environ, SystemClock())
    cleaned = await cleaning.clean(await cleaning.plan(None, kept=True))
    assert cleaned.removed["process"] == 1
    await ended_process(pid)


async def test_who_takes_long_to_end_is_named_meanwhile(tmp_path: Path) -> None:
    waits = "trap : TERM; touch up; while :; do sleep 0.1; done"
    text = f"app: shop\nservices: {{ slow: {{ run: [sh, -c, '{waits}'], stop: {{ grace: 1s }} }} }}\n"
    async with app(tmp_path / "shop", text) as shop:
        while not (tmp_path / "shop" / "up").exists():
            await asyncio.sleep(0.02)
        await shop.end()
    assert any(each.terminating == ("slow",) for each in shop.progress)
    assert all(each.objects >= 1 for each in shop.progress)


async def test_who_starts_it_a_second_time_joins_it(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="")) as shop:
        again = await start("shop", shop.file, os.environ)
        assert again.joined
        assert again.session == shop.started.session


async def test_two_who_start_it_at_once_get_one_session(tmp_path: Path) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text(services(api=""))
    both = await asyncio.gather(*(start("shop", file, os.environ) for _ in range(2)))
    assert sorted(each.joined for each in both) == [False, True]
    [session] = Sessions.of(os.environ).alive()
    os.kill(session.pid, 15)
    await gone(session.process)


async def test_a_changed_file_touches_only_what_changed(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(same="", other="", old="")) as shop:
        before = {name: await shop.running(name) for name in ("same", "other", "old")}
        waits: list[str] = []
        changed = await shop.apply(services(same="", other=", env: { SAYS: hello }", new=""), waits.append)
        assert waits == ["old"]
        assert changed == [
            "changed App shop (keeps running): spec.services[2]",
            "changed Executable other (restarts): spec.env",
            "added Executable new",
            "removed Executable old",
        ]
        await shop.running("new")
        await shop.running("other", other_than=before["other"])
        assert await shop.running("same") == before["same"]
        assert identity_of(before["old"]) is None
        assert await shop.apply() == []


async def test_a_secret_that_changed_restarts_who_reads_it_and_only_once(tmp_path: Path) -> None:
    text = services(
        api=', env: { SAYS: "${secret.token}" }', other="", many=', replicas: 2, env: { X: "${secret.token}" }'
    )
    async with app(tmp_path / "shop", text, TOKEN="one") as shop:
        before = {name: await shop.running(name) for name in ("api", "other")}
        shop.environ = {**shop.environ, "TOKEN": "two"}
        changed = await shop.apply()
        assert any("changed Executable api (restarts): the secret" in each for each in changed), changed
        await shop.running("api", other_than=before["api"])
        assert await shop.running("other") == before["other"]
        template = (await shop.get("ExecutableReplicaSet", "many"))["spec"]["template"]
        await shop.apply(text + "  more: { run: 'sleep 100' }\n")
        assert (await shop.get("ExecutableReplicaSet", "many"))["spec"]["template"] == template


async def test_an_apply_that_was_interrupted_is_finished_by_the_next(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="")) as shop:
        await shop.running("api")
        both = services(api="", half="")
        refused = both + "objects: [broken.yaml]\n"
        (tmp_path / "shop" / "broken.yaml").write_text(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"
        )
        with pytest.raises(Exception, match="Not_A_Name"):
            await shop.apply(refused)
        await shop.running("half")
        # Nobody wants it any more, and nobody had written down that it was made.
        assert "removed Executable half" in await shop.apply(services(api=""))
        assert [tree["metadata"]["name"] for tree in (await shop.client.list(_EXECUTABLES)).items] == ["api"]


_EXECUTABLES = "usvc-dev.developer.microsoft.com/v1/Executable"


async def test_a_session_whose_terminal_is_killed_ends_by_itself(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as terminal:
        found = identity_of(terminal.pid)
        assert found is not None
        async with app(tmp_path / "shop", services(api=""), attendant=found.text()) as shop:
            pid = await shop.running("api")
            terminal.kill()
            await gone(shop.started.session.process)
        assert identity_of(pid) is None


async def test_a_session_that_was_detached_outlives_its_terminal(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as terminal:
        found = identity_of(terminal.pid)
        assert found is not None
        async with app(tmp_path / "shop", services(api=""), attendant=found.text()) as shop:
            pid = await shop.running("api")
            detach(shop.places.attended)
            terminal.kill()
            terminal.wait()
            await asyncio.sleep(0.3)  # it would have begun to end by now
            assert shop.started.session.is_alive
            assert await shop.running("api") == pid


async def test_the_next_session_is_found_at_the_same_address_and_knows_the_past(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="")) as shop:
        await shop.running("api")
        url, uid = shop.started.session.url, (await shop.get("Executable", "api"))["metadata"]["uid"]
        revision = int((await shop.get("Executable", "api"))["metadata"]["resourceVersion"])
        await shop.end()
    async with app(tmp_path / "shop", services(api="")) as shop:
        assert shop.started.session.url == url
        was = await shop.client.get(_EXECUTABLES, "api", at=revision)
        assert was["metadata"]["uid"] == uid
        assert (await shop.get("Executable", "api"))["metadata"]["uid"] != uid


async def test_the_past_of_a_session_that_was_killed_is_put_aside(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="")) as shop:
        pid, places = await shop.running("api"), shop.places
        os.kill(shop.started.session.pid, 9)
        await gone(shop.started.session.process)
    async with app(tmp_path / "shop", services(api="")) as shop:
        assert await shop.running("api") != pid
        assert identity_of(pid) is None
        assert (places.crashed / "store.sqlite3").exists()


async def test_a_host_whose_files_are_removed_does_not_run_on_where_nobody_finds_it(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    living = asyncio.ensure_future(touch_lock(tmp_path / "lock", clock))
    await asyncio.sleep(0)
    clock.advance(60)
    await asyncio.sleep(0)
    assert not living.done()
    (tmp_path / "lock").unlink()
    clock.advance(60)
    async with asyncio.timeout(5):
        await living


async def test_a_past_that_cannot_be_read_is_no_riddle(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", services(api="")) as shop:
        await shop.end()
    shop.places.store.write_bytes(b"nonsense" * 1000)
    with pytest.raises(StartFailed, match=r"cannot be read; remove it with `setpoint clean`"):
        await start("shop", shop.file, os.environ)
    cleaning = Cleaning(os.environ, SystemClock())
    await cleaning.clean(await cleaning.plan(tmp_path / "shop", kept=False))
    async with app(tmp_path / "shop", services(api="")) as shop:
        await shop.running("api")


async def test_a_host_that_cannot_serve_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text(services(api=""))
    (tmp_path / "taken").write_text("no directory")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "taken"))
    with pytest.raises(StartFailed, match="taken"):
        await start("shop", file, os.environ)
