"""Replays the recorded scenarios against a server of ours: one in this process, behind its real HTTP edge.

The scenarios and `replay.py` lie in `tests/golden`; they were recorded from a real kube-apiserver.
"""

import asyncio
import importlib.util
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import yaml

from setpoint.objects.clock import SystemClock
from setpoint.server.access.authentication.credentials import Credentials
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.app import Server
from setpoint.server.edge.listener import Listener
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.server_options import AccessControl, Serving
from setpoint.store.memory import MemoryStore
from setpoint.system.controller_names import GARBAGE_COLLECTOR, NAMESPACE
from setpoint.system.system import System
from setpoint.system.system_environment import ServerInterface

GOLDEN = Path(__file__).parents[1] / "golden"
SCENARIOS = GOLDEN / "scenarios"
TOKEN = "admin-token"
# How long a scenario that is known to fail may wait for what does not come.
IMPATIENCE = 0.3
_BETTER = re.compile(r"status: expected 5\d\d, got 4\d\d ")


class Waiting(NamedTuple):
    """Why a scenario does not pass. `issue` is the one that will mend it; none where our answer is meant. `only`: all
    passes but for the steps that the real server answered with that status."""

    reason: str
    issue: int | None
    only: int | None


@cache
def replay() -> ModuleType:
    """The recorder and checker, which is a script of its own."""
    spec = importlib.util.spec_from_file_location("golden_replay", GOLDEN / "replay.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def scenario_ids() -> list[str]:
    """`area/id` of every scenario."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in SCENARIOS.glob("*/*.yaml"))


def load(scenario_id: str) -> dict[str, Any]:
    loaded: dict[str, Any] = replay().load(str(SCENARIOS / f"{scenario_id}.yaml"))
    return loaded


def not_yet() -> dict[str, Waiting]:
    """The scenarios that do not pass, each with the reason."""
    listed = yaml.load((Path(__file__).parent / "not_yet.yaml").read_text(), Loader=yaml.CSafeLoader)
    return {
        scenario_id: Waiting(group["reason"], group.get("issue"), group.get("only"))
        for group in listed
        for scenario_id in group["ids"]
    }


class Webhooks:
    """The webhooks that scenarios bring along, served when the first of them is replayed."""

    @cached_property
    def server(self) -> Any:
        with warnings.catch_warnings():
            # It leaves a file open, for a moment.
            warnings.simplefilter("ignore", ResourceWarning)
            return replay().WebhookServer()

    def close(self) -> None:
        if "server" in self.__dict__:
            self.server.srv.shutdown()
            self.server.srv.server_close()


@contextmanager
def serving() -> Iterator[Any]:
    """A server over an empty store in a thread of its own; gives the `Target` that `replay.py` talks to."""
    ready = threading.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        server = Server(
            MemoryStore(),
            access=AccessControl(Credentials({TOKEN: ADMIN})),
            serving=Serving(pages=standard()),
        )
        await server.start()
        await server.api_services.register(server.services)
        # Those that were there when the scenarios were recorded.
        system = System(ServerInterface(server), (GARBAGE_COLLECTOR, NAMESPACE))
        await system.start()
        listener = Listener(server, SystemClock())
        _, found["port"] = await listener.listen("127.0.0.1", 0)
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()
        ready.set()
        await found["stop"].wait()
        await system.stop()
        await listener.close(0.1)
        server.services.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(20), "the server did not start"
    target = replay().Target(f"http://127.0.0.1:{found['port']}", TOKEN, timeout=10)
    target.webhooks = Webhooks()
    try:
        yield target
    finally:
        target.webhooks.close()
        connection = getattr(target.local, "conn", None)
        if connection is not None:
            connection.close()
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(10)


def differences(scenario: dict[str, Any], target: Any) -> list[str]:
    """What the server does differently from the recorded one, wording included."""
    run = replay().Run(scenario, target, target.webhooks.server if scenario.get("webhooks") else None)
    abort = run.execute()
    hard, soft = replay().compare(scenario, run, abort)
    return [*hard, *soft]


def beyond(found: list[str], scenario: dict[str, Any], status: int) -> list[str]:
    """The differences that are not our better answers to what the real server answered with that status."""
    steps = (f"step {number} " for number, step in enumerate(scenario["steps"], 1) if _recorded_status(step) == status)
    meant = tuple(steps)
    return [line for line in found if not (line.startswith(meant) and _BETTER.search(line))]


def _recorded_status(step: dict[str, Any]) -> int | None:
    """The status of the recorded answer; that of the error, where a watch had one."""
    expected = step.get("expect", {})
    body = expected.get("body")
    code = body.get("code") if type(body) is dict and body.get("kind") == "Status" else None
    status: int | None = code or expected.get("status")
    return status


def impatient(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario with hardly any time to wait for anything."""
    steps = [{**step, "timeout": IMPATIENCE} if "wait" in step else step for step in scenario["steps"]]
    return {**scenario, "steps": steps}
