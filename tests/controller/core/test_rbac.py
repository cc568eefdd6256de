"""The rights that a controller needs, from what it says and from what it does."""

import pytest
from tests.controller.core.worlds import CONFIG_MAP, Widget, World, config_map, until, widget, with_widgets

from setpoint.cache.cache import Cache
from setpoint.client.options import Impersonation
from setpoint.controller import rbac
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.objects.errors import Forbidden


async def reconcile(ctx: Context, request: Request) -> None:
    await ctx.client.find("v1/Secret", "settings", "default")
    await ctx.client.apply(config_map(f"{request.name}-child"))
    ctx.status["ready"] = True


def controller() -> Controller:
    extra = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    return Controller("widget", reconcile, kind=Widget, owns=[CONFIG_MAP], reads=["v1/Secret"], extra_rules=extra)


async def test_a_controller_may_do_what_its_declarations_say(world: World) -> None:
    await with_widgets(world)
    assert await rbac.rules([controller()], world.client) == [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": list(rbac.WRITE)},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": sorted([*rbac.READ, "patch", "update"])},
        {"apiGroups": ["example.com"], "resources": ["widgets/finalizers"], "verbs": ["update"]},
        {"apiGroups": ["example.com"], "resources": ["widgets/status"], "verbs": ["get", "patch", "update"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


@pytest.mark.parametrize("recorded", [False, True])
async def test_a_controller_works_with_these_rights_and_no_others(world: World, recorded: bool) -> None:
    await with_widgets(world)
    await world.client.create(widget("first"))
    seen = await world.run(controller())
    await until(lambda: len(seen.runs) >= 1)
    rules = await rbac.rules([seen], world.client, recorded=recorded)
    for tree in rbac.manifests("widget", rules, service_account="default/operator"):
        await world.client.create(tree)
    await seen.stop()
    user = Impersonation("system:serviceaccount:default:operator", ("system:serviceaccounts",))
    client = world.client.with_options(impersonate=user)
    async with Cache(client) as cache:
        limited = controller()
        await limited.start(cache)
        limited.work()
        await world.client.create(widget("second"))
        await until(lambda: any(run.request.name == "second" for run in limited.runs))
        errors = [run.error for run in limited.runs if run.error is not None]
        await limited.stop()
    assert not errors
    with pytest.raises(Forbidden):
        await client.get("v1/Node", "n")


def test_roles_are_made_for_namespaces_too() -> None:
    found = rbac.manifests("r", [], service_account="ops/me", namespaces=["a", "b"])
    assert [(tree["kind"], tree["metadata"].get("namespace")) for tree in found] == [
        ("Role", "a"),
        ("RoleBinding", "a"),
        ("Role", "b"),
        ("RoleBinding", "b"),
    ]
    with pytest.raises(ValueError, match="NAMESPACE/NAME"):
        rbac.manifests("r", [], service_account="me")
