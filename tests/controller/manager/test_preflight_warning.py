"""A manager warns at its start of the rights that its controllers lack."""

import asyncio
import logging

import pytest
from tests.controller.manager.worlds import Log, running, until

from setpoint.controller.manager import Manager
from setpoint.plane import ControlPlane

MISSING = "the controller maps lacks a right in the namespace default, "


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if MISSING in record.getMessage()]


async def test_the_log_names_the_rules_that_are_missing(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ControlPlane(system=False) as plane, plane.client(user="nobody") as client:
            manager = Manager(client, controllers=[Log().controller("maps")])
            async with running(manager):
                await until(lambda: bool(warnings(caplog)))

    with caplog.at_level(logging.WARNING):
        await main()
    rule = '{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "patch", "update", "watch"]}'
    remedy = "grant the rules of its declaration, setpoint controllers rbac MODULE | kubectl apply -f -"
    assert warnings(caplog)[0] == f"{MISSING}{rule}: {remedy}"


@pytest.mark.parametrize(("user", "preflight"), [("", True), ("nobody", False)])
async def test_who_has_all_rights_or_does_not_want_to_know_is_not_warned(
    user: str, preflight: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with ControlPlane(system=False) as plane, plane.client(user=user) as client:
            manager = Manager(client, controllers=[Log().controller("maps")], preflight=preflight)
            async with running(manager):
                for _ in range(50):
                    await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING):
        await main()
    assert warnings(caplog) == []
