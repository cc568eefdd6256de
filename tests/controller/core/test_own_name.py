"""Who asks: a controller by its name, and a client as whom it is told to."""

import pytest
from tests.client.test_client import over_http
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget, widgets

from setpoint import testing
from setpoint.client.agent import user_agent
from setpoint.objects.errors import Forbidden
from setpoint.testing import plugin

# The fixture of the plugin instead of the one of this package.
world = plugin.world

pytestmark = pytest.mark.feature("E43")


@pytest.mark.world(crds=[Widget], objects=[widget()])
async def test_every_request_of_a_reconcile_says_which_controller_it_is_of(world: testing.World) -> None:
    await world.run(widgets)
    await world.eventually(lambda: world.find(CONFIG_MAP, "w-child"))
    named = {seen.call.headers.get("user-agent") for seen in world.faults.writes}
    assert named == {f"{user_agent()}/widget"}


@pytest.mark.world(objects=[config_map("a")])
async def test_one_call_can_be_made_as_somebody_else(world: testing.World) -> None:
    with pytest.raises(Forbidden, match='User "jane" cannot get'):
        await world.client.as_("jane").get(CONFIG_MAP, "a", "default")
    assert await world.client.as_("jane", "system:masters").get(CONFIG_MAP, "a", "default")
    assert await world.client.get(CONFIG_MAP, "a", "default")


async def test_over_http_the_name_takes_the_place_of_the_librarys() -> None:
    async with over_http() as client:
        for agent, manager in (("", "setpoint"), ("shop/1.0", "shop")):
            await client.with_options(user_agent=agent).create(config_map(manager, a="1"))
            made = await client.get(CONFIG_MAP, manager, "default")
            assert [each["manager"] for each in made["metadata"]["managedFields"]] == [manager]
