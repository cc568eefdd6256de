"""Stops a session: stops all workloads in order, and checks that none is left.

The host does the work (`workload/shutdown.py`). This module requests the shutdown, reports the progress, and kills the
host on timeout; the guardian of the host then stops its processes.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from setpoint.client.mapper import NoMatch
from setpoint.client.transport import Call, TransportError
from setpoint.objects import meta
from setpoint.objects.clock import timeout
from setpoint.objects.ids import SystemIds
from setpoint.objects.tree import Object
from setpoint.session.ending_processes import ending_processes, waiting_text
from setpoint.session.leftovers import Leftovers
from setpoint.session.registry import Session, Sessions
from setpoint.workload.kinds.api_names import GROUP, VERSION
from setpoint.workload.process.exit_wait import wait_exit
from setpoint.workload.process.identity import Identity, is_alive, parse

if TYPE_CHECKING:
    from setpoint.client.client import Client

_PATH = "/admin/execution"
_MERGE_PATCH = {"content-type": "application/merge-patch+json", "accept": "application/json"}
_LOOK_SECONDS = 0.05
# The interval in which the processes of stopping workloads are looked up.
_NAMED_SECONDS = 1.0
_RUN = ("Executable", "Container")
# The states of running workloads.
_THERE = frozenset(("Building", "Starting", "Running", "Paused", "Stopping"))
# The time limit of the host for stopping workloads, with a margin.
SECONDS = 140.0
# The time limit for the guardian after the host has exited.
_GUARDIAN_SECONDS = 15.0


class ShutdownProgress(NamedTuple):
    """The progress of a shutdown: the number of objects, and of the deleted ones."""

    objects: int
    deleted: int
    # Workloads that are still terminating; containers as `container NAME`.
    terminating: tuple[str, ...] = ()
    # Their processes, if the shutdown takes so long that they were looked up.
    processes: Mapping[str, tuple[str, ...]] | None = None
    # Workloads that cannot be stopped, with the reason.
    stuck: tuple[str, ...] = ()

    @property
    def waiting(self) -> str:
        """The text of the workloads that the shutdown waits for."""
        return waiting_text(self.terminating, self.processes or {})


class Ended(NamedTuple):
    """The number of stopped resources, and the names of those that are left."""

    processes: int
    containers: int
    networks: int
    left: tuple[str, ...] = ()
    # Workloads that keep running on purpose.
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
    on_progress: Callable[[ShutdownProgress], None],
    *,
    seconds: float = SECONDS,
    environ: Mapping[str, str] = os.environ,
) -> Ended:
    """Stops a session, and kills the host after `seconds`. Raises TransportError if the host is running but does not
    answer.
    """
    there, uids = await _count(client)
    host = parse(session.process)
    assert host is not None
    await client.send(Call("PATCH", _PATH, (), _MERGE_PATCH, b'{"status": "Stopping"}'))
    following = asyncio.ensure_future(_follow(client, on_progress, host, uids))
    leftovers = Leftovers(Sessions.of(environ), client.clock, SystemIds(), environ)
    try:
        async with timeout(client.clock, seconds):
            await wait_exit(host, client.clock)
    except TimeoutError:
        kill(host)
        await wait_exit(host, client.clock)
        # The guardian would wait for graceful termination; the time for that is over.
        await leftovers.kill(session)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    await leftovers.wait_for_guardian(session, _GUARDIAN_SECONDS)
    await leftovers.clear(session, crashed=False)  # finds leftovers only if the host was killed
    left = await leftovers.find(session, in_engine=there.containers + there.networks > 0)
    kinds = (("process", left.processes), ("container", left.containers), ("network", left.networks))
    return there._replace(left=tuple(f"{kind} {name}" for kind, names in kinds for name in names))


async def is_ending(client: "Client") -> bool:
    """Returns True if a running session is stopping. Raises TransportError."""
    answer = await client.send(Call("GET", _PATH, (), {"accept": "application/json"}))
    status = msgspec.json.decode(answer.body)
    return bool(status.get("status") != "Running")


def kill(host: Identity) -> None:
    """Kills a host. Its guardian stops its processes."""
    if is_alive(host):
        os.kill(host.pid, signal.SIGKILL)


async def _count(client: "Client") -> tuple[Ended, dict[str, str]]:
    """Returns the number of running resources, and the names of processes by uid."""
    numbers, kept, uids = [], [], dict[str, str]()
    for kind in ("Executable", "Container", "ContainerNetwork"):
        try:
            listed = (await client.list(f"{GROUP}/{VERSION}/{kind}")).items
        except NoMatch:  # an imported archive of a server without workloads
            listed = []
        there = [tree for tree in listed if (tree.get("status") or {}).get("state") in _THERE]
        ending = [tree for tree in there if not _is_kept(tree["spec"])]
        numbers.append(len(ending))
        uids |= {meta.uid(tree): meta.name(tree) for tree in listed if kind == "Executable"}
        if kind != "ContainerNetwork":
            kept += [meta.name(tree) for tree in there if tree not in ending]
    processes, containers, networks = numbers
    return Ended(processes, containers, networks, kept=tuple(kept)), uids


def _is_kept(spec: Object) -> bool:
    return bool(spec.get("persistent")) or spec.get("mode", "session") in ("persistent", "existing")


async def _follow(
    client: "Client", on_progress: Callable[[ShutdownProgress], None], host: Identity, uids: Mapping[str, str]
) -> None:
    """Reports the progress until the host stops answering, with the names of processes that take longer than others."""
    processes: Mapping[str, tuple[str, ...]] | None = None
    looked = client.clock.monotonic()
    while True:
        try:
            answer = await client.send(Call("GET", _PATH, (), {"accept": "application/json"}))
            progress = msgspec.json.decode(answer.body).get("progress")
        except (TransportError, msgspec.DecodeError):
            return
        if progress and progress["objects"]:  # not counted yet before
            pairs = [each.partition(" ")[::2] for each in progress["going"]]
            going = tuple(f"container {name}" if kind == "Container" else name for kind, name in pairs if kind in _RUN)
            if going and client.clock.monotonic() - looked >= _NAMED_SECONDS:
                processes = await asyncio.to_thread(ending_processes, host, uids)
                looked = client.clock.monotonic()
            reached = ShutdownProgress(progress["objects"], progress["gone"], going, processes, tuple(progress["left"]))
            on_progress(reached)
        await client.clock.sleep(_LOOK_SECONDS)
