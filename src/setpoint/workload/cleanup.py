"""Removes the persistent processes, containers and networks that a workload left behind, by its records.

Resources that a running control plane manages are not removed: the report lists each as a failure and names that
control plane.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object
from setpoint.workload.controllers.executable.persistence import Persistence
from setpoint.workload.engine.choice import Unavailable, connect
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine_lookup import Engines
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.processes import Processes
from setpoint.workload.proxy.ports import Ports
from setpoint.workload.records import PersistentWorkload, Records, records_path
from setpoint.workload.runtime import Machine

_AT_ONCE = 8
# A network can be removed only after its containers.
_ORDER: tuple[tuple[str, ...], ...] = (("Container", "Executable"), ("ContainerNetwork",))
_PLURALS = {"Container": "containers", "Executable": "executables", "ContainerNetwork": "networks"}
_RESOURCES = {"Container": "containers", "Executable": "executables", "ContainerNetwork": "containernetworks"}


class CleanUpError(Exception):
    """A resource cannot be removed; the message has the reason."""


@dataclass
class Report:
    """The counts of the removed resources, and the failures."""

    workload_id: str
    stopped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PLURALS.values(), 0))
    failures: list[Object] = field(default_factory=list)

    def to_json(self) -> Object:
        """Returns the report in the format that DCP prints."""
        tree: Object = {"workloadId": self.workload_id, "stopped": self.stopped}
        return {**tree, "failures": self.failures} if self.failures else tree


class CleanUp:
    """Removes the recorded resources of a workload. `connect` connects to the container engine, and is called only if
    needed."""

    def __init__(self, machine: Machine, connect: Callable[[], Awaitable[Engine | Unavailable]]) -> None:
        self._machine, self._connect = machine, connect
        self._engine: asyncio.Future[Engine | Unavailable] | None = None

    async def run(self, workload: str) -> Report:
        report = Report(workload)
        kept = self._machine.records.all_kept(workload)
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(each: PersistentWorkload) -> None:
            async with slots:
                try:
                    await self._remove(each)
                except (CleanUpError, EngineError, OSError) as error:
                    report.failures.append(
                        {
                            "kind": _RESOURCES[each.kind],
                            "resourceKey": each.name,
                            "resourceId": _id(each),
                            "error": str(error),
                        }
                    )
                else:
                    report.stopped[_PLURALS[each.kind]] += 1

        try:
            for kinds in _ORDER:
                await asyncio.gather(*(one(each) for each in kept if each.kind in kinds))
        finally:
            if self._engine is not None and isinstance(engine := await self._engine, Engine):
                await engine.close()
        report.failures.sort(key=lambda each: (each["kind"], each["resourceKey"]))
        return report

    async def _remove(self, kept: PersistentWorkload) -> None:
        records = self._machine.records
        if holder := records.acquire(kept.kind, kept.name):
            raise CleanUpError(f"{holder} manages this resource: stop that control plane first")
        try:
            if kept.kind == "Executable":
                await Persistence(self._machine).clean_up(kept.name)
                return
            engine = await self._connected()
            if kept.kind == "Container":
                if await engine.containers.find(kept.record["id"]) is not None:
                    await engine.containers.stop(kept.record["id"])
                    await engine.containers.remove(kept.record["id"])
            elif await engine.networks.find(kept.record["id"]) is not None:
                await engine.networks.remove(kept.record["id"])
            records.drop(kept.kind, kept.name)
        finally:
            records.release(kept.kind, kept.name)

    async def _connected(self) -> Engine:
        if self._engine is None:
            self._engine = asyncio.ensure_future(self._connect())
        found = await asyncio.shield(self._engine)
        if isinstance(found, Unavailable):
            raise CleanUpError(f"{found.message}: {found.remedy}")
        return found


async def clean_up(workload: str, environ: Mapping[str, str], clock: Clock, ids: Ids, directory: Path) -> Report:
    """Removes the persistent resources of a workload, or of all workloads if the name is empty. Temporary files are
    written to the directory. Raises CleanUpError if the records cannot be read."""
    processes = Processes(clock, ids, environ)
    finding = partial(connect, clock, environ, starts=True)
    own = identity_of(os.getpid()) or Identity(os.getpid(), 0)
    records = Records(records_path(environ), own, processes.session)
    try:
        if records.problem:
            raise CleanUpError(records.problem)
        world = Machine(
            clock=clock,
            ids=ids,
            processes=processes,
            records=records,
            ports=Ports(records.ports),
            logs=LogStore(directory, clock),
            directory=directory,
            engines=Engines(clock, processes, finding),
        )
        return await CleanUp(world, finding).run(workload)
    finally:
        await processes.close()
        records.close()


def _id(kept: PersistentWorkload) -> str:
    return str(kept.record.get("id") or kept.record.get("identity", "").partition(":")[0])
