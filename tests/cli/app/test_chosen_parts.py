"""`up NAME...`, `down NAME...`, groups, and isolated copies, with real processes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ
from tests.ports import free_ports

from setpoint.cli.app.app_file import read_file
from setpoint.session.registry import Sessions

pytestmark = pytest.mark.slow

APP = """\
app: shop
services:
  base: { run: "sh -c 'echo up; exec sleep 600'", ready: log:up, groups: [backend, core] }
  api: { run: sleep 600, replicas: 2, after: base, groups: [backend] }
  web: { run: sleep 600, groups: [front] }
tasks:
  seed: { run: echo seeded }
"""
SERVER = """\
app: shop
services:
  site:
    run: python3 -m http.server --bind 127.0.0.1 PORT
    ports: { http: PORT }
    ready: /
  visitor: { run: sleep 600, env: { SITE: "http://localhost:PORT/" }, after: site }
"""
COMPOSE = """\
name: shop
services:
  db: { image: busybox, command: [sleep, "600"] }
  admin: { image: busybox, command: [sleep, "600"], profiles: [tools], depends_on: [db] }
  shell: { image: busybox, command: [sleep, "600"], profiles: [tools, debug] }
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Shop]:
    """A directory with an app that does not run."""
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "setpoint.yaml").write_text(APP)
    found = Shop(directory, own_environ(tmp_path / "state"))
    yield found
    assert found.run("down", "--all", "--timeout", "0").code == 0


def names(place: Shop, *options: str) -> list[str]:
    listed = place.run("ps", "-o", "json", *options)
    assert listed.code == 0, listed
    return sorted(item["metadata"]["name"] for item in json.loads(listed.stdout)["items"])


def test_only_the_named_parts_and_their_dependencies_start(place: Shop) -> None:
    ran = place.run("up", "-d", "api")
    assert ran.code == 0, ran
    assert names(place) == ["api", "base"]
    # A part that is added leaves the others alone.
    assert "+ web added" in place.run("up", "-d", "web").stdout
    assert names(place) == ["api", "base", "web"]
    # A removed part comes back with the rest.
    assert place.run("down", "api").stdout == "api removed\n"
    assert names(place) == ["base", "web"]
    assert place.run("up", "-d").code == 0
    assert names(place) == ["api", "base", "seed", "web"]


def test_without_dependencies_only_the_named_part_starts_and_does_not_wait(place: Shop) -> None:
    assert place.run("up", "-d", "--no-deps", "api").code == 0
    assert names(place) == ["api"]
    missing = place.run("up", "-d", "--no-deps")
    assert (missing.code, "--no-deps requires NAME" in missing.stderr) == (2, True)


def test_force_recreate_restarts_only_the_named_parts(place: Shop) -> None:
    def pids() -> dict[str, int]:
        items = json.loads(place.run("ps", "-o", "json").stdout)["items"]
        return {item["metadata"]["name"]: item["status"].get("pid") for item in items}

    assert place.run("up", "-d", "base", "web").code == 0
    before = pids()
    ran = place.run("up", "-d", "--force-recreate", "web")
    assert (ran.code, "~ web: --force-recreate · restarts" in ran.stdout) == (0, True), ran
    after = pids()
    assert (after["base"], after["web"] != before["web"]) == (before["base"], True)
    assert "--build" not in place.run("up", "-d", "--build").stdout  # no part has an image to build


def test_a_program_with_the_name_of_a_service_is_not_taken_for_a_file(place: Shop) -> None:
    (place.directory / "web").write_text("a program")
    assert place.run("up", "-d", "web").code == 0
    assert names(place) == ["web"]
    # The file can be named first, or with -f.
    assert place.run("up", "-d", "setpoint.yaml", "base").code == 0
    assert place.run("up", "-d", "-f", "setpoint.yaml", "seed").code == 0
    assert names(place) == ["base", "seed", "web"]


def test_a_named_task_runs(place: Shop) -> None:
    assert place.run("up", "-d", "seed").code == 0
    assert names(place) == ["seed"]
    assert place.run("logs", "seed").stdout == "seeded\n"


def test_unknown_names_and_groups_start_nothing(place: Shop) -> None:
    for words, message in (("apj",), "Did you mean api?"), (("--group", "fronts"), "group fronts not found"):
        ran = place.run("up", "-d", *words)
        assert ran.code != 0
        assert message.lower() in ran.stderr.lower()
    assert not Sessions.of(place.environ).all()


def test_groups_select_parts_in_every_command(place: Shop) -> None:
    assert place.run("up", "-d", "--group", "backend").code == 0
    assert names(place) == ["api", "base"]
    assert place.run("up", "-d").code == 0
    assert names(place, "--group", "core", "--group", "front") == ["base", "web"]
    assert place.run("logs", "--group", "core").stdout == "up\n"
    stopped = place.run("stop", "--group", "backend")
    assert sorted(re.findall(r"^(\S+) stopped", stopped.stdout, re.MULTILINE)) == ["api", "base"]
    started = place.run("restart", "--group", "front")
    assert started.stdout.startswith("web restarted")
    unknown = place.run("ps", "--group", "nope")
    assert "available groups: backend, core, front" in unknown.stderr


def test_the_last_removed_part_ends_the_app(place: Shop) -> None:
    assert place.run("up", "-d", "web").code == 0
    assert "shop ended" in place.run("down", "--group", "front").stdout
    assert not Sessions.of(place.environ).alive()


def test_an_isolated_copy_has_its_own_ports_and_the_references_follow(place: Shop) -> None:
    [free_port] = free_ports(1)
    text = SERVER.replace("PORT", str(free_port))
    (place.directory / "setpoint.yaml").write_text(text)
    assert place.run("up", "-d").code == 0
    other = Shop(place.directory.parent / "worktree", place.environ)
    other.directory.mkdir()
    (other.directory / "setpoint.yaml").write_text(text)
    ran = other.run("up", "-d", "--isolated")
    assert ran.code == 0, ran
    [moved] = re.findall(rf"site +http +{free_port} +(\d+)", ran.stdout)
    assert moved != str(free_port)
    assert other.run("url", "site").stdout.strip() == f"http://localhost:{moved}"
    assert f"http://localhost:{moved}/" in other.run("env", "visitor").stdout
    # The first copy has not changed, and every command in a directory finds the copy of the directory.
    assert place.run("url", "site").stdout.strip() == f"http://localhost:{free_port}"
    # The ports of a copy are remembered.
    assert other.run("down").code == 0
    assert re.findall(rf"site +http +{free_port} +(\d+)", other.run("up", "-d", "--isolated").stdout) == [moved]
    # In the same directory, the copies are told apart by name.
    assert place.run("up", "-d", "--isolated=two", "visitor", "--no-deps").code == 0
    ambiguous = place.run("ps")
    assert "select one with --session" in ambiguous.stderr
    copy = next(each.app for each in Sessions.of(place.environ).alive() if each.app.startswith("shop-two"))
    assert names(place, "--session", copy) == ["visitor"]


def test_a_plain_start_does_not_change_an_isolated_copy(place: Shop) -> None:
    assert place.run("up", "-d", "--isolated", "web").code == 0
    [session] = Sessions.of(place.environ).alive()
    assert session.isolated_from == "shop"
    assert f"{session.app} runs here as an isolated copy" in place.run("up", "-d", "web").stderr
    refused = place.run("up", "-d", "--isolated=Not Valid")
    assert (refused.code, "--isolated: invalid name" in refused.stderr) == (2, True)


def test_a_named_part_of_a_disabled_profile_starts(place: Shop) -> None:
    (place.directory / "setpoint.yaml").write_text(
        APP.replace("groups: [front] }", "groups: [front], profiles: [site] }")
    )
    assert place.run("up", "-d", "api").code == 0
    assert place.run("up", "-d", "web").code == 0
    assert names(place) == ["api", "base", "web"]


@pytest.mark.parametrize(
    ("chosen", "environ", "parts", "expected"),
    [
        ((), {}, (), ("db",)),
        ((), {}, ("admin",), ("db", "admin", "shell")),
        (("debug",), {}, ("admin",), ("db", "admin", "shell")),
        ((), {"COMPOSE_PROFILES": "debug"}, (), ("db", "shell")),
        ((), {"COMPOSE_PROFILES": "debug"}, ("admin",), ("db", "admin", "shell")),
        ((), {"COMPOSE_PROFILES": "debug"}, ("db",), ("db", "shell")),
    ],
)
def test_the_profiles_of_named_parts_are_enabled(
    tmp_path: Path, chosen: tuple[str, ...], environ: dict[str, str], parts: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE)
    assert tuple(read_file(file, environ, chosen, names=parts).app.services) == expected


def test_the_profiles_of_named_parts_of_a_python_app_are_enabled(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "import setpoint as sp\n"
        "app = sp.App('shop')\n"
        "app.service('web', run='sleep 600')\n"
        "app.service('admin', run='sleep 600', profiles=['tools'])\n"
    )
    assert list(read_file(file, {}).app.services) == ["web"]
    assert list(read_file(file, {}, names=["admin"]).app.services) == ["web", "admin"]
