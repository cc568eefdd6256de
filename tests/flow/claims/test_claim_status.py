"""The status of a claim: each reason, with the claimed object in a state that the test sets."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.controller.core.worlds import PATIENCE, until
from tests.flow.claims.test_claims import Database, DatabaseClaim, DatabaseSpec, World, edit_size

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.manager import Manager
from setpoint.controller.suspension import SUSPEND
from setpoint.flow.claims import ClaimRef, Claims, Reclaim
from setpoint.flow.claims.claims import SUSPENDED_BY_CLAIM
from setpoint.flow.claims.refs import claim_of, claimed_name, is_bound, is_bound_to, named_by, reference_to
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import ObjectMeta

BLOCKER = "example.com/blocks"


class Claiming(World):
    """A world in which only claims are reconciled; the test writes the status of a database."""

    def run(self, **how: Any) -> Claims:
        claims = Claims(DatabaseClaim, Database, project=lambda claim: {"size": claim.spec.size}, **how)
        self.manager.add(claims.controller())
        return claims

    async def database(self) -> Database:
        [found] = await self.databases()
        return found

    async def report(self, status: str, generation: int | None = None, **more: str) -> None:
        """Writes the condition Ready of the database, of its current generation unless another one is given; 0 for a
        condition without a generation."""
        found = await self.database()
        observed = found.metadata.generation if generation is None else generation
        condition = {
            "type": "Ready", "status": status, "reason": "Said", "message": "", "observedGeneration": observed,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        } | more  # fmt: skip
        if generation == 0:
            del condition["observedGeneration"]
        change = merge({"status": {"conditions": [condition]}})
        await self.client.patch(Database, change, found.metadata.name, subresource="status")

    async def message(self, wanted: str, name: str = "orders") -> str:
        claim = await self.says(wanted, name)
        assert claim.status is not None
        [ready] = [each for each in claim.status.conditions if each["type"] == "Ready"]
        return str(ready["message"])


@pytest.fixture
async def world() -> AsyncIterator[Claiming]:
    async with asyncio.timeout(PATIENCE), ControlPlane() as plane, plane.client() as client:
        await client.install(DatabaseClaim, Database)
        async with Manager(client) as manager:
            yield Claiming(client, manager)


async def test_a_claim_tells_how_far_its_object_is(world: Claiming) -> None:
    world.run()
    await world.claim()
    name = (await world.says("Ready=False/Creating")).spec.claimed_ref
    assert name is not None
    what = f"Database {name.name}"
    assert await world.message("Ready=False/Creating") == f"{what} has not reported its status yet"
    await world.report("False")
    assert await world.message("Ready=False/Said") == f"{what}: is not ready"
    await world.report("False", reason="Broken", message="out of disk space")
    assert await world.message("Ready=False/Broken") == f"{what}: out of disk space"
    await world.report("True")
    assert await world.message("Ready=True/Bound") == f"{what} is ready"


async def test_a_report_of_an_earlier_generation_does_not_count(world: Claiming) -> None:
    world.run()
    await world.claim(size=1)
    await world.says("Ready=False/Creating")
    await world.report("True")
    await world.says("Ready=True/Bound")
    await world.client.edit(DatabaseClaim, "orders", "default", edit_size(2))
    message = await world.message("Ready=False/Updating")
    assert message.endswith("has not reported its status since the last change")
    assert (await world.database()).spec.size == 2
    await world.report("True")
    await world.says("Ready=True/Bound")


async def test_a_report_without_a_generation_does_not_count(world: Claiming) -> None:
    world.run()
    await world.claim()
    await world.says("Ready=False/Creating")
    await world.report("True", generation=0)
    await world.says("Ready=False/Updating")


async def test_a_claim_waits_until_its_object_is_deleted_and_says_so(world: Claiming) -> None:
    world.run()
    made = await world.claim()
    await world.says("Ready=False/Creating")
    name = (await world.database()).metadata.name
    await world.client.edit(Database, name, "", lambda found: found.metadata.finalizers.append(BLOCKER))
    await world.client.delete(made)
    assert await world.message("Ready=False/Deleting") == f"waiting for the deletion of Database {name}"
    assert (await world.database()).metadata.deletion_timestamp is not None
    await world.client.edit(Database, name, "", lambda found: found.metadata.finalizers.remove(BLOCKER))
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=5)
    assert await world.databases() == []


async def test_an_object_that_is_being_deleted_by_others_is_not_bound(world: Claiming) -> None:
    world.run()
    await world.claim()
    await world.says("Ready=False/Creating")
    name = (await world.database()).metadata.name
    await world.client.edit(Database, name, "", lambda found: found.metadata.finalizers.append(BLOCKER))
    await world.client.delete(Database, name)
    assert await world.message("Ready=False/ClaimedDeleting") == f"Database {name} is being deleted"
    await world.client.edit(Database, name, "", lambda found: found.metadata.finalizers.remove(BLOCKER))
    await world.says("Ready=False/Creating")
    assert (await world.database()).metadata.name == name, "created again under the same name"


async def test_a_claim_without_an_object_is_deleted_at_once(world: Claiming) -> None:
    world.run()
    made = await world.claim(claimed="missing")
    assert await world.message("Ready=False/NotFound") == "Database missing does not exist"
    await world.client.delete(made)
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=5)
    assert await world.databases() == []


async def test_a_released_object_has_no_claim_and_keeps_its_fields(world: Claiming) -> None:
    world.run(reclaim=Reclaim.RELEASE)
    made = await world.claim(size=4)
    await world.says("Ready=False/Creating")
    await world.client.delete(made)
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=5)
    database = await world.database()
    assert (database.spec.size, database.spec.claim_ref, database.metadata.deletion_timestamp) == (4, None, None)


async def test_an_object_that_was_suspended_by_its_user_stays_so(world: Claiming) -> None:
    world.run()
    await world.claim()
    await world.says("Ready=False/Creating")
    name = (await world.database()).metadata.name
    mark = {SUSPEND: "true"}
    await world.client.edit(Database, name, "", lambda found: found.metadata.annotations.update(mark))
    await world.client.edit(DatabaseClaim, "orders", "default", lambda found: found.metadata.annotations.update(mark))
    await world.says("Suspended=True/Suspended")
    assert SUSPENDED_BY_CLAIM not in (await world.database()).metadata.annotations
    await world.client.edit(DatabaseClaim, "orders", "default", lambda found: found.metadata.annotations.clear())
    await world.client.edit(DatabaseClaim, "orders", "default", edit_size(9))
    await world.client.wait_for(Database, name, "", lambda found: found.spec.size == 9, timeout=5)
    assert (await world.database()).metadata.annotations == mark


async def test_an_error_before_the_deletion_is_reported_although_the_claim_is_gone(world: Claiming) -> None:
    async def before_delete(ctx: Context, claim: DatabaseClaim, database: Database) -> None:
        # Another client takes the finalizer away meanwhile, and the cache shows that.
        await world.client.patch(DatabaseClaim, merge({"metadata": {"finalizers": None}}), "orders", "default")
        while await ctx.object() is not None:
            await ctx.clock.sleep(0.001)
        raise ValueError("there is no backup yet")

    claims = Claims(DatabaseClaim, Database, before_delete=before_delete)
    controller = world.manager.add(claims.controller())
    made = await world.claim()
    await world.says("Ready=False/Creating")
    await world.client.delete(made)
    await world.client.wait_for(DatabaseClaim, "orders", "default", "delete", timeout=5)
    await until(lambda: any(run.error is not None for run in controller.runs))
    [error] = [run.error for run in controller.runs if run.error is not None]
    assert "there is no backup yet" in str(error)
    assert len(await world.databases()) == 1


async def test_two_claims_compete_for_an_object_and_one_gets_it(world: Claiming) -> None:
    world.run()
    await world.client.create(Database(metadata=ObjectMeta(name="legacy"), spec=DatabaseSpec(size=1)))
    await world.claim("first", claimed="legacy")
    await world.says("Ready=False/Creating", "first")
    await world.claim("second", claimed="legacy")
    message = await world.message("Ready=False/ClaimedByAnother", "second")
    assert message == "Database legacy is claimed by DatabaseClaim default/first"
    assert (await world.database()).spec.claim_ref is not None


# References


CLAIM: Object = {
    "apiVersion": "data.example.com/v1",
    "kind": "DatabaseClaim",
    "metadata": {"name": "orders", "namespace": "default", "uid": "u1", "generation": 3},
    "spec": {"claimedRef": {"name": "db"}},
}


def test_a_reference_names_exactly_one_claim() -> None:
    reference = reference_to(CLAIM)
    assert ClaimRef.from_json(reference).to_json() == reference
    assert reference["generation"] == 3
    assert ClaimRef.from_json({"name": "orders"}).generation == 0, "no generation is reflected yet"

    def bound(**change: Any) -> Object:
        return {"metadata": {"name": "db"}, "spec": {"claimRef": {**reference, **change}}}

    assert is_bound(bound())
    assert is_bound_to(bound(), CLAIM)
    assert is_bound_to(bound(generation=1), CLAIM)
    assert is_bound_to(bound(uid=""), CLAIM)
    assert is_bound_to(bound(uid=None), CLAIM)
    assert is_bound_to(bound(apiVersion="data.example.com/v2"), CLAIM)
    for change in ({"uid": "u2"}, {"name": "x"}, {"namespace": "x"}, {"kind": "X"}, {"apiVersion": "example.com/v1"}):
        assert not is_bound_to(bound(**change), CLAIM)
    kind = GroupKind("data.example.com", "DatabaseClaim")
    found = claim_of(bound(), kind)
    assert found is not None
    assert (found.name, found.namespace) == ("orders", "default")
    assert claim_of(bound(kind="X"), kind) is None
    cluster_wide = claim_of(bound(namespace=None), kind)
    assert cluster_wide is not None
    assert cluster_wide.namespace == ""


def test_the_name_of_a_claimed_object_is_unique_and_short_enough() -> None:
    assert named_by(CLAIM) == "db"
    specs: list[Any] = [None, {}, {"claimedRef": None}, {"claimedRef": {}}]
    assert [named_by({"spec": spec}) for spec in specs] == [""] * 4

    def name(claim: str, namespace: str = "default", uid: str = "u1") -> str:
        return claimed_name({"metadata": {"name": claim, "namespace": namespace, "uid": uid}})

    first = name("orders")
    assert first == name("orders")
    assert first.startswith("orders-")
    assert len(first) == len("orders-") + 10
    assert len({first, name("orders", "other"), name("orders", uid="u2"), name("order")}) == 4
    assert len(name("x" * 253)) == 253
    assert name("x" * 241 + "." + "y" * 11).startswith("x" * 241 + "-"), "no dot before the hyphen"
