"""Settings that hold for all controllers of a manager, unless one says otherwise."""

import pytest

from setpoint.controller.context import Context
from setpoint.controller.declare import controller
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.plane import ControlPlane


@controller("v1/ConfigMap")
async def quiet(ctx: Context, request: Request) -> None: ...


@controller("v1/Secret", concurrency=2, timeout=None)
async def outspoken(ctx: Context, request: Request) -> None: ...


async def test_what_a_declaration_does_not_say_is_as_the_manager_says() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        manager = Manager(client, controllers=[quiet], defaults={"concurrency": 7, "timeout": 60.0})
        manager.add(outspoken)  # what is added later is no different
        found = {each.name: each.options for each in manager.controllers}
        assert (found["configmap"].concurrency, found["configmap"].timeout) == (7, 60.0)
        assert (found["secret"].concurrency, found["secret"].timeout) == (2, None)
        others = Manager(client, controllers=[quiet])
        assert others.controllers[0].options.concurrency == 1, "one manager's defaults are not another's"


async def test_a_default_that_cannot_work_is_refused() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        with pytest.raises(ValueError, match="concurrency must be at least 1"):
            Manager(client, controllers=[quiet], defaults={"concurrency": 0})
