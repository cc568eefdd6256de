"""What a controller remembers of its reconciles, and tells who asks: what each read, in which state, and from where."""

from typing import Any

import pytest
from tests.controller.core.worlds import CONFIG_MAP, World, config_map, new_world, until

from setpoint.client.patches import merge
from setpoint.client.requests import decode
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.reconciles import recorded_runs
from setpoint.controller.request import Request, Result, Trigger
from setpoint.controller.run_record import MOST_READS
from setpoint.objects.errors import BadRequest, MethodNotAllowed, NotFound
from setpoint.objects.reconcile_report import PATH, ObservedRead, Reconciled, ReconcileQuery, Reconciles

A = Request("a", "default")
OF_A = ReconcileQuery("ConfigMap", "default/a")


async def started(found: World, reconcile: Any, **settings: Any) -> Controller:
    """A controller that reconciles when it is told to."""
    controller = Controller("reader", reconcile, kind=CONFIG_MAP, **settings)
    await controller.start(found.cache)
    return controller


def reads(controller: Controller) -> list[ObservedRead]:
    [told, *_] = recorded_runs([controller], OF_A)
    return list(told.reads)


async def test_what_is_read_from_the_cache_is_told_with_its_revision() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.object()
        await ctx.object()
        await ctx.client.find(CONFIG_MAP, "nobody", "default")
        ctx.lookup(CONFIG_MAP, "b", "default")
        await ctx.client.list(CONFIG_MAP, "default", labels="app=x")

    async with new_world() as found:
        a, b = await found.config_map("a"), await found.config_map("b", labels={"app": "x"})
        controller = await started(found, reconcile)
        await controller.run_once(A)
        first, nobody, other, listed = reads(controller)
        assert first == ObservedRead("ConfigMap", "default/a", a["metadata"]["resourceVersion"])
        assert nobody == ObservedRead("ConfigMap", "default/nobody")
        assert other == ObservedRead("ConfigMap", "default/b", b["metadata"]["resourceVersion"])
        assert (listed.namespace, listed.selector, listed.count, listed.source) == ("default", "app=x", 1, "cache")
        await controller.stop()


async def test_what_is_read_from_the_server_is_told_to_be() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.api.get(CONFIG_MAP, "a", "default")
        with pytest.raises(NotFound):
            await ctx.api.get(CONFIG_MAP, "nobody", "default")
        await ctx.client.list("v1/Secret", "default", labels="app=x")

    async with new_world() as found:
        a = await found.config_map("a")
        controller = await started(found, reconcile)
        await controller.run_once(A)
        first, nobody, listed = reads(controller)
        assert first == ObservedRead("ConfigMap", "default/a", a["metadata"]["resourceVersion"], "server")
        assert nobody == ObservedRead("ConfigMap", "default/nobody", "", "server")
        assert (listed.kind, listed.selector, listed.count, listed.source) == ("Secret", "app=x", 0, "server")
        await controller.stop()


async def test_of_very_many_reads_the_first_are_told_and_how_many_more_there_were() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        for number in range(MOST_READS + 7):
            await ctx.client.find(CONFIG_MAP, f"c{number}", "default")

    async with new_world() as found:
        controller = await started(found, reconcile)
        await controller.run_once(A)
        [told] = recorded_runs([controller], OF_A)
        assert (len(told.reads), told.more_reads) == (MOST_READS, 7)
        await controller.stop()


async def test_a_reconcile_tells_its_number_its_reasons_and_how_it_ended() -> None:
    ends: list[Result | Exception] = [Result(requeue_after=30), ValueError("no such thing")]

    async def reconcile(ctx: Context, request: Request) -> Result:
        end = ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    async with new_world() as found:
        controller = await started(found, reconcile)
        await controller.run_once(A, Trigger("requested"))
        await controller.run_once(A, Trigger("timer"))
        failed, well = recorded_runs([controller], OF_A)
        assert [(each.event, each.kind) for each in failed.because] == [("timer", "")]
        assert (failed.number, failed.result, failed.error) == (2, "error", "ValueError: no such thing")
        assert (well.number, well.result, well.requeue_after_seconds) == (1, "requeue_after", 30)
        assert well.seconds > 0
        await controller.stop()


async def test_of_each_object_the_last_is_remembered_though_others_are_reconciled_all_the_time() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.object()

    async with new_world() as found:
        for name in ("a", "busy"):
            await found.config_map(name)
        controller = await started(found, reconcile, keep_runs=3)
        await controller.run_once(A)
        for _ in range(10):
            await controller.run_once(Request("busy", "default"))
        assert len(controller.runs) == 3
        [told] = recorded_runs([controller], OF_A)
        assert (told.number, [each.object for each in told.reads]) == (1, ["default/a"])
        assert [each.number for each in recorded_runs([controller], ReconcileQuery("ConfigMap", "default/busy"))] == [
            10,
            9,
            8,
        ]
        await controller.stop()


async def test_what_is_remembered_for_long_keeps_no_objects() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        if request.name == "a":
            raise ValueError("no")

    async with new_world() as found:
        controller = await found.run(Controller("reader", reconcile, kind=CONFIG_MAP, keep_runs=1))
        await found.config_map("a")
        await until(lambda: A in controller.last_runs)
        await found.client.patch(config_map("a"), merge({"data": {"k": "v"}}))
        await until(lambda: any(trigger.event == "updated" for trigger in controller.last_runs[A].why))
        await controller.run_once(Request("b", "default"))
        run = controller.last_runs[A]
        assert run.error is not None
        assert run.error.__traceback__ is None
        assert all(trigger._change is None for trigger in run.why)


async def test_one_is_found_by_what_it_wrote_and_by_its_id() -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.client.create(config_map("child"))

    async with new_world() as found:
        controller = await started(found, reconcile)
        run = await controller.run_once(A)
        for wanted in (
            ReconcileQuery("ConfigMap", "default/child"),
            ReconcileQuery(ids=(run.id,)),
            ReconcileQuery(ids=(run.id[:6],)),
        ):
            [told] = recorded_runs([controller], wanted)
            assert told.id == run.id
            assert [(each.verb, each.object) for each in told.writes] == [("create", "default/child")]
        assert recorded_runs([controller], ReconcileQuery("Secret", "default/child")) == []
        await controller.stop()


async def test_a_server_tells_of_its_own_controllers_and_of_those_that_others_add() -> None:
    async with new_world() as found:
        mine = Reconciled(id="r1", controller="mine", object="default/a", began="2030-01-01T00:00:00.000000Z",
                          seconds=0.1, result="success")  # fmt: skip

        async def tell(wanted: ReconcileQuery) -> Reconciles:
            return Reconciles([mine] if "r1" in wanted.ids else [], ["mine"])

        found.plane.reconciles.sources.append(tell)
        told = decode((await found.client.raw("GET", PATH, query=[("id", "r1")])).body)
        assert [each["id"] for each in told["items"]] == ["r1"]
        assert "mine" in told["controllers"]


@pytest.mark.parametrize(
    ("query", "says"),
    [([], "select reconciles with"), ([("id", "r1"), ("limit", "many")], "invalid limit 'many'")],
)
async def test_a_question_that_cannot_be_answered_is_refused(query: list[tuple[str, str]], says: str) -> None:
    async with new_world() as found:
        with pytest.raises(BadRequest, match=says):
            await found.client.raw("GET", PATH, query=query)
        with pytest.raises(MethodNotAllowed):
            await found.client.raw("POST", PATH)
