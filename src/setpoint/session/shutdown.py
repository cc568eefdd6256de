"""The end of a session: everything stopped in its order, and then a look whether that is true.

The host does the work (`workload/shutdown.py`); it is asked, followed, and, should it not come to an end, killed: its
guardian then stops what it started.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from setpoint.client.transport import Call, TransportError
from setpoint.objects import meta
from setpoint.objects.clock import timeout
from setpoint.objects.ids import SystemIds
from setpoint.objects.tree import Object
from setpoint.session.leftovers import Leftovers
from setpoint.session.registry import Session, Sessions
from setpoint.workload.kinds.api_names import GROUP, VERSION
from setpoint.workload.process.exit_wait import wait_gone
from setpoint.workload.process.identity import Identity, is_alive, parse

if TYPE_CHECKING:
    from setpoint.client.client import Client

_PATH = "/admin/execution"
_MERGE_PATCH = {"content-type": "application/merge-patch+json", "accept": "application/json"}
_LOOK_SECONDS = 0.05
_RUN = ("Executable", "Container")
# The states of what has to be ended.
_THERE = frozenset(("Building", "Starting", "Running", "Paused", "Stopping"))
# As long as the host itself gives those that it stops, and a little more.
SECONDS = 140.0
# How long the guardian may take when the host is gone.
_GUARDIAN_SECONDS = 15.0


class Progress(NamedTuple):
    """How far the end has come: objects that there were, and how many are gone."""

    objects: int
    gone: int
    # Processes and containers that were asked to end, and take their time.
    going: tuple[str, ...] = ()
    # Those that cannot be ended, each with the reason.
    stuck: tuple[str, ...] = ()


class Ended(NamedTuple):
    """What there was to end, and what is left of it, by names that people know."""

    processes: int
    containers: int
    networks: int
    left: tuple[str, ...] = ()
    # What goes on running on purpose.
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        checked = [f"{self.processes} {'process' if self.processes == 1 else 'processes'}"]
        for number, word in ((self.containers, "container"), (self.networks, "network")):
            checked += [f"{number} {word}{'' if number == 1 else 's'}"] if number else []
        if self.left:
            return f"left running: {', '.join(self.left)}"
        kept = f"; kept on purpose: {', '.join(self.kept)}" if self.kept else ""
        return f"nothing {'else ' if kept else ''}left running ({', '.join(checked)} checked){kept}"


async def end(
    session: Session,
    client: "Client",
    on_progress: Callable[[Progress], None],
    *,
    seconds: float = SECONDS,
    environ: Mapping[str, str] = os.environ,
) -> Ended:
    """Ends a session. After `seconds` it is not waited for any more, and killed. Raises TransportError where the host
    runs and does not answer."""
    there = await _count(client)
    host = parse(session.process)
    assert host is not None
    await client.send(Call("PATCH", _PATH, (), _MERGE_PATCH, b'{"status": "Stopping"}'))
    following = asyncio.ensure_future(_follow(client, on_progress))
    leftovers = Leftovers(Sessions.of(environ), client.clock, SystemIds(), environ)
    try:
        async with timeout(client.clock, seconds):
            await wait_gone(host, client.clock)
    except TimeoutError:
        kill(host)
        await wait_gone(host, client.clock)
        # The guardian gives everybody the time that they may take; there is none any more.
        await leftovers.kill(session)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    await leftovers.guarded_until_gone(session, _GUARDIAN_SECONDS)
    await leftovers.clear(session, crashed=False)  # there is something only if the host was killed
    left = await leftovers.look(session, in_engine=there.containers + there.networks > 0)
    kinds = (("process", left.processes), ("container", left.containers), ("network", left.networks))
    return there._replace(left=tuple(f"{kind} {name}" for kind, names in kinds for name in names))


async def is_ending(client: "Client") -> bool:
    """Whether a session that still runs is about to end. Raises TransportError."""
    answer = await client.send(Call("GET", _PATH, (), {"accept": "application/json"}))
    told = msgspec.json.decode(answer.body)
    return bool(told.get("status") != "Running")


def kill(host: Identity) -> None:
    """Ends a host at once; its guardian stops what it started."""
    if is_alive(host):
        os.kill(host.pid, signal.SIGKILL)


async def _count(client: "Client") -> Ended:
    """What runs at this moment."""
    numbers, kept = [], []
    for kind in ("Executable", "Container", "ContainerNetwork"):
        listed = (await client.list(f"{GROUP}/{VERSION}/{kind}")).items
        there = [tree for tree in listed if (tree.get("status") or {}).get("state") in _THERE]
        ending = [tree for tree in there if not _is_kept(tree["spec"])]
        numbers.append(len(ending))
        if kind != "ContainerNetwork":
            kept += [meta.name(tree) for tree in there if tree not in ending]
    processes, containers, networks = numbers
    return Ended(processes, containers, networks, kept=tuple(kept))


def _is_kept(spec: Object) -> bool:
    return bool(spec.get("persistent")) or spec.get("mode", "session") in ("persistent", "existing")


async def _follow(client: "Client", on_progress: Callable[[Progress], None]) -> None:
    """Tells how far it is, until the host answers no more."""
    while True:
        try:
            answer = await client.send(Call("GET", _PATH, (), {"accept": "application/json"}))
            told = msgspec.json.decode(answer.body).get("progress")
        except (TransportError, msgspec.DecodeError):
            return
        if told and told["objects"]:  # before, they are not counted yet
            going = tuple(name for kind, _, name in (each.partition(" ") for each in told["going"]) if kind in _RUN)
            on_progress(Progress(told["objects"], told["gone"], going, tuple(told["left"])))
        await client.clock.sleep(_LOOK_SECONDS)
