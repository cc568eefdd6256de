"""Several handlers of one kind: who brings a machine into a data centre, labels it and takes it out of the books again.

Each handler has its own name, backoff and time limit; a cloud that does not answer keeps nobody from the others' work.
`python examples/label_zone_chain.py` runs it in one process with a control plane of its own.
"""

import asyncio
from dataclasses import dataclass, field

import setpoint as sp
from setpoint.client.patches import merge
from setpoint.controller.ratelimit import FastSlow


class MachineSpec(sp.Model):
    """What a machine should be."""

    rack: str


class Machine(sp.Resource, group="example.com", version="v1", scope="Cluster"):
    """A machine."""

    spec: MachineSpec


@dataclass
class Cloud:
    """Who rents the machines out: here, a stand-in."""

    zones: dict[str, str] = field(default_factory=lambda: {"r1": "north", "r2": "south"})
    is_down: bool = False
    rented: set[str] = field(default_factory=set)
    books: list[str] = field(default_factory=list)

    async def zone_of(self, rack: str) -> str:
        if self.is_down:
            raise ConnectionError("the cloud does not answer")
        return self.zones[rack]


def machines(cloud: Cloud) -> sp.Chain[Machine]:
    chain = sp.Chain(Machine, finalizer="example.com/machines")

    @chain.on_change("rent")
    async def rent(ctx: sp.HandlerContext, machine: Machine) -> None:
        cloud.rented.add(machine.metadata.name)

    @chain.on_change("label-zone", timeout=30, backoff=lambda: FastSlow(0.01, 60, attempts=50))
    async def label_zone(ctx: sp.HandlerContext, machine: Machine) -> Machine | None:
        zone = await cloud.zone_of(machine.spec.rack)
        if machine.metadata.labels.get("zone") == zone:
            return None
        found: Machine = await ctx.client.patch(machine, merge({"metadata": {"labels": {"zone": zone}}}))
        return found

    @chain.on_change("announce", after=["label-zone"])
    async def announce(ctx: sp.HandlerContext, machine: Machine) -> None:
        line = f"{machine.metadata.name} is in the {machine.metadata.labels['zone']}"
        if line not in cloud.books:
            cloud.books.append(line)

    @chain.on_remove("give-back")
    async def give_back(ctx: sp.HandlerContext, machine: Machine) -> None:
        cloud.rented.discard(machine.metadata.name)

    @chain.on_delete("note-it")
    async def note_it(ctx: sp.HandlerContext, gone: sp.Gone[Machine]) -> None:
        cloud.books.append(f"{gone.last_known.metadata.name} left the {gone.last_known.metadata.labels['zone']}")

    return chain


async def main() -> None:
    cloud = Cloud(is_down=True)
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Machine)
        async with sp.Manager(client, controllers=[machines(cloud)]):
            await client.create(Machine(metadata=sp.ObjectMeta(name="m1"), spec=MachineSpec(rack="r2")))
            while not cloud.rented:
                await asyncio.sleep(0.01)
            print(f"rented, though the cloud is down: {sorted(cloud.rented)}, {cloud.books}")
            cloud.is_down = False
            while not cloud.books:
                await asyncio.sleep(0.01)
            print(cloud.books[0])
            await client.delete(Machine, "m1")
            await client.wait_for(Machine, "m1", "", "delete")
            while len(cloud.books) < 2:
                await asyncio.sleep(0.01)
            print(f"{cloud.books[1]}; rented: {sorted(cloud.rented)}")


if __name__ == "__main__":
    asyncio.run(main())
