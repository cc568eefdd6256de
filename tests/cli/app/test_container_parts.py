"""`exec`, `run --service`, file sync and isolated copies for services that are containers."""

import asyncio
import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ
from tests.cli.pseudo_terminal import shown
from tests.ports import free_ports
from tests.workload.engine.conftest import podman as podman
from tests.workload.podman import IMAGE, Service, connected

pytestmark = pytest.mark.slow

APP = f"""\
app: shop
services:
  db:
    image: {IMAGE}
    args: [sh, -c, "trap exit TERM; echo up; while true; do sleep 0.1; done"]
    ready: log:up
    env: {{ A: "1" }}
    ports: {{ main: "PORT:80" }}
    volumes: [data:/data]
    watch: {{ sync: [{{ from: ./src, to: /src }}], debounce: 20ms }}
    stop: {{ grace: 1s }}
"""
PATIENCE_SECONDS = 30.0


@pytest.fixture
def place(tmp_path: Path, podman: Service) -> Iterator[Shop]:
    """An app of containers that runs."""
    asyncio.run(_made(podman))
    directory = tmp_path / "shop"
    (directory / "src").mkdir(parents=True)
    (directory / "src" / "a").write_text("first")
    [port] = free_ports(1)
    (directory / "setpoint.yaml").write_text(APP.replace("PORT", str(port)))
    environ = {**own_environ(tmp_path / "state"), "DOCKER_HOST": podman.address}
    found = Shop(directory, environ)
    up = found.run("up", "-d")
    assert up.code == 0, up
    yield found
    assert found.run("down", "--all", "--timeout", "5").code == 0


async def _made(podman: Service) -> None:
    """Makes the image."""
    async with connected(podman):
        pass


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_commands_in_a_container_and_one_offs_beside_it(place: Shop) -> None:
    ran = place.run(
        "exec", "-e", "B=2", "-w", "/tmp", "-u", "12:34", "db", "sh", "-c", "echo $A$B $(id -u):$(id -g); pwd; exit 3"
    )
    assert (ran.code, ran.stdout) == (3, "12 12:34\n/tmp\n")
    # A one-off has the image, environment, volumes and copied files, but neither name nor ports.
    assert place.run("exec", "db", "sh", "-c", "echo kept > /data/file").code == 0
    ran = place.run("run", "--service", "db", "-e", "B=2", "sh", "-c", "echo $A$B; cat /data/file /src/a; exit 4")
    assert (ran.code, ran.stdout) == (4, "12\nkept\nfirst")
    ran = place.run("run", "--service", "db", "--entrypoint", "echo", "hello", "-n")
    assert (ran.code, ran.stdout) == (0, "hello -n\n")
    assert "use `setpoint exec -T`" in place.run("run", "--service", "db", "-i", "cat").stderr
    assert len(json.loads(place.run("ps", "-o", "json").stdout)["items"]) == 1
    for words in (("exec", "db"), ("run", "--service", "db")):
        command = shlex.join(
            [sys.executable, "-m", "setpoint", *words, "sh", "-c", "test -t 0 && echo terminal; exit 5"]
        )
        seen = shown(["sh", "-c", f"cd {place.directory}; {command}; echo code $?"], 80, place.environ)
        assert seen == "terminal\ncode 5\n"


def test_a_changed_file_reaches_the_container(place: Shop) -> None:
    assert place.run("exec", "db", "cat", "/src/a").stdout == "first"
    (place.directory / "src" / "a").write_text("second")
    until(lambda: place.run("exec", "db", "cat", "/src/a").stdout == "second")


def test_an_isolated_copy_has_its_own_volume_and_port(place: Shop) -> None:
    assert place.run("exec", "db", "sh", "-c", "echo first > /data/file").code == 0
    ran = place.run("up", "-d", "--isolated")
    assert ran.code == 0, ran
    [copy] = re.findall(r"isolated as (\S+)", ran.stdout)
    assert place.run("exec", "--session", copy, "db", "ls", "/data").stdout == ""
    urls = {place.run("url", "db", "--session", name).stdout for name in ("shop", copy)}
    assert len(urls) == 2
