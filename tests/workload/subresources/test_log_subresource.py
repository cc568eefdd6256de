"""`…/log`: the output of a process, as clients of DCP and of Kubernetes ask for it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workload.app import GROUP, App, app
from tests.workload.controllers.ship import running, scripted, ship

import setpoint as sp
from setpoint.client.transport import Call
from setpoint.objects.errors import BadRequest, Forbidden, NotFound

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
SAYS = """
import sys
for word in "one two three four five".split(): print(word, flush=True)
print("bad\\nworse", file=sys.stderr)
"""
PATH = f"/apis/{GROUP}/executables/{{}}/log"


async def read(world: App, name: str, **parameters: Any) -> bytes:
    """The bytes of a log."""
    query = [(key, str(value).lower() if isinstance(value, bool) else str(value)) for key, value in parameters.items()]
    async with world.client.stream(Call("GET", PATH.format(name), query)) as stream:
        return b"".join([piece async for piece in stream])


class Following:
    """Somebody who follows a log."""

    def __init__(self, world: App, name: str, **parameters: Any) -> None:
        self.text = b""
        self._news = asyncio.Event()
        query = [("follow", "true"), *((key, str(value)) for key, value in parameters.items())]
        self.task = asyncio.ensure_future(self._follow(world, Call("GET", PATH.format(name), query)))

    async def _follow(self, world: App, call: Call) -> None:
        async with world.client.stream(call) as stream:
            async for piece in stream:
                self.text += piece
                self._news.set()

    async def until(self, end: bytes) -> None:
        """Returns when what was read ends so."""
        async with asyncio.timeout(60):
            while not self.text.endswith(end):
                self._news.clear()
                await self._news.wait()


async def test_every_parameter_cuts_the_log_as_it_says(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SAYS)
        await world.state("Executable", "web", "Finished")
        for case in CASES["reads"]:
            assert (await read(world, "web", **case["query"])).decode() == case["gives"], case


async def test_a_parameter_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SAYS)
        for case in CASES["refuses"]:
            with pytest.raises(BadRequest) as refused:
                await read(world, "web", **case["query"])
            assert case["says"] in str(refused.value), case


async def test_lines_are_stamped_with_the_time_they_came(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SAYS)
        await world.state("Executable", "web", "Finished")
        lines = (await read(world, "web", timestamps=True)).decode().splitlines()
        stamps = [re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\w+)", line) for line in lines]
        assert [found[2] for found in stamps if found] == ["one", "two", "three", "four", "five"]
        times = [found[1] for found in stamps if found]
        assert times == sorted(times)
        both = (await read(world, "web", timestamps=True, line_numbers=True, tail=1)).decode()
        assert re.fullmatch(r"5 \d{4}-\S+Z five\n", both)


async def test_who_follows_before_the_start_hears_everything_to_the_end(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SAYS, start=False)
        following = Following(world, "web")
        await asyncio.sleep(0.05)
        assert not following.task.done()
        await world.patch("Executable", "web", spec={"start": True})
        await asyncio.wait_for(following.task, 60)
        assert following.text == b"one\ntwo\nthree\nfour\nfive\n"


async def test_who_follows_hears_each_line_when_it_comes_and_is_let_go_at_the_end(tmp_path: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    async with app(tmp_path) as world:
        made = await world.python("echo", code, stdin=True)
        await world.state("Executable", "echo", "Running")
        following = Following(world, "echo")
        execution = world.workloads.executables.find(made["metadata"]["uid"])
        assert execution is not None
        assert execution.run is not None
        assert execution.run.running is not None
        stdin = execution.run.running.stdin
        assert stdin is not None
        for word in (b"first\n", b"second\n"):
            await stdin.write(word)
            await following.until(word)
        stdin.close()
        await asyncio.wait_for(following.task, 60)
        assert following.text == b"first\nsecond\n"


async def test_a_child_that_holds_the_output_open_keeps_nobody_following_for_ever(tmp_path: Path) -> None:
    code = "import subprocess; print('up', flush=True); subprocess.Popen(['sleep', '1000'])"
    async with app(tmp_path) as world:
        await world.python("web", code)
        following = Following(world, "web")
        await world.state("Executable", "web", "Finished")
        # Some seconds after the end, whoever still has the pipe open.
        await asyncio.wait_for(following.task, 60)
        assert following.text == b"up\n"
        await world.delete("Executable", "web")


async def test_a_log_goes_on_over_restarts_and_so_does_who_follows_it(tmp_path: Path) -> None:
    code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    async with app(tmp_path) as world:
        await world.python("web", code)
        first = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        following = Following(world, "web", line_numbers="true")
        await following.until(b"%d\n" % first)
        await world.patch("Executable", "web", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        again = await world.until(
            "Executable", "web", lambda tree: tree["status"].get("pid") not in (first, None) and tree["status"]["pid"]
        )
        second = again["status"]["pid"]
        await following.until(b"2 %d\n" % second)
        assert following.text == b"1 %d\n2 %d\n" % (first, second)
        following.task.cancel()


async def test_a_line_of_a_mebibyte_and_bytes_that_are_no_text_come_through(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'x' * (1 << 20) + b'\\n' + bytes(range(256)) + b'\\nend')"
    async with app(tmp_path) as world:
        await world.python("web", code)
        await world.state("Executable", "web", "Finished")
        said = b"x" * (1 << 20) + b"\n" + bytes(range(256)) + b"\nend"
        assert await read(world, "web") == said
        assert await read(world, "web", follow=True) == said
        assert (await read(world, "web", tail=1)).rstrip(b"\n") == b"end"
        assert await read(world, "web", limit=1) == b"x" * (1 << 20) + b"\n"


async def test_a_reader_that_does_not_read_never_stops_the_process(tmp_path: Path) -> None:
    code = "import sys\nfor _ in range(32): sys.stdout.write('y' * (1 << 20))\nprint('done', file=sys.stderr)"
    async with app(tmp_path) as world:
        await world.plane.listen()
        await world.python("web", code, start=False)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(world.plane.kubeconfig())
        call = Call("GET", PATH.format("web"), [("follow", "true")])
        async with sp.Client.from_kubeconfig(kubeconfig) as other, other.stream(call) as stream:
            await world.patch("Executable", "web", spec={"start": True})
            await world.state("Executable", "web", "Finished")
            assert await read(world, "web", source="stderr") == b"done\n"
            # Now it reads, and nothing was lost.
            size = 0
            async for piece in stream:
                size += len(piece)
            assert size == 32 << 20


async def test_what_has_no_log_says_why(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        with pytest.raises(NotFound):
            await read(world, "nobody")
        await world.make("Executable", "shown", {"executablePath": "true", "terminal": {}, "start": False})
        with pytest.raises(BadRequest, match="has a terminal and therefore no log"):
            await read(world, "shown")
        await world.python("going", finalizers=["example.com/held"])
        await world.state("Executable", "going", "Running")
        await world.client.delete(f"{GROUP}/Executable", "going")
        with pytest.raises(BadRequest, match="is being deleted"):
            await read(world, "going")
        assert b"Running" in await read(world, "going", source="system")
        await world.patch("Executable", "going", metadata={"finalizers": []})


async def test_an_object_made_anew_begins_with_an_empty_log(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SAYS)
        await world.state("Executable", "web", "Finished")
        await world.delete("Executable", "web")
        await world.python("web", SAYS, start=False)
        assert await read(world, "web") == b""


async def test_only_who_may_read_logs_can(tmp_path: Path) -> None:
    async with app(tmp_path) as world, world.plane.client(user="bob") as bob:
        await world.python("web", SAYS)
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "sees"},
            "rules": [{"apiGroups": ["*"], "resources": ["executables"], "verbs": ["get"]}],
        }
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "bob"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "sees"},
            "subjects": [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}],
        }
        await world.client.create(role)
        await world.client.create(binding)
        assert await bob.get(f"{GROUP}/Executable", "web")
        with pytest.raises(Forbidden, match="executables/log"):
            async with bob.stream(Call("GET", PATH.format("web"))):
                pass


async def test_a_container_that_somebody_removed_has_no_log_any_more(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        status = await running(world, "web")
        engine.remove(status["containerName"])
        await world.state("Container", "web", "Unknown")
        with pytest.raises(BadRequest, match="its container was removed"):
            await world.log("web", "containers")
        assert "Running" in await world.log("web", "containers", source="system")
