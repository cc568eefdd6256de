"""Traces: what is known of reconciles, from the log and from controllers that remember, told as people read it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.past.world import EXECUTABLE, Past, past

from setpoint.cache.cache import Cache
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.reconciles import recorded_runs
from setpoint.controller.request import Request, Result, Trigger
from setpoint.controller.run_record import ReconcileRecord
from setpoint.flow.summary.summary import summarize
from setpoint.objects.duration import measured
from setpoint.objects.reconcile_report import ObservedRead, Reconciled, ReconcileQuery, Reconciles
from setpoint.past.moment import Moment
from setpoint.past.queries import NotInHistory
from setpoint.past.reconciles import read_trace, read_traces
from setpoint.past.related_objects import Related
from setpoint.past.timeline import timeline
from setpoint.past.trace import Trace, traces
from setpoint.past.trace_lines import heading, lines
from setpoint.past.why.explain import explain
from setpoint.past.why.fact_collector import collect

CONFIG_MAP = "v1/ConfigMap"


async def reconcile(ctx: Context, request: Request) -> Result | None:
    """Reads a few things, and writes one where it is not so yet."""
    found = await ctx.object()
    await ctx.client.find(CONFIG_MAP, "nobody", "default")
    await ctx.client.list(CONFIG_MAP, "default", labels="app=shop")
    if found is None or (found["metadata"].get("annotations") or {}).get("fail"):
        raise ValueError("cannot reach postgres://shop:geheim@db")
    if not found["metadata"].get("annotations"):
        await ctx.client.patch(found, merge({"metadata": {"annotations": {"seen": "yes"}}}))
        return Result(requeue_after=30)
    return None


@asynccontextmanager
async def controlled(world: Past) -> AsyncIterator[Controller]:
    """A controller beside the server, which reconciles when it is told to."""
    async with Cache(world.client) as cache:
        controller = Controller("shop", reconcile, kind=CONFIG_MAP)

        async def tell(wanted: ReconcileQuery) -> Reconciles:
            return Reconciles(recorded_runs([controller], wanted), [controller.name])

        world.plane.reconciles.sources.append(tell)
        await controller.start(cache)
        try:
            yield controller
        finally:
            await controller.stop()


async def ran(controller: Controller, name: str, *why: Trigger) -> ReconcileRecord:
    """Reconciles an object, once the cache has it."""
    request = Request(name, "default")
    while controller.entry_of(request) is None:
        await asyncio.sleep(0)
    return await controller.run_once(request, *why)


async def traced(world: Past, name: str, **how: Any) -> list[Trace]:
    place = await world.place(CONFIG_MAP, name)
    tree = await world.client.get(CONFIG_MAP, name, "default")
    return await read_traces(world.client, place, tree, await related_of(world), **how)


async def related_of(world: Past) -> Related:
    return Related(world.client, await world.client.mapper.resources())


def told(trace: Trace) -> list[str]:
    """A trace without what is another in every run."""
    text = [heading(trace, lambda time: f"{time:%H:%M:%S}"), *lines(trace)]
    return [
        re.sub(r"@\d+|rv (\d+→)?\d+|[\d.e-]+ (µs|ms|s)\b", "…", line.removesuffix(trace.cause.id[:8])) for line in text
    ]


async def test_a_trace_tells_what_a_reconcile_read_and_wrote_how_long_it_took_and_how_it_ended() -> None:
    async with past() as world, controlled(world) as controller:
        made = await world.configmap("a")
        version = made["metadata"]["resourceVersion"]
        kind = controller.primary.gvk if controller.primary is not None else None
        await ran(controller, "a", Trigger("created", "", kind, "default/a", version))
        [found] = await traced(world, "a")
        assert told(found) == [
            "shop reconciled ConfigMap/default/a #1  14:00:00.000  …  success, again in …  ",
            "  because  ConfigMap/default/a …: created  (admin)",
            "  read     ConfigMap/default/a…, ConfigMap/default/nobody (not there), "
            "list of ConfigMap in default with app=shop (0)",
            "  wrote    patch ConfigMap/default/a …: metadata.annotations.seen set to yes",
            "  view     current",
        ]
        tree = found.to_json()
        assert tree["remembered"]["requeueAfterSeconds"] == 30
        assert tree["writes"][0]["revision"] > int(version)


async def test_a_reconcile_that_wrote_nothing_is_told_of_while_its_controller_remembers_it() -> None:
    async with past() as world, controlled(world) as controller:
        await world.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap",
             "metadata": {"name": "a", "namespace": "default", "annotations": {"seen": "yes"}}}
        )  # fmt: skip
        world.later(60)
        run = await ran(controller, "a", Trigger("timer"))
        [found] = await traced(world, "a")
        assert found.writes == ()
        assert told(found)[1:] == [
            "  because  timer",
            "  read     ConfigMap/default/a…, ConfigMap/default/nobody (not there), "
            "list of ConfigMap in default with app=shop (0)",
            "  wrote    nothing",
            "  view     current",
        ]
        assert await traced(world, "a", since=Moment(time=run.began)) == [found]
        world.later(1)
        assert await traced(world, "a", since=Moment(time=world.clock.now())) == []
        assert await traced(world, "a", until=Moment(revision=1)) == []


async def test_one_reconcile_is_found_by_the_beginning_of_its_id() -> None:
    async with past() as world, controlled(world) as controller:
        await world.configmap("a")
        run = await ran(controller, "a", Trigger("requested"))
        related = await related_of(world)
        found = await read_trace(world.client, related, run.id[:8])
        assert (found.cause.id, [str(each.place) for each in found.writes]) == (run.id, ["ConfigMap/default/a"])
        assert found.reconcile is not None
        world.plane.reconciles.sources.clear()
        forgotten = await read_trace(world.client, related, run.id)
        assert forgotten.reconcile is None
        assert [each.number for each in forgotten.writes] == [each.number for each in found.writes]
        with pytest.raises(NotInHistory, match="reconcile nonsense not found"):
            await read_trace(world.client, related, "nonsense")
        for value in ("1", "2"):
            client = world.controller("other", "default/a")
            await client.patch(CONFIG_MAP, merge({"data": {"k": value}}), "a", "default")
        with pytest.raises(ValueError, match="the id r- is ambiguous: r-1, r-2"):
            await read_trace(world.client, related, "r-")


async def test_a_view_that_was_behind_is_told() -> None:
    async with past() as world:
        first = await world.configmap("a")
        world.later(1)
        await world.client.patch(first, merge({"data": {"k": "v"}}))
        world.later(2)
        place = await world.place(CONFIG_MAP, "a")
        seen = ObservedRead("ConfigMap", "default/a", first["metadata"]["resourceVersion"])
        began = world.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        late = Reconciled(
            id="r1", controller="shop", kind="ConfigMap", object="default/a", number=3, began=began, seconds=0.0084,
            result="success", reads=(seen,),
        )  # fmt: skip
        history = await timeline(world.client, [place])
        [found] = traces(history, [late])
        assert [(each.revision, newer.number) for each, newer in found.behind] == [(seen.revision, history[-1].number)]
        assert list(lines(found))[-1] == (
            f"  view     behind: ConfigMap/default/a@{seen.revision} was read, "
            f"but rv {history[-1].number} had been written 2 s before"
        )
        unseen = msgspec.structs.replace(seen, revision="")
        [found] = traces(history, [msgspec.structs.replace(late, reads=(unseen,))])
        assert "behind: ConfigMap/default/a was not seen, but rv" in list(lines(found))[-1]
        fresh = msgspec.structs.replace(seen, source="server")
        [found] = traces(history, [msgspec.structs.replace(late, reads=(fresh,))])
        assert found.behind == ()


async def test_of_a_controller_elsewhere_only_what_it_wrote_is_known() -> None:
    async with past() as world:
        owner = await world.configmap("a")
        await world.controller("far", "default/a", owner).patch(owner, merge({"data": {"k": "v"}}))
        [found] = await traced(world, "a")
        assert found.reconcile is None
        assert told(found)[0] == "far reconciled default/a  14:00:00.000  "
        assert told(found)[-1] == "  wrote    ConfigMap/default/a …: data.k set to v"
        assert "remembered" not in found.to_json()


async def test_why_tells_of_a_controller_that_fails_before_it_writes() -> None:
    async with past() as world, controlled(world) as controller:
        await world.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap",
             "metadata": {"name": "a", "namespace": "default", "annotations": {"fail": "yes"}}}
        )  # fmt: skip
        await ran(controller, "a", Trigger("requested"))
        world.later(3)
        story = explain(await collect(world.client, await world.place(CONFIG_MAP, "a")))
        assert story.verdict == "failed"
        assert story.headline.startswith("a is not as it should be: its controller shop fails: ValueError: ")
        assert story.headline.endswith("(3 s ago)")
        assert "geheim" not in story.headline
        assert story.since == world.clock.now() - timedelta(seconds=3)


async def test_who_does_not_get_on_with_an_object_has_seen_it() -> None:
    async with past() as world:
        made = await world.configmap("a")
        place = await world.place(CONFIG_MAP, "a")
        tree = made | {"status": {"observedGeneration": 0, "conditions": []}}
        tree["metadata"] = {**made["metadata"], "generation": 1}
        began = world.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        given_up = Reconciled(
            id="r1", controller="shop", kind="ConfigMap", object="default/a", number=1, began=began, seconds=0.01,
            result="terminal", error="TerminalError: there is no region east",
        )  # fmt: skip
        facts = msgspec.structs.replace(
            await collect(world.client, place), tree=tree, summary=summarize(tree, now=world.clock.now())
        )
        assert [hint for hint in explain(facts).hints if "has seen the last change" in hint] != []
        story = explain(msgspec.structs.replace(facts, reconciles=(given_up,)))
        assert (story.verdict, story.hints) == ("failed", ())
        assert "its controller shop has given up: TerminalError: there is no region east" in story.headline


async def test_what_a_controller_wrote_last_is_told_where_no_state_says_anything() -> None:
    async with past(workloads=True) as world:
        executable = await world.workload("Executable", "a", {"executablePath": "/app"})
        for text in ("one", "two"):
            world.later(1)
            await world.status(world.controller("shop", "a", executable), executable, executionID=text)
        story = explain(await collect(world.client, await world.place(EXECUTABLE, "a")))
        assert [step.what for step in story.steps] == ["status.executionID one→two", "created"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0000187, "19 µs"), (0.0084, "8.4 ms"), (0.178, "178 ms"), (2.5, "2.5 s"), (90, "90 s")]
)
def test_how_long_something_took_is_told_in_few_figures(seconds: float, text: str) -> None:
    assert measured(seconds) == text
