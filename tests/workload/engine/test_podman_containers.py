"""Containers in a real engine: made, run, watched, entered and removed."""

import asyncio
import io
import re
import socket
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from tests.workload.podman import IMAGE, Service, connected

from setpoint.workload.engine import results
from setpoint.workload.engine.body import create_body
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import AddressInUse, NameTaken, NoSuchImage, NotFound, NotRunning
from setpoint.workload.engine.results import Container, Health

pytestmark = pytest.mark.slow

_numbers = count(1)


def named(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name.replace('[', '-').rstrip(']')}-{next(_numbers)}"


@asynccontextmanager
async def container(engine: Engine, name: str, command: Sequence[str], **body: Any) -> AsyncIterator[str]:
    """A running container."""
    body.setdefault("HostConfig", {}).setdefault("NetworkMode", "none")
    made = await engine.containers.create(name, {"Image": IMAGE, "Cmd": list(command), **body})
    try:
        await engine.containers.start(made.id)
        yield made.id
    finally:
        await engine.containers.remove(made.id)


async def exited(engine: Engine, name: str) -> Container:
    await engine.containers.wait(name)
    return await engine.containers.inspect(name)


async def test_a_container_runs_and_tells_its_exit_code_and_both_outputs(
    podman: Service, request: pytest.FixtureRequest
) -> None:
    async with (
        connected(podman) as engine,
        container(engine, name := named(request), ["sh", "-c", "echo out; echo err >&2; exit 3"]) as id_,
    ):
        ended = await exited(engine, id_)
        assert (ended.name, ended.status, ended.exit_code) == (name, "exited", 3)
        assert ended.started_at is not None
        assert ended.finished_at is not None
        printed = [output async for output in engine.containers.logs(id_)]
        assert sorted(printed) == [("stderr", b"err\n"), ("stdout", b"out\n")]


async def test_logs_are_followed_to_the_end_of_the_container(podman: Service, request: pytest.FixtureRequest) -> None:
    script = "for i in 1 2 3; do echo line $i; sleep 0.1; done"
    async with connected(podman) as engine, container(engine, named(request), ["sh", "-c", script]) as id_:
        text = b"".join([output.data async for output in engine.containers.logs(id_, follow=True)])
        assert text == b"line 1\nline 2\nline 3\n"
        last = b"".join([output.data async for output in engine.containers.logs(id_, tail=1)])
        assert last == b"line 3\n"
        stamped = b"".join([output.data async for output in engine.containers.logs(id_, timestamps=True)])
        written, line = stamped.splitlines()[1].decode().split(" ", 1)
        assert line == "line 2"
        when = results.moment(written)
        assert when is not None
        # Podman knows whole seconds only.
        for since, expected in ((when - timedelta(seconds=2), text), (when + timedelta(seconds=9), b"")):
            found = b"".join([output.data async for output in engine.containers.logs(id_, since=since)])
            assert found == expected


async def test_a_second_container_of_a_name_is_refused_by_kind(podman: Service, request: pytest.FixtureRequest) -> None:
    async with connected(podman) as engine, container(engine, name := named(request), ["sleep", "60"]):
        with pytest.raises(NameTaken, match=name):
            await engine.containers.create(name, {"Image": IMAGE, "Cmd": ["true"]})


async def test_an_image_that_is_not_here_is_refused_by_kind(podman: Service) -> None:
    async with connected(podman) as engine:
        with pytest.raises(NoSuchImage):
            await engine.containers.create("never-made", {"Image": "localhost/nothing:1", "Cmd": ["true"]})


async def test_what_is_so_already_may_be_asked_for_again(podman: Service, request: pytest.FixtureRequest) -> None:
    async with connected(podman) as engine, container(engine, named(request), ["sleep", "60"]) as id_:
        await engine.containers.start(id_)
        await engine.containers.stop(id_, seconds=0)
        await engine.containers.stop(id_, seconds=0)
        await engine.containers.remove(id_)
        await engine.containers.remove(id_)
        assert await engine.containers.find(id_) is None
        with pytest.raises(NotFound):
            await engine.containers.inspect(id_)


async def test_stopping_sends_the_stop_signal_and_kills_what_ignores_it(
    podman: Service, request: pytest.FixtureRequest
) -> None:
    polite = 'trap "exit 7" USR1; while true; do sleep 0.05; done'
    async with connected(podman) as engine:
        async with container(engine, named(request), ["sh", "-c", polite], StopSignal="SIGUSR1") as id_:
            await asyncio.sleep(0.3)
            await engine.containers.stop(id_, seconds=10)
            assert (await engine.containers.inspect(id_)).exit_code == 7
        async with container(engine, named(request), ["sh", "-c", 'trap "" TERM; sleep 60']) as id_:
            await asyncio.sleep(0.3)
            await engine.containers.stop(id_, seconds=1)
            assert (await engine.containers.inspect(id_)).exit_code == 137


async def test_signals_and_pauses_reach_only_what_runs(podman: Service, request: pytest.FixtureRequest) -> None:
    async with connected(podman) as engine, container(engine, named(request), ["sleep", "60"]) as id_:
        await engine.containers.pause(id_)
        assert (await engine.containers.inspect(id_)).status == "paused"
        await engine.containers.unpause(id_)
        assert (await engine.containers.inspect(id_)).status == "running"
        await engine.containers.kill(id_, "SIGKILL")
        assert (await exited(engine, id_)).exit_code == 137
        with pytest.raises(NotRunning):
            await engine.containers.kill(id_)
        with pytest.raises(NotRunning):
            async with engine.containers.exec(id_, ["true"]):
                pass


async def test_a_command_in_a_container_has_input_outputs_environment_and_an_exit_code(
    podman: Service, request: pytest.FixtureRequest
) -> None:
    script = "cat; echo $COLOUR at $PWD >&2; exit 4"
    async with (
        connected(podman) as engine,
        container(engine, named(request), ["sleep", "60"]) as id_,
        engine.containers.exec(id_, ["sh", "-c", script], env=["COLOUR=red"], directory="/data", stdin=True) as command,
    ):
        await command.write(b"some input")
        command.end_input()
        printed = [output async for output in command]
        assert b"".join(data for source, data in printed if source == "stdout") == b"some input"
        assert b"".join(data for source, data in printed if source == "stderr") == b"red at /data\n"
        assert await command.exit_code() == 4


async def test_a_command_with_a_terminal_knows_its_size(podman: Service, request: pytest.FixtureRequest) -> None:
    async with (
        connected(podman) as engine,
        container(engine, named(request), ["sleep", "60"]) as id_,
        engine.containers.exec(id_, ["sh", "-c", "read x; stty size"], stdin=True, tty=True) as command,
    ):
        await command.resize(columns=101, rows=37)
        await command.write(b"go\n")
        text = b"".join([output.data async for output in command])
        assert b"37 101" in text


async def test_a_container_is_attached_to_before_it_starts(podman: Service, request: pytest.FixtureRequest) -> None:
    async with connected(podman) as engine:
        body = {"Image": IMAGE, "Cmd": ["sh", "-c", "read line; echo got $line"], "OpenStdin": True}
        made = await engine.containers.create(named(request), {**body, "HostConfig": {"NetworkMode": "none"}})
        try:
            async with engine.containers.attach(made.id, stdin=True) as attached:
                await engine.containers.start(made.id)
                await attached.write(b"it\n")
                printed = b"".join([output.data async for output in attached])
            assert printed == b"got it\n"
        finally:
            await engine.containers.remove(made.id)


async def test_files_go_in_before_the_start_and_come_out_after_the_end(
    podman: Service, request: pytest.FixtureRequest
) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo("given")
        entry.size, entry.uid, entry.mode = 5, 12, 0o640
        archive.addfile(entry, io.BytesIO(b"hello"))
    async with connected(podman) as engine:
        body = {"Image": IMAGE, "Cmd": ["sh", "-c", "cp /data/given /data/taken; stat -c '%u %a' /data/given"]}
        id_ = (await engine.containers.create(named(request), {**body, "HostConfig": {"NetworkMode": "none"}})).id
        try:
            await engine.containers.put_archive(id_, "/data", made.getvalue())
            await engine.containers.start(id_)
            assert (await exited(engine, id_)).exit_code == 0
            with tarfile.open(fileobj=io.BytesIO(await engine.containers.get_archive(id_, "/data/taken"))) as archive:
                taken = archive.extractfile("taken")
                assert taken is not None
                assert taken.read() == b"hello"
            printed = b"".join([output.data async for output in engine.containers.logs(id_)])
            assert printed == b"12 640\n"
            with pytest.raises(NotFound):
                await engine.containers.get_archive(id_, "/data/nothing")
        finally:
            await engine.containers.remove(id_)


async def test_containers_are_found_by_their_labels(podman: Service, request: pytest.FixtureRequest) -> None:
    name = named(request)
    async with (
        connected(podman) as engine,
        container(engine, name, ["sleep", "60"], Labels={"test.name": name, "test.kind": "a"}) as id_,
    ):
        assert [each.id for each in await engine.containers.list(labels={"test.name": name})] == [id_]
        found = await engine.containers.list(labels={"test.kind": None, "test.name": name})
        assert found[0].labels["test.kind"] == "a"
        assert await engine.containers.list(labels={"test.name": name, "test.kind": "b"}) == []


async def test_limits_hold(podman: Service, request: pytest.FixtureRequest) -> None:
    limits = {"Memory": 64 << 20, "PidsLimit": 40, "NanoCpus": 500_000_000}
    async with (
        connected(podman) as engine,
        container(engine, named(request), ["sleep", "60"], HostConfig={**limits, "NetworkMode": "none"}) as id_,
    ):
        # The runtime's own threads count until it has become the command.
        while (stats := await engine.containers.stats(id_)).pids != 1:
            await asyncio.sleep(0.05)
        assert stats.memory_limit == 64 << 20
        async with engine.containers.exec(id_, ["cat", "/sys/fs/cgroup/pids/pids.max"]) as command:
            printed = b"".join([output.data async for output in command])
        if printed.strip().isdigit():
            assert printed == b"40\n"


async def test_what_a_spec_says_holds_inside(podman: Service, request: pytest.FixtureRequest) -> None:
    spec = {
        "image": IMAGE,
        "command": "/bin/sh",
        "args": ["-c", "id -u; id -g; pwd; echo $COLOUR; ulimit -n; cat /etc/hosts; df /mem; cat /proc/self/status"],
        "env": [{"name": "COLOUR", "value": "red and {{ blue }}"}],
        "user": "65534:12",
        "workingDirectory": "/data",
        # The second, as Podman's own is more than some sandboxes allow.
        "ulimits": [{"name": "nofile", "soft": 64, "hard": 128}, {"name": "nproc", "soft": 1024}],
        "extraHosts": ["friend:10.9.8.7"],
        "tmpfs": ["/mem:size=1m"],
        "capDrop": ["ALL"],
        "labels": [{"key": "team", "value": "red"}],
        "stopSignal": "SIGINT",
        "stopTimeout": "3s",
        "runArgs": ["--network", "none", "--hostname", "box", "--read-only"],
    }
    async with connected(podman) as engine:
        made = await engine.containers.create(named(request), create_body(spec).body)
        try:
            await engine.containers.start(made.id)
            assert (await exited(engine, made.id)).labels["team"] == "red"
            printed = b"".join([output.data async for output in engine.containers.logs(made.id)]).decode()
        finally:
            await engine.containers.remove(made.id)
    assert printed.splitlines()[:5] == ["65534", "12", "/data", "red and {{ blue }}", "64"]
    assert re.search(r"10\.9\.8\.7\s+friend", printed)
    assert re.search(r"tmpfs\s+1024 ", printed)
    assert re.search(r"CapBnd:\s+0+$", printed, re.MULTILINE)


async def test_a_container_gets_another_name_and_starts_again(podman: Service, request: pytest.FixtureRequest) -> None:
    async with connected(podman) as engine, container(engine, named(request), ["sleep", "60"]) as id_:
        before = await engine.containers.inspect(id_)
        await engine.containers.rename(id_, other := named(request))
        await engine.containers.restart(other, seconds=0)
        after = await engine.containers.inspect(other)
        assert (after.id, after.status) == (id_, "running")
        assert before.started_at is not None
        assert after.started_at is not None
        assert after.started_at > before.started_at


async def test_a_health_check_says_how_the_container_is(podman: Service, request: pytest.FixtureRequest) -> None:
    check = {"Test": ["CMD-SHELL", "test -e /tmp/well"], "Interval": 10**12, "Timeout": 10**10, "Retries": 1}
    async with (
        connected(podman) as engine,
        container(engine, named(request), ["sleep", "60"], Healthcheck=check) as id_,
    ):
        assert (await engine.containers.inspect(id_)).health.status == "starting"
        assert await engine.containers.check_health(id_) == "unhealthy"
        assert (await engine.containers.inspect(id_)).health.failing_streak == 1
        async with engine.containers.exec(id_, ["touch", "/tmp/well"]) as command:
            assert [output async for output in command] == []
        assert await engine.containers.check_health(id_) == "healthy"
        assert (await engine.containers.inspect(id_)).health == Health("healthy")


async def test_a_port_is_published_where_asked_and_a_busy_one_is_named(
    podman: Service, request: pytest.FixtureRequest
) -> None:
    ports: dict[str, Any] = {"ExposedPorts": {"80/tcp": {}}}
    serve = ["sh", "-c", "echo from inside > /data/index.html; httpd -f -p 80 -h /data"]

    def published(port: str) -> dict[str, Any]:
        return {"PortBindings": {"80/tcp": [{"HostIp": "127.0.0.1", "HostPort": port}]}, "NetworkMode": "bridge"}

    async with (
        connected(podman) as engine,
        container(engine, named(request), serve, HostConfig=published(""), **ports) as id_,
    ):
        (mapping,) = (await engine.containers.inspect(id_)).ports
        assert (mapping.container_port, mapping.protocol, mapping.host_ip) == (80, "tcp", "127.0.0.1")
        assert b"from inside" in await _get(mapping.host_port)
        second = await engine.containers.create(
            named(request),
            {"Image": IMAGE, "Cmd": serve, "HostConfig": published(str(mapping.host_port)), **ports},
        )
        try:
            with pytest.raises(AddressInUse, match="address already in use"):
                await engine.containers.start(second.id)
        finally:
            await engine.containers.remove(second.id)


async def _get(port: int) -> bytes:
    """What a server in a container says, once it listens."""
    for _ in range(100):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, family=socket.AF_INET)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        said = await reader.read()
        writer.close()
        if said:
            return said
        await asyncio.sleep(0.05)
    raise AssertionError("the server in the container does not answer")
