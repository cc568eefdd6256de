"""`def` states run in threads, also those of terminating objects."""

import threading

from tests.flow.fsm.worlds import FINALIZER, Bucket, World, config_map, new_world, until

from setpoint.controller.context import Context
from setpoint.controller.sync_context import SyncContext
from setpoint.flow.fsm import FSM, Done, Next, Outputs, Wait


def in_thread() -> bool:
    return threading.current_thread().name.startswith("bucket_reconcile_")


async def test_states_of_both_kinds_lead_to_each_other(world: World) -> None:
    fsm, cleaned = FSM(Bucket, finalizer=FINALIZER), []

    @fsm.state("Issued")
    def issued(ctx: SyncContext, bucket: Bucket, out: Outputs) -> Next:
        assert in_thread()
        out.apply(config_map("key", {"region": bucket.spec.region}))
        return Wait(600, reason="Asked") if bucket.spec.wait else named

    @fsm.state("Named")
    async def named(ctx: Context, bucket: Bucket, out: Outputs) -> Next:
        assert not in_thread()
        return published

    @fsm.state("Published")
    def published(ctx: SyncContext, bucket: Bucket, out: Outputs) -> type[Done]:
        assert bucket.status is not None
        found = ctx.client.get("v1/ConfigMap", "key", "default")
        bucket.status.url = f"/{found['data']['region']}"
        return Done

    @fsm.finalize("Cleaned")
    def removed(ctx: SyncContext, bucket: Bucket, out: Outputs) -> Next:
        assert in_thread()
        cleaned.append(ctx.in_loop(out.delete_children()))
        return Done()

    assert fsm.graph().text().splitlines()[0] == "Issued (issued) -> Named  [wait]"
    world.run(fsm)
    await world.create(wait=True)
    await world.is_so("Issued=False/Asked", "Ready=False/Asked")
    await world.change(lambda found: setattr(found.spec, "wait", False))
    await world.is_so("Issued=True/Done", "Published=True/Done", "Ready=True/Ready")
    status = (await world.client.get(Bucket, "b", "default")).status
    assert status is not None
    assert status.url == "/north"
    await world.client.delete(Bucket, "b", "default")
    await world.client.wait_for(Bucket, "b", "default", "delete")
    assert cleaned[-1] == []
    assert not await world.has("key")


async def test_the_timeout_of_a_def_state_is_told_in_its_condition() -> None:
    async with new_world(manual=True) as world:
        fsm, calls = FSM(Bucket), []

        @fsm.state("Asked", timeout=30)
        def asked(ctx: SyncContext, bucket: Bucket, out: Outputs) -> Next:
            calls.append(ctx.clock.monotonic())
            if len(calls) == 1:
                ctx.sleep(3600)
            return Done()

        controller = world.run(fsm)
        await world.create()
        await until(lambda: bool(calls))
        await world.turn(30, controller)
        assert (await world.conditions())["Asked"] == "False/TimedOut"
        await world.turn(1, controller)
        assert (await world.conditions())["Asked"] == "True/Done"
        assert len(calls) == 2
