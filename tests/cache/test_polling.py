"""What cannot be watched is listed every few seconds, and every change is told with how the object is now."""

from typing import Any

import msgspec
import pytest
from tests.cache.faults import CONFIG_MAP, World, answer_of, config_map

from setpoint.cache.change import Change
from setpoint.cache.reflector import POLL_SECONDS, WATCHING
from setpoint.client.patches import merge
from setpoint.client.transport import Answer, Call
from setpoint.objects.errors import MethodNotAllowed


def no_watches(call: Call) -> Answer | None:
    return answer_of(MethodNotAllowed.method()) if ("watch", "true") in call.query else None


def told(change: Change[Any]) -> str:
    old, new = change.old, change.new
    before = "-" if old is None else old.object.get("data", {}).get("v", "none")
    after = "-" if new is None else new.object.get("data", {}).get("v", "none")
    return f"{change.held.meta.name}: {before} to {after}"


@pytest.mark.feature("E41", "G37")
async def test_changes_of_what_cannot_be_watched_are_told_with_the_new_object(world: World) -> None:
    world.faults.refuse = no_watches
    await world.client.create(config_map("a"))
    informer = await world.followed()
    heard: list[str] = []
    informer.add_handler(lambda change: heard.append(told(change)), replay=False)
    await world.client.patch(CONFIG_MAP, merge({"data": {"v": "1"}}), "a", "default")
    await world.client.create(config_map("b"))
    await world.until(lambda: len(heard) == 2, POLL_SECONDS + 1)
    assert heard == ["a: none to 1", "b: - to none"]
    await world.client.patch(CONFIG_MAP, merge({"data": {"v": "2"}}), "a", "default")
    await world.client.delete(CONFIG_MAP, "b", "default")
    await world.until(lambda: len(heard) == 4, POLL_SECONDS + 1)
    assert heard[2:] == ["a: 1 to 2", "b: none to -"]
    assert informer.state == WATCHING
    lists = len(world.faults.lists)
    await world.advance(60)
    assert len(world.faults.lists) == lists + 6
    assert len(heard) == 4


@pytest.mark.feature("E41", "G37")
async def test_objects_without_versions_differ_where_they_differ(world: World) -> None:
    value = "1"

    def answer(call: Call) -> Answer | None:
        if not call.path.endswith("/configmaps"):
            return None
        if ("watch", "true") in call.query:
            return answer_of(MethodNotAllowed.method())
        items = [{"metadata": {"name": name, "namespace": "default"}, "data": {"v": v}} for name, v in
                 (("same", "0"), ("other", value))]  # fmt: skip
        body = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}
        return Answer(200, {"content-type": "application/json"}, msgspec.json.encode(body))

    world.faults.refuse = answer
    informer = await world.followed()
    heard: list[str] = []
    informer.add_handler(lambda change: heard.append(told(change)), replay=False)
    await world.advance(30)
    assert heard == []
    value = "2"
    await world.advance(30)
    assert heard == ["other: 1 to 2"]
