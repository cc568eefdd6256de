"""The controller: from a change to a reconcile, whatever the reconcile does."""

import asyncio
import logging

import pytest

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller, NotSynced
from setpoint.controller.queue import LOW_PRIORITY
from setpoint.controller.request import Request, Requeue, Result, TerminalError
from tests.controller.core.worlds import CONFIG_MAP, WIDGET, World, config_map, in_world, named, settle, until


def test_every_object_is_reconciled_at_the_start_and_whenever_it_changes() -> None:
    async def test(world: World) -> None:
        await world.config_map("early")
        seen: list[tuple[str, list[str]]] = []

        async def reconcile(ctx: Context, request: Request) -> None:
            seen.append((request.key, [trigger.event for trigger in ctx.why]))

        controller = await world.run(Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"]))
        await until(lambda: len(seen) >= 1)
        await world.config_map("late")
        await until(lambda: len(seen) >= 2)
        await world.client.update(config_map("late", {"a": "1"}))
        await until(lambda: len(seen) >= 3)
        await world.client.delete(CONFIG_MAP, "late", "default")
        await until(lambda: len(seen) >= 4)
        assert seen == [
            ("default/early", ["initial"]),
            ("default/late", ["created"]),
            ("default/late", ["updated"]),
            ("default/late", ["deleted"]),
        ]
        assert [run.result for run in controller.runs] == ["success"] * 4

    in_world(test)


def test_a_reconcile_knows_which_fields_brought_it() -> None:
    async def test(world: World) -> None:
        await world.config_map("a", data={"x": "1"})
        why: list[str] = []

        async def reconcile(ctx: Context, request: Request) -> None:
            why.append("; ".join(map(str, ctx.why)))

        await world.run(Controller("maps", reconcile, kind=CONFIG_MAP))
        await until(lambda: any("a initial" in text for text in why))
        await world.client.update(config_map("a", {"x": "2"}, labels={"l": "1"}))
        await until(lambda: any("updated" in text for text in why))
        assert why[-1] == "ConfigMap default/a updated (metadata.labels, data.x)"

    in_world(test)
