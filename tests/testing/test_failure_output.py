"""The report of a failed test describes its world, and names the command that opens the saved archive."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TEAMS = '''
"""Tests of teams."""
import asyncio

import pytest

import setpoint as sp
from setpoint import testing

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key", "namespace": "default"},
    "stringData": {"password": "correct-horse"},
}


class TeamSpec(sp.Model):
    """The desired state of a team."""

    members: list[str]


class TeamStatus(sp.Model):
    """The state of a team."""

    members: int = 0


class Team(sp.Resource, group="example.com", version="v1"):
    """A team."""

    spec: TeamSpec
    status: TeamStatus | None = None


@sp.controller(Team)
async def teams(ctx: sp.Context[Team], request: sp.Request) -> None:
    team = await ctx.object()
    if team is None:
        return
    if len(team.spec.members) == 3:
        raise ValueError("correct-horse has no desk")
    ctx.status.members = len(team.spec.members)


def team(name: str = "bakers") -> Team:
    return Team(metadata=sp.ObjectMeta(name=name, namespace="default"), spec=TeamSpec(members=["Ada", "Grace"]))


SETTINGS = {"crds": [Team], "objects": [team(), SECRET]}


async def grow(world: testing.World) -> None:
    await world.run(teams)
    await world.client.edit(Team, "bakers", "default", lambda found: found.spec.members.append("Edsger"))
    await world.settle()
'''

WORLD = """
@pytest.mark.world(**SETTINGS)
async def test_growth(world):
    await grow(world)
"""

PLAIN = """
def test_growth():
    async def main():
        async with testing.world(**SETTINGS) as world:
            await grow(world)

    asyncio.run(main())
"""

AFTERWARDS = """
def test_growth():
    async def main():
        async with testing.world(**SETTINGS, tolerate=ValueError) as world:
            await grow(world)
        assert 1 == 2

    asyncio.run(main())
"""

FIXTURE = """
@pytest.fixture
def opened():
    loop = asyncio.new_event_loop()
    manager = testing.world(**SETTINGS, tolerate=ValueError)
    yield loop, loop.run_until_complete(manager.__aenter__())
    loop.run_until_complete(manager.__aexit__(None, None, None))
    loop.close()

def test_growth(opened):
    loop, world = opened
    loop.run_until_complete(grow(world))
    assert 1 == 2
"""

REVISIONS = [
    r"  Team default/bakers",
    r"      rv \d+  created  \(admin\)",
    r"      rv \d+  status\.members set to 2  \(team controller\)",
    r"      rv \d+  spec\.members \[Ada, Grace\]→\[Ada, Grace, Edsger\]  \(admin\)",
]
RECONCILES = [
    r"  00:00:00\.000  team default/bakers #1  success",
    r"      because Team default/bakers initial",
    r"      wrote patch Team/status default/bakers rv \d+",
    r"  00:00:00\.000  team default/bakers #2  error: ValueError: \*\*\*\d has no desk",
    r"      because Team default/bakers updated \(spec\.members\)",
]


def ran(pytester: pytest.Pytester, test: str, *options: str, header: str = TEAMS) -> pytest.RunResult:
    pytester.makepyfile(test_teams=header + test)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the section about the world."""
    lines = result.outlines
    begin = next(at for at, line in enumerate(lines) if re.fullmatch(r"-+ setpoint -+", line))
    end = next(at for at, line in enumerate(lines) if at > begin and re.match(r"[_=-]{3,} ", line))
    return lines[begin + 1 : end]


def archive(lines: list[str]) -> Path:
    [command] = [line for line in lines if line.startswith("  setpoint import ")]
    return Path(shlex.split(command)[2])


@pytest.mark.parametrize(
    "options", [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="xdist", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("test", [WORLD, PLAIN, AFTERWARDS, FIXTURE], ids=["mark", "plain", "afterwards", "fixture"])
def test_a_failed_test_shows_reconciles_revisions_and_the_archive(
    pytester: pytest.Pytester, test: str, options: tuple[str, ...]
) -> None:
    result = ran(pytester, test, *options)
    result.assert_outcomes(failed=1)
    lines = section(result)
    text = "\n".join(lines)
    assert re.search("\n".join(RECONCILES), text), text
    assert re.search("\n".join(REVISIONS), text), text
    assert "ReconcileFailed: the controller team failed for default/bakers with ValueError" in text
    assert "correct-horse" not in text
    assert len(lines) < 30
    saved = archive(lines)
    assert saved.stat().st_mode & 0o777 == 0o600
    assert b"correct-horse" not in saved.read_bytes()


SERVER = """
def test_growth(setpoint_server):
    for number in range(7):
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": str(number)}}
        setpoint_server.client.apply(item)
    assert setpoint_server.client.get("v1/ConfigMap", "a")["data"] == {}
"""


def test_a_failed_test_with_a_server_shows_its_objects(pytester: pytest.Pytester) -> None:
    lines = section(ran(pytester, SERVER))
    # The last revisions only, as differences, and no objects of the server itself.
    assert lines[0] == "objects, latest revisions last"
    assert [re.sub(r"rv \d+", "rv", line) for line in lines[1:6]] == [
        "  ConfigMap default/a",
        *(f"      rv  data.n {number - 1}→{number}  (admin (test))" for number in range(3, 7)),
    ]
    assert lines[6] == "all revisions are saved, with secrets masked:"
    assert archive(lines).exists()


MANY = """
@pytest.mark.world(crds=[Team], objects=[team(f"team-{number}") for number in range(20)])
async def test_growth(world):
    await world.run(teams)
    assert (await world.find(Team, "team-3")).status.members == 3, "default/team-3"
"""


def test_the_section_is_bounded_and_begins_with_the_objects_that_the_failure_names(pytester: pytest.Pytester) -> None:
    lines = section(ran(pytester, MANY))
    assert lines[0] == "reconciles, the last 8 of 20"
    objects = lines[lines.index("objects, latest revisions last") + 1 :]
    assert objects[0] == "  Team default/team-3"
    assert "  and 14 more" in objects
    assert len(lines) < 60


CLOSED = """
@pytest.mark.world(**SETTINGS)
async def test_growth(world):
    await world.plane.services.store.close()
    raise KeyError("the failure of the test")
"""


@pytest.mark.slow
def test_a_store_that_cannot_be_read_does_not_hide_the_failure(pytester: pytest.Pytester) -> None:
    result = ran(pytester, CLOSED)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*KeyError: 'the failure of the test'"])


PASSING = """
@pytest.mark.world(**SETTINGS, tolerate=ValueError)
async def test_growth(world):
    await grow(world)

@pytest.mark.world(**SETTINGS)
async def test_expected(world):
    with pytest.raises(testing.ReconcileFailed):
        await grow(world)

def test_other():
    assert 1 == 2
"""


@pytest.mark.slow
def test_passed_tests_and_tests_without_a_world_have_no_section_and_no_archive(pytester: pytest.Pytester) -> None:
    result = ran(pytester, PASSING, "--basetemp=base")
    result.assert_outcomes(passed=2, failed=1)
    assert not [line for line in result.outlines if re.fullmatch(r"-+ setpoint -+", line)]
    assert not list((pytester.path / "base").rglob("*.setpoint"))


@pytest.mark.slow
def test_the_printed_command_opens_the_archive(pytester: pytest.Pytester, tmp_path: Path) -> None:
    lines = section(ran(pytester, WORLD))
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path), "NO_COLOR": "1"}
    environ.pop("KUBECONFIG", None)

    def run(command: str) -> str:
        name, *arguments = shlex.split(command)
        assert name == "setpoint"
        done = subprocess.run(
            [sys.executable, "-m", "setpoint", *arguments],
            env=environ, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = [line.strip() for line in lines if line.startswith("  setpoint ")]
    opening, showing, closing = printed
    try:
        assert "opened 01-test-growth" in run(opening)
        assert showing == "setpoint timeline teams.example.com/bakers secrets/key --session 01-test-growth"
        timeline = run(showing)
        assert "spec.members [Ada, Grace]→[Ada, Grace, Edsger]" in timeline
        assert "team controller" in timeline
        assert "correct-horse" not in timeline
    finally:
        assert "01-test-growth is closed" in run(closing)
