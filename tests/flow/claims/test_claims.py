"""Claims and what they claim: bound one to one, ready together, and gone in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from tests.controller.core.worlds import PATIENCE

from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.manager import Manager
from setpoint.controller.suspension import SUSPEND
from setpoint.flow.claims import ClaimedRef, ClaimRef, Claims, Reclaim
from setpoint.flow.claims.refs import claim_of
from setpoint.flow.fsm import FSM, Done, Next, Outputs, Wait
from setpoint.objects.errors import Conflict
from setpoint.objects.gvk import GroupKind
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource


class Status(Model):
    """How either is."""

    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class ClaimSpec(Model):
    """What is asked for."""

    size: int = 1
    claimed_ref: ClaimedRef | None = None


class DatabaseClaim(Resource, group="data.example.com", version="v1"):
    """A database that somebody asks for."""

    spec: ClaimSpec
    status: Status | None = None


class DatabaseSpec(Model):
    """What a database should be."""

    size: int = 1
    claim_ref: ClaimRef | None = None


class Database(Resource, group="data.example.com", version="v1", scope="Cluster"):
    """A database."""

    spec: DatabaseSpec
    status: Status | None = None


class World:
    """A server with both kinds, and a machine that runs databases."""

    def __init__(self, client: Client, manager: Manager) -> None:
        self.client, self.manager = client, manager
        # What the machine answers for databases.
        self.answer: Next = Done()
        self.sizes: list[int] = []
        self.fsm = FSM(Database, finalizer="data.example.com/database")

        @self.fsm.state("Running", then=[])
        async def running(ctx: Context, database: Database, out: Outputs) -> Next:
            self.sizes.append(database.spec.size)
            return self.answer

    def run(self, **how: Any) -> Claims:
        claims = Claims(DatabaseClaim, Database, project=lambda claim: {"size": claim.spec.size}, **how)
        self.manager.add(claims.controller())
        self.manager.add(self.fsm.controller(watches=[claims.watch()]))
        return claims

    async def claim(self, name: str = "orders", claimed: str = "", **spec: Any) -> DatabaseClaim:
        reference = ClaimedRef(name=claimed) if claimed else None
        metadata = ObjectMeta(name=name, namespace="default")
        return await self.client.create(DatabaseClaim(metadata=metadata, spec=ClaimSpec(claimed_ref=reference, **spec)))

    async def says(self, wanted: str, name: str = "orders") -> DatabaseClaim:
        """Waits until a claim says that, of the generation that it has."""

        def holds(found: Any) -> bool:
            return found is not None and wanted in {
                f"{each['type']}={each['status']}/{each['reason']}"
                for each in (found.status or Status()).conditions
                if each.get("observedGeneration") == found.metadata.generation
            }

        found = await self.client.wait_for(DatabaseClaim, name, "default", holds, timeout=None)
        assert found is not None
        return found

    async def databases(self) -> list[Database]:
        return (await self.client.list(Database)).items


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with asyncio.timeout(PATIENCE), ControlPlane() as plane, plane.client() as client:
        await client.install(DatabaseClaim, Database)
        async with Manager(client) as manager:
            yield World(client, manager)


def edit_size(size: int) -> Callable[[Any], None]:
    return lambda found: setattr(found.spec, "size", size)


@pytest.mark.feature("E13")
async def test_a_claim_gets_one_object_that_names_it_and_has_what_it_asks_for(world: World) -> None:
    world.run()
    await world.claim(size=3)
    claim = await world.says("Ready=True/Bound")
    [database] = await world.databases()
    assert claim.spec.claimed_ref == ClaimedRef(name=database.metadata.name)
    assert database.spec.size == 3
    assert database.spec.claim_ref is not None
    assert database.spec.claim_ref.uid == claim.metadata.uid


@pytest.mark.feature("G11", "E13")
async def test_a_claim_is_not_ready_again_when_what_it_claimed_is_not(world: World) -> None:
    world.run()
    await world.claim()
    await world.says("Ready=True/Bound")
    world.answer = Wait(60, reason="Failing", message="the disk is full")
    [database] = await world.databases()
    await world.client.edit(Database, database.metadata.name, "", lambda found: found.metadata.labels.update(a="b"))
    claim = await world.says("Ready=False/Failing")
    assert claim.status is not None
    assert "the disk is full" in claim.status.conditions[-1]["message"]


@pytest.mark.feature("G11", "E13")
async def test_a_claim_that_changed_is_ready_only_when_the_change_is_carried_out(world: World) -> None:
    world.run()
    await world.claim(size=1)
    await world.says("Ready=True/Bound")
    world.answer = Wait(60, reason="Growing")
    await world.client.edit(DatabaseClaim, "orders", "default", edit_size(5))
    await world.says("Ready=False/Growing")
    assert world.sizes[-1] == 5
    world.answer = Done()
    [database] = await world.databases()
    await world.client.edit(Database, database.metadata.name, "", lambda found: found.metadata.labels.update(a="b"))
    await world.says("Ready=True/Bound")


@pytest.mark.feature("E13")
async def test_a_claim_that_names_an_object_is_bound_to_it_once_it_is_there(world: World) -> None:
    world.run()
    await world.claim(claimed="legacy", size=2)
    await world.says("Ready=False/NotFound")
    await world.client.create(Database(metadata=ObjectMeta(name="legacy"), spec=DatabaseSpec(size=1)))
    await world.says("Ready=True/Bound")
    [database] = await world.databases()
    assert (database.metadata.name, database.spec.size) == ("legacy", 2)


@pytest.mark.feature("E13")
async def test_what_another_claim_has_is_refused(world: World) -> None:
    world.run()
    first = await world.claim()
    name = (await world.says("Ready=True/Bound")).spec.claimed_ref
    assert name is not None
    await world.claim("thief", claimed=name.name)
    thief = await world.says("Ready=False/ClaimedByAnother", "thief")
    assert thief.status is not None
    assert "is claimed by DatabaseClaim default/orders" in thief.status.conditions[-1]["message"]
    await world.client.delete(thief)
    await world.client.wait_for(DatabaseClaim, "thief", "default", "delete", timeout=5)
    [database] = await world.databases()  # it was not the thief's to delete
    assert database.spec.claim_ref is not None
    assert database.spec.claim_ref.uid == first.metadata.uid


@pytest.mark.feature("G12")
@pytest.mark.parametrize("spec", [None, {}, {"claimRef": None}, {"claimRef": {}}, {"claimRef": {"name": "x"}}])
def test_an_object_without_a_claim_means_nobody(spec: Any) -> None:
    assert claim_of({"metadata": {"name": "d"}, "spec": spec}, GroupKind("data.example.com", "DatabaseClaim")) is None


@pytest.mark.feature("G12")
async def test_an_object_that_nobody_claims_disturbs_nobody(world: World) -> None:
    world.run()
    await world.client.create(Database(metadata=ObjectMeta(name="stray"), spec=DatabaseSpec()))
    await world.claim()
    await world.says("Ready=True/Bound")
    await world.client.wait_for(Database, "stray", "", "condition=Ready", timeout=5)


@pytest.mark.feature("E13")
async def test_what_was_claimed_goes_before_its_claim_and_somebody_is_asked_before_that(world: World) -> None:
    asked: list[str] = []
    refuses = True

    async def before_delete(ctx: Context, claim: DatabaseClaim, database: Database) -> None:
        asked.append(database.metadata.name)
        if refuses:
            raise Conflict("there is no backup yet")

    world.run(before_delete=before_delete)
    made = await world.claim()
    await world.says("Ready=True/Bound")
    await world.client.delete(made)
    claim = await world.says("Ready=False/Deleting")
    assert claim.status is not None
    assert claim.status.conditions[-1]["message"] == "there is no backup yet"
    assert len(await world.databases()) == 1
    refuses = False
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=10)
    assert await world.databases() == []
    assert len(asked) > 1


@pytest.mark.feature("E13")
async def test_what_is_released_can_be_claimed_again(world: World) -> None:
    world.run(reclaim=Reclaim.RELEASE)
    made = await world.claim()
    name = (await world.says("Ready=True/Bound")).spec.claimed_ref
    assert name is not None
    await world.client.delete(made)
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=5)
    await world.claim("next", claimed=name.name)
    await world.says("Ready=True/Bound", "next")


@pytest.mark.feature("E13", "E74")
async def test_what_was_claimed_is_suspended_with_its_claim(world: World) -> None:
    world.run()
    await world.claim(size=1)
    await world.says("Ready=True/Bound")
    mark = {SUSPEND: "true"}
    await world.client.edit(DatabaseClaim, "orders", "default", lambda found: found.metadata.annotations.update(mark))
    await world.says("Suspended=True/Suspended")
    [database] = await world.databases()
    assert database.metadata.annotations[SUSPEND] == "true"
    await world.client.edit(DatabaseClaim, "orders", "default", lambda found: found.metadata.annotations.clear())
    await world.client.wait_for(
        Database, database.metadata.name, "", lambda found: SUSPEND not in found.metadata.annotations, timeout=5
    )
    await world.says("Ready=True/Bound")
