"""Handlers that are waited for: each coroutine that a handler starts is awaited or closed, however the others end.

Python warns of a coroutine that is dropped before its first step, and the tests turn warnings into failures.
"""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

import pytest
from tests.controller.core.test_sources import Seen
from tests.controller.core.worlds import CONFIG_MAP, config_map, named, new_world, until

from setpoint.client.patches import merge
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.predicate import updated
from setpoint.controller.watch import Watch
from setpoint.objects.tree import Object


@contextmanager
def none_dropped() -> Iterator[None]:
    """Fails if a coroutine that was made inside is dropped before its first step."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in caught if issubclass(each.category, RuntimeWarning)] == []


class Failing:
    """A mapping that fails for one of the states of an object, the first time it is asked about it."""

    def __init__(self, state: str, *, at_once: bool) -> None:
        self._state = state
        self._at_once = at_once
        self.asked: list[str] = []

    def __call__(self, tree: Object) -> Awaitable[list[str]]:
        state = tree["data"]["state"]
        self.asked.append(state)
        fails = state == self._state and self.asked.count(state) == 1
        if fails and self._at_once:
            raise ValueError(state)
        return self._named(state, fails=fails)

    async def _named(self, state: str, *, fails: bool) -> list[str]:
        await asyncio.sleep(0)
        if fails:
            raise ValueError(state)
        return [state]


@pytest.mark.parametrize("at_once", [False, True], ids=["awaited", "at once"])
@pytest.mark.parametrize("state", ["old", "new"])
async def test_a_change_is_tried_again_though_the_answer_for_one_of_its_states_fails(state: str, at_once: bool) -> None:
    with none_dropped():
        async with new_world() as world:
            seen, failing = Seen(), Failing(state, at_once=at_once)
            await world.client.create(_config_map("old"))
            watch = Watch(CONFIG_MAP, mapped(failing), predicates=(updated,), namespaces=["default"])
            await world.run(Controller("c", seen, watches=[watch]))
            await world.client.patch(CONFIG_MAP, merge({"data": {"state": "new"}}), "a", "default")
            await until(lambda: len(seen.requests) == 2)
            assert set(seen.requests) == {named("old"), named("new")}
            assert failing.asked.count(state) == 2


async def test_a_watch_that_ends_before_an_answer_is_waited_for_closes_the_answer() -> None:
    with none_dropped():
        async with new_world() as world:
            controller = await world.run(Controller("c", Seen(), watches=[Watch(CONFIG_MAP)]))
            detaching: list[asyncio.Future[None]] = []
            begun: list[str] = []

            async def name_it(tree: Object) -> list[str]:
                begun.append(tree["data"]["state"])
                return [tree["data"]["state"]]

            def asked(tree: Object) -> Awaitable[list[str]]:
                # The loop takes this step before the first one of the task that waits for the answer.
                detaching.append(asyncio.ensure_future(attached.detach()))
                return name_it(tree)

            attached = await Watch(CONFIG_MAP, mapped(asked), namespaces=["default"]).attach(controller)
            await world.client.create(_config_map("old"))
            await until(lambda: bool(detaching))
            await detaching[0]
            assert begun == []


def _config_map(state: str) -> Object:
    return config_map("a", {"state": state})
