"""Which engine is taken, and what is said where there is none."""

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.choice import Candidate, Unavailable, candidates, connect, endpoint_of
from setpoint.workload.engine.engine import Engine

DOCKER = {"ApiVersion": "1.52", "Version": "29.1", "Components": [{"Name": "Engine"}]}
PODMAN = {"ApiVersion": "1.41", "Version": "5.0", "Components": [{"Name": "Podman Engine"}]}


@asynccontextmanager
async def answering(path: Path, version: dict[str, Any] | None, status: int = 200) -> AsyncIterator[str]:
    """An engine that says nothing but what it is; None: that says nothing at all."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                if version is not None:
                    body = json.dumps(version).encode()
                    writer.write(b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, path)
    try:
        yield f"unix://{path}"
    finally:
        server.close()
        path.unlink(missing_ok=True)  # since Python 3.13, closing removes the socket


async def chosen(environ: dict[str, str], preference: str = "") -> Engine | Unavailable:
    found = await connect(SystemClock(), environ, preference, seconds=2)
    if isinstance(found, Engine):
        await found.close()
    return found


def addresses(environ: dict[str, str], preference: str = "") -> list[str]:
    return [each.address for each in candidates(environ, preference)]


def test_engines_are_looked_for_where_they_usually_are(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": "/run/user/1", "HOME": str(tmp_path)}
    podman = ["unix:///run/user/1/podman/podman.sock", "unix:///run/podman/podman.sock"]
    docker = [
        "unix:///run/user/1/docker.sock",
        "unix:///var/run/docker.sock",
        f"unix://{tmp_path}/.docker/run/docker.sock",
    ]
    assert addresses(environ) == podman + docker
    assert addresses(environ, "podman") == podman
    assert addresses(environ, "docker") == docker


def test_what_is_asked_for_is_all_that_is_tried(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "DOCKER_HOST": "tcp://10.0.0.1:2375", "CONTAINER_HOST": "unix:///p.sock"}
    assert addresses(environ) == ["tcp://10.0.0.1:2375"]
    assert addresses(environ, "podman") == ["unix:///p.sock"]
    assert addresses(environ, "unix:///mine.sock") == ["unix:///mine.sock"]


def test_the_current_context_of_dockers_client_counts(tmp_path: Path) -> None:
    config = tmp_path / "config"
    meta = config / "contexts" / "meta" / hashlib.sha256(b"far").hexdigest()
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": "tcp://far:2376"}}}))
    (config / "config.json").write_text(json.dumps({"currentContext": "far"}))
    environ = {"DOCKER_CONFIG": str(config)}
    assert addresses(environ)[0] == "tcp://far:2376"
    assert "unix:///var/run/docker.sock" in addresses(environ)
    assert addresses({**environ, "DOCKER_CONTEXT": "far"}) == ["tcp://far:2376"]
    assert addresses({**environ, "DOCKER_HOST": "unix:///near.sock"}) == ["unix:///near.sock"]
    assert "tcp://far:2376" not in addresses({**environ, "DOCKER_CONTEXT": "default"})


async def test_the_first_healthy_engine_is_taken_and_a_version_agreed_on(tmp_path: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    (tmp_path / "podman").mkdir()
    async with answering(tmp_path / "docker.sock", DOCKER):
        # What is left of an engine that ended is no engine.
        (tmp_path / "podman" / "podman.sock").touch()
        found = await chosen(environ)
        assert isinstance(found, Engine)
        assert found.version == ("docker", "29.1", "1.47")
        assert found.published_host == "127.0.0.1"
        (tmp_path / "podman" / "podman.sock").unlink()
        async with answering(tmp_path / "podman" / "podman.sock", PODMAN):
            found = await chosen(environ)
            assert isinstance(found, Engine)
            assert found.version == ("podman", "5.0", "1.41")


async def test_no_engine_at_all_says_where_it_looked_and_what_to_do(tmp_path: Path) -> None:
    found = await connect(SystemClock(), {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}, "podman")
    if Path("/run/podman/podman.sock").exists():
        pytest.skip("this machine has an engine")
    assert isinstance(found, Unavailable)
    assert found.reason == "NotInstalled"
    assert f"{tmp_path}/podman/podman.sock" in found.message
    assert "install podman" in found.remedy


async def test_an_engine_that_was_asked_for_and_is_not_there_is_not_running(tmp_path: Path) -> None:
    found = await chosen({"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert isinstance(found, Unavailable)
    assert found.reason == "NotRunning"
    assert "DOCKER_HOST" in found.message
    assert "systemctl start docker" in found.remedy
    (tmp_path / "left.sock").touch()
    found = await chosen({}, f"unix://{tmp_path}/left.sock")
    assert isinstance(found, Unavailable)
    assert found.reason == "NotRunning"


async def test_engines_that_do_not_serve_say_why(tmp_path: Path) -> None:
    async with answering(tmp_path / "old", {"ApiVersion": "1.39"}) as address:
        found = await chosen({}, address)
        assert isinstance(found, Unavailable)
        assert found.reason == "TooOld"
        assert "1.39" in found.message
    async with answering(tmp_path / "failing", {"message": "no disk"}, status=500) as address:
        found = await chosen({}, address)
        assert isinstance(found, Unavailable)
        assert (found.reason, "no disk" in found.message) == ("Failing", True)
    async with answering(tmp_path / "silent", None) as address:
        found = await connect(SystemClock(), {}, address, seconds=0.05)
        assert isinstance(found, Unavailable)
        assert found.reason == "Timeout"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user that may not")
async def test_a_socket_that_we_may_not_use_says_so() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        async with answering(place / "docker.sock", DOCKER) as address:
            (place / "docker.sock").chmod(0o600)
            os.seteuid(65534)
            try:
                found = await chosen({"DOCKER_HOST": address})
            finally:
                os.seteuid(0)
    assert isinstance(found, Unavailable)
    assert found.reason == "PermissionDenied"
    assert "group `docker`" in found.remedy


@pytest.mark.parametrize("address", ["ssh://", "nothing", "tcp://:bad", "fd://", "unix://relative"])
def test_an_address_that_cannot_be_used_says_what_would_do(address: str) -> None:
    found = endpoint_of(Candidate("docker", address, "DOCKER_HOST"))
    assert isinstance(found, Unavailable)
    assert found.reason == "BadAddress"
    assert address in found.message
    assert "unix:///" in found.remedy
