"""Nothing outlives a control plane that must not, whoever of it and its guardian is killed; what is kept does."""

import asyncio
import http.server
import os
import random
import select
import signal
import socketserver
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.workload.process.stage import SORTS, Recorder, Stage, asleep, end_bare, left, new_nap, wait_for_end

from setpoint.workload.process.command import StartError
from setpoint.workload.process.guardian import Removal
from setpoint.workload.process.identity import Identity, is_alive, parse, stat
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.session import is_dead, owner_of


class Owner:
    """A control plane in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nap, self.kept_nap = new_nap(), new_nap()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.workload.process.owner", self.nap, self.kept_nap, str(folder)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        self.session = self._lines.readline().strip()
        self.pid = self._process.pid

    def until_ready(self) -> None:
        assert self._lines.readline() == "ready\n"

    def guardians(self) -> list[int]:
        return sorted(ProcessTable().cookies().get(f"{self.session}/guardian", ()))

    def keepers(self) -> list[int]:
        """The guardian of what is kept."""
        return sorted(ProcessTable().cookies().get(f"kept/guardian-{self.session}", ()))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._lines.close()

    def __enter__(self) -> "Owner":
        return self

    def __exit__(self, *_: object) -> None:
        """Ends all that a failed test leaves: an owner starts processes until it is killed."""
        if self._process.poll() is None:
            self.kill()
        self.end_kept()

    def kept(self) -> Identity | None:
        """The process to be kept, if it was told of."""
        file = self.folder / "kept"
        return parse(file.read_text()) if file.exists() else None

    def end_kept(self) -> None:
        for pid in asleep(self.kept_nap):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_whatever_moment_a_control_plane_is_killed_nothing_is_left_and_nothing_kept_is_lost(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rounds = 100 if request.config.getoption("--long") else 5
    chance = random.Random(8)
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Owner(folder) as owner:
            if number % 2:
                owner.until_ready()
            select.select([], [], [], chance.uniform(0, 0.3))
            owner.kill()
            for guardian in owner.guardians() + owner.keepers():
                wait_for_end(guardian)
            assert left(owner.nap) == [], f"round {number}"
            kept = owner.kept()
            assert kept is None or is_alive(kept), f"round {number}"
            assert kept is None or len(asleep(owner.kept_nap)) == 3


async def test_when_the_guardian_is_killed_as_well_the_next_control_plane_cleans_up(
    stage: Stage, tmp_path: Path
) -> None:
    with Owner(tmp_path) as owner:
        await asyncio.to_thread(owner.until_ready)
        assert owner.session not in await stage.processes.sweep(), "whose owner lives is left alone"
        for guardian in owner.guardians():
            os.kill(guardian, signal.SIGSTOP)  # so that it sees nothing
        owner.kill()
        assert owner.session not in await stage.processes.sweep(), "its guardian will do it"
        for guardian in owner.guardians():
            os.kill(guardian, signal.SIGKILL)
            wait_for_end(guardian)
        assert asleep(owner.nap) != []
        swept = await stage.processes.sweep(grace=0.2)
        assert not swept[owner.session].left
        kept = owner.kept()
        assert kept is not None
        assert is_alive(kept)
        # Daemons that have shed their environment are beyond our sight now: nothing ties them to anybody.
        end_bare(owner.nap)
        assert asleep(owner.nap) == []


def test_when_control_plane_and_guardian_are_killed_together_a_watcher_cleans_up(tmp_path: Path) -> None:
    with Owner(tmp_path) as owner:
        owner.until_ready()
        [guardian] = [pid for pid in owner.guardians() if parent_of(pid) == owner.pid]
        # A process that the guardian starts has the guardian's command line until it executes its own program.
        while len(others := set(owner.guardians()) - {guardian}) != 1:
            select.select([], [], [], 0.01)
        [watcher] = others
        os.kill(guardian, signal.SIGSTOP)  # so that it sees nothing
        owner.kill()
        os.kill(guardian, signal.SIGKILL)
        wait_for_end(watcher)
        # Daemons that have shed their environment carry no cookie.
        end_bare(owner.nap)
        assert asleep(owner.nap) == []
        kept = owner.kept()
        assert kept is not None
        assert is_alive(kept)


async def test_a_guardian_has_one_watcher_that_ends_with_it_and_is_never_replaced(stage: Stage) -> None:
    await (await stage.start("true")).wait()
    guardian = stage.processes._links[False].pid
    [watcher] = await children(stage, guardian, 1)
    os.kill(watcher, signal.SIGKILL)
    await (await stage.start("true")).wait()
    await children(stage, guardian, 0)
    # A guardian that is killed is replaced, and its watcher ends: the control plane lives.
    before = stage.processes._links[False]
    os.kill(guardian, signal.SIGKILL)
    await before.closed
    await (await stage.start("true")).wait()
    replaced = stage.processes._links[False].pid
    [watcher] = await children(stage, replaced, 1)
    await stage.processes.close()
    wait_for_end(watcher)


async def children(stage: Stage, parent: int, count: int) -> list[int]:
    """Returns the children of a process once there are `count`: the guardian collects ended ones in its next turn."""

    def found() -> list[int]:
        return [pid for pid in ProcessTable().stats if parent_of(pid) == parent]

    await stage.until(lambda: len(found()) == count)
    return found()


def parent_of(pid: int) -> int:
    found = stat(pid)
    return 0 if found is None else found.parent


async def test_a_guardian_that_is_killed_is_replaced_and_knows_everybody(stage: Stage, tmp_path: Path) -> None:
    first = await stage.shell("sleep NAP & wait")
    keeper = stage.command("sleep", stage.nap, keep=True)
    kept = await stage.processes.start(keeper, tmp_path / "out", tmp_path / "err")
    stubborn = await stage.shell(SORTS["stubborn"])
    await stage.until(lambda: len(asleep(stage.nap)) >= 6)
    stopping = asyncio.ensure_future(stage.processes.stop(stubborn, grace=1.5))
    await asyncio.sleep(0.05)
    for kept_too in (False, True):
        before = stage.processes._links[kept_too]
        os.kill(before.pid, signal.SIGKILL)
        await before.closed
        assert stage.processes._links[kept_too].pid != before.pid
    assert (await stopping).left == (), "a stop under way goes on"
    second = await stage.shell("exit 6")
    assert (await second.wait()).code == 6
    os.kill(first.identity.pid, signal.SIGKILL)
    end = await first.wait()
    assert (end.code, end.signal) == (None, None), "nobody can know any more"
    third = await stage.shell("exec sleep NAP")
    await stage.processes.stop(kept)
    await stage.processes.close()
    assert (await third.wait()).signal == signal.SIGTERM


async def test_a_start_under_way_when_the_guardian_is_killed_fails_and_leaves_nothing(stage: Stage) -> None:
    await (await stage.start("true")).wait()
    os.kill(stage.processes._links[False].pid, signal.SIGSTOP)
    starting = asyncio.ensure_future(stage.shell("exec sleep NAP"))
    await asyncio.sleep(0.05)
    os.kill(stage.processes._links[False].pid, signal.SIGKILL)
    with pytest.raises(StartError, match="start it again"):
        await starting
    assert (await (await stage.start("true")).wait()).code == 0


async def test_a_kept_process_outlives_its_control_plane_and_writes_on(stage: Stage, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    command = stage.command("sh", "-c", f"echo one; read x < {go}; echo two; sleep {stage.nap}", keep=True)
    kept = await stage.processes.start(command, tmp_path / "out", tmp_path / "err")
    await stage.processes.close()
    assert is_alive(kept.identity)
    later = Stage()
    adopted = await later.processes.adopt(kept.identity)
    assert adopted is not None
    await asyncio.to_thread(go.write_text, "x\n")
    await stage.until(lambda: (tmp_path / "out").read_text() == "one\ntwo\n")
    await later.processes.close()
    assert is_alive(kept.identity), "nor is an adopted one stopped"
    last = Stage()
    with pytest.raises(ValueError, match="output to files"):
        await last.processes.start(command, Recorder(), Recorder())
    await last.processes.stop(kept.identity, cookie=command.cookie)
    assert not is_alive(kept.identity)
    await last.processes.close()
    with pytest.raises(StartError, match="is stopping"):
        await last.start("true")


async def test_a_session_names_its_owner(stage: Stage, tmp_path: Path) -> None:
    owner = owner_of(stage.processes.session)
    assert owner is not None
    assert owner.pid == os.getpid()
    assert not is_dead(stage.processes.session)
    pid, started, boot, suffix = stage.processes.session.split("-")
    assert is_dead(f"{pid}-{int(started) - 1}-{boot}-{suffix}")
    for name in ("kept", "", "1-2-3", f"{pid}-{started}-00000000-{suffix}", "a-b-c-d"):
        assert not is_dead(name), "of which nothing can be known"


class Engine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """An engine that writes down what it is asked."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        asked = self.asked = list[str]()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"GET {self.path}")
                there = "containers" in self.path and not any("labelled" in each for each in asked)
                body = b'[{"Id": "labelled"}]' if there else b"[]"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                asked.append(f"POST {self.path}")
                self.send_response(204)
                self.end_headers()

            def do_DELETE(self) -> None:
                asked.append(f"DELETE {self.path}")
                self.send_response(404 if "gone" in self.path else 204)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

            def address_string(self) -> str:
                return ""

        super().__init__(str(path), Handler)


async def test_containers_and_networks_go_with_the_control_plane_unless_they_are_taken_back(
    stage: Stage, tmp_path: Path
) -> None:
    engine = Engine(tmp_path / "engine")
    serving = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    path = str(tmp_path / "engine")
    stage.processes.guard("a", Removal(path, containers=("c1", "gone", "c2"), networks=("n1",), labels=("of=me",)))
    stage.processes.guard("b", Removal(path, containers=("kept",)))
    stage.processes.guard("c", Removal(str(tmp_path / "no-engine"), containers=("c",)))
    stage.processes.unguard("b")
    await stage.processes.close()
    engine.shutdown()
    engine.server_close()
    serving.join()
    deleted = [line.removeprefix("DELETE ") for line in engine.asked if line.startswith("DELETE")]
    names = ("c1", "c2", "gone", "labelled")
    assert sorted(deleted[:-1]) == [f"/containers/{name}?force=true&v=true" for name in names]
    assert deleted[-1] == "/networks/n1", "it can go when nobody is in it"
