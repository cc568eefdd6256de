"""`…/log` with a selection of lines and attempts, and several logs in one response, on real processes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import App, app
from tests.workload.logs.books import turns
from tests.workload.subresources.test_log_subresource import PATH, Following

from setpoint.client.transport import Call
from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import BadRequest, Forbidden, NotFound
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.selected_lines import LogOf, selected

SAYS = r"""
import json, sys
print("starting up", flush=True)
print("INFO  listening on 8000", flush=True)
print("2026-01-01 12:00:00,000 ERROR in app: boom", flush=True)
print("  File main.py, line 3", flush=True)
print(json.dumps({"level": "warn", "msg": "slow query", "ms": 900, "table": "users"}), flush=True)
print(json.dumps({"level": 30, "time": 1, "msg": "request", "path": "/a b"}), flush=True)
"""
# Tells its number, and ends by itself twice.
COUNTS = """
import pathlib, signal, sys
file = pathlib.Path("runs"); number = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(number))
print("run", number, flush=True)
print("end of", number, end="", flush=True)
if number < 3: sys.exit(1)
signal.pause()
"""


async def read(world: App, name: str, *others: str, **parameters: Any) -> list[str]:
    query = [*((key, str(value)) for key, value in parameters.items()), *(("with", each) for each in others)]
    async with world.client.stream(Call("GET", PATH.format(name), query)) as stream:
        return b"".join([piece async for piece in stream]).decode().splitlines()


async def finished(world: App, name: str, code: str = SAYS) -> None:
    await world.python(name, code)
    await world.state("Executable", name, "Finished")


async def test_lines_are_selected_by_pattern_and_level(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await finished(world, "web")
        assert await read(world, "web", grep="listen|boom") == [
            "INFO  listening on 8000",
            "2026-01-01 12:00:00,000 ERROR in app: boom",
        ]
        assert await read(world, "web", grep="LISTEN", ignore_case="true") == ["INFO  listening on 8000"]
        assert len(await read(world, "web", grep="listen|boom", invert="true")) == 4
        # The lines of a stack trace belong to the error before.
        assert await read(world, "web", level="error") == [
            "2026-01-01 12:00:00,000 ERROR in app: boom",
            "  File main.py, line 3",
        ]
        assert len(await read(world, "web", level="warn")) == 3
        assert await read(world, "web", grep="a", tail=1, format="text") == ['INFO    request path="/a b"']
        assert await read(world, "web", grep="o", limit=1) == ["INFO  listening on 8000"]


async def test_json_lines_are_rendered_with_selected_fields(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await finished(world, "web")
        assert await read(world, "web", format="text", level="warning", grep="slow") == [
            "WARNING slow query ms=900 table=users"
        ]
        assert await read(world, "web", format="text", grep="slow", fields="table,none") == [
            "WARNING slow query table=users"
        ]
        records = [json.loads(line) for line in await read(world, "web", format="json", source="all")]
        assert [each["level"] for each in records] == ["", "info", "error", "", "warning", "info"]
        slow = records[4]
        assert (slow["name"], slow["source"], slow["attempt"]) == ("web", "stdout", 1)
        assert (slow["message"], slow["fields"]) == ("slow query", {"ms": 900, "table": "users"})
        assert json.loads(slow["line"])["msg"] == "slow query"


async def test_attempts_are_told_apart(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", COUNTS, restartPolicy="OnFailure", restartBackoff={"initial": "10ms", "max": "10ms"})
        await world.until("Executable", "web", lambda tree: _runs(tree, 2))
        async with asyncio.timeout(60):
            while "end of 3" not in await read(world, "web"):
                await asyncio.sleep(0.01)
        assert await read(world, "web", previous="true") == ["run 2", "end of 2"]
        for number in (1, 2, 3):
            assert await read(world, "web", attempt=number) == [f"run {number}", f"end of {number}"]
            assert await read(world, "web", attempt=number, grep="run", source="all") == [f"run {number}"]
        records = [json.loads(line) for line in await read(world, "web", format="json", grep="run")]
        assert [each["attempt"] for each in records] == [1, 2, 3]
        with pytest.raises(BadRequest, match="attempt: 4 is not recorded; available: 1 to 3"):
            await read(world, "web", attempt=4)
        await finished(world, "once", "print('a')")
        with pytest.raises(BadRequest, match="previous: this object has run only once"):
            await read(world, "once", previous="true")
        await world.patch("Executable", "once", metadata={"annotations": {RESTART_REQUESTED: "1"}})
        await world.until("Executable", "once", lambda tree: _runs(tree, 1))
        assert await read(world, "once", previous="true") == ["a"]


def _runs(tree: Any, restarts: int) -> bool:
    status = tree.get("status") or {}
    return bool(status.get("restartCount", 0) == restarts and status.get("startupTimestamp"))


async def test_several_logs_are_merged_by_time(tmp_path: Path) -> None:
    step = "import sys, time\nfor number in range(3):\n    print(sys.argv[1], number, flush=True); time.sleep(0.02)"
    async with app(tmp_path) as world:
        for name in ("one", "two"):
            await world.python(name, step, args=[name])
        for name in ("one", "two"):
            await world.state("Executable", name, "Finished")
        found = await read(world, "one", "executables/two", names="true", timestamps="true")
        assert [line[:24] for line in found] == sorted(line[:24] for line in found)
        assert sorted(line.partition(" ")[2] for line in found) == [
            f"{name} | {name} {number}" for name in ("one", "two") for number in range(3)
        ]
        assert sorted(await read(world, "one", "executables/two", tail=1, grep="0")) == ["one 0", "two 0"]
        with pytest.raises(NotFound):
            await read(world, "one", "executables/missing")


async def test_several_logs_are_followed(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        for name in ("one", "two"):
            await world.python(name, f"print('up {name}', flush=True)\nimport signal\nsignal.pause()")
            await world.first_line(name)
        following = Following(world, "one", **{"with": "executables/two", "grep": "up"})
        async with asyncio.timeout(60):
            while sorted(following.text.decode().split("\n")) != ["", "up one", "up two"]:
                await asyncio.sleep(0.01)
        for name in ("one", "two"):
            await world.patch("Executable", name, spec={"stop": True})
        async with asyncio.timeout(60):
            await following.task


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"grep": "("}, "grep: error parsing regexp"),
        ({"grep": "x" * 1001}, "grep: the pattern is longer than 1000"),
        ({"invert": "true"}, "invert: requires grep"),
        ({"level": "loud"}, "level: unsupported value 'loud'; supported: trace, debug"),
        ({"format": "xml"}, "format: unsupported value 'xml'; supported: raw, text, json"),
        ({"fields": "a"}, "fields: requires format"),
        ({"attempt": "0"}, "attempt: 0 must be 1 or greater"),
        ({"attempt": "x"}, "attempt: 'x' is not a whole number"),
        ({"attempt": "1", "previous": "true"}, "attempt: cannot be used together with previous"),
        ({"attempt": "1", "follow": "true"}, "cannot be used together with follow"),
        ({"grep": "a", "tail": "10001"}, "tail: 10001 must be at most 10000"),
        ({"with": "pods/a"}, "with: invalid value 'pods/a'"),
    ],
)
async def test_invalid_parameters_name_the_remedy(tmp_path: Path, parameters: dict[str, str], message: str) -> None:
    async with app(tmp_path) as world:
        await world.python("web", start=False)
        with pytest.raises(BadRequest) as caught:
            await read(world, "web", **parameters)
        assert message in str(caught.value)


async def test_too_many_logs_are_refused(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", start=False)
        with pytest.raises(BadRequest, match="with: at most 49"):
            await read(world, "web", *(f"executables/a{number}" for number in range(50)))


async def test_each_merged_log_needs_the_right_to_read_that_log(tmp_path: Path) -> None:
    async with app(tmp_path) as world, world.plane.client(user="bob") as bob:
        for name in ("one", "two"):
            await finished(world, name, f"print('{name}')")
        rule = {"apiGroups": ["*"], "resources": ["executables/log"], "resourceNames": ["one"], "verbs": ["get"]}
        api = "rbac.authorization.k8s.io"
        role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": "one"}, "rules": [rule]}
        reference = {"apiGroup": api, "kind": "ClusterRole", "name": "one"}
        subject = {"kind": "User", "name": "bob", "apiGroup": api}
        binding = {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "one"}}
        await world.client.create(role)
        await world.client.create({**binding, "roleRef": reference, "subjects": [subject]})
        async with bob.stream(Call("GET", PATH.format("one"), [("grep", "o")])) as stream:
            assert b"".join([piece async for piece in stream]) == b"one\n"
        with pytest.raises(Forbidden, match=r"executables\.usvc.* \"two\" is forbidden"):
            async with bob.stream(Call("GET", PATH.format("one"), [("with", "executables/two")])):
                pass


async def test_a_search_ends_at_its_bound_and_says_so(tmp_path: Path) -> None:
    store = LogStore(tmp_path, SystemClock())
    capture = store.capture("a", "stdout")
    capture.write(b"".join(b"line %d\n" % number for number in range(1000)))
    capture.close()
    store.end("a")
    options = LogOptions(grep="line", format="text")
    pieces = [piece async for piece in selected(store, [LogOf("a", "a")], options, SystemClock(), 500)]
    lines = b"".join(pieces).decode().splitlines()
    assert lines[-1] == "the search ended: narrow it by since, until or attempt"
    assert 40 < len(lines) < 80
    store.close()


@pytest.mark.parametrize("source", ["stdout", "all"])
@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "later"]])
async def test_a_line_that_is_incomplete_at_present_is_followed_as_a_whole(
    tmp_path: Path, names: list[str], source: str
) -> None:
    store = LogStore(tmp_path, SystemClock())
    captures = {name: store.capture(name, "stdout") for name in names if name != "later"}
    for name, capture in captures.items():
        capture.write(f"{name} first\n{name} sec".encode())
    options = LogOptions(source, follow=True, grep="first|ond", names=True)
    reading = selected(store, [LogOf(name, name) for name in names], options, SystemClock())
    async with asyncio.timeout(30):
        past = [(await anext(reading)).split(b"|")[-1] for _ in captures]
        assert past == [f" {name} first\n".encode() for name in captures]
        next_one = asyncio.ensure_future(anext(reading))
        await turns()
        assert not next_one.done()
        if "later" in names:
            captures["later"] = store.capture("later", "stdout")
            captures["later"].write(b"later sec")
        for name, capture in captures.items():
            capture.write(f"ond\n{name} third".encode())
            capture.close()
            store.end(name)
        left = [await next_one, *[piece async for piece in reading]]
    assert {line.partition("| ")[2] for line in b"".join(left).decode().splitlines()} == {
        f"{each} second" for each in names
    }
    store.close()


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
async def test_a_followed_search_begins_with_its_last_matches(tmp_path: Path, names: list[str]) -> None:
    store = LogStore(tmp_path, SystemClock())
    for name in names:
        capture = store.capture(name, "stdout")
        capture.write(b"".join(b"hit %d\nother\n" % number for number in range(5)))
        capture.close()
        store.end(name)
    options = LogOptions(follow=True, grep="hit", tail=2)
    async with asyncio.timeout(30):
        reading = selected(store, [LogOf(name, name) for name in names], options, SystemClock())
        found = b"".join([piece async for piece in reading]).decode().splitlines()
    assert sorted(found) == sorted(["hit 3", "hit 4"] * len(names))
    store.close()


async def test_a_catastrophic_pattern_takes_linear_time(tmp_path: Path) -> None:
    store = LogStore(tmp_path, SystemClock())
    capture = store.capture("a", "stdout")
    capture.write(b"a" * 50_000 + b"!\n")
    capture.close()
    store.end("a")
    async with asyncio.timeout(20):
        found = [piece async for piece in selected(store, [LogOf("a", "a")], LogOptions(grep="^(a+)+$"), SystemClock())]
    assert found == []
    store.close()
