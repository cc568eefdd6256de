"""Which rights controllers lack, said before anything fails."""

from typing import Any

from setpoint.client.client import Client
from setpoint.controller import rbac
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.preflight import missing_rules
from setpoint.controller.request import Request
from setpoint.plane import ControlPlane

USER = "system:serviceaccount:default:operator"
READ_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}


async def reconcile(ctx: Context, request: Request) -> None: ...


def controller(**settings: Any) -> Controller:
    return Controller("maps", reconcile, kind="v1/ConfigMap", reads=["v1/Secret"], **settings)


async def give(client: Client, rules: list[Any], namespaces: tuple[str, ...] = ()) -> None:
    for tree in rbac.manifests("maps", rules, service_account="default/operator", namespaces=namespaces):
        await client.create(tree)


async def test_exactly_the_rules_that_are_missing_are_said() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as admin, plane.client(user=USER) as client:
        rules = await rbac.rules([controller()], admin)
        await give(admin, [{**rule, "verbs": [each for each in rule["verbs"] if each != "patch"]} for rule in rules])
        assert await missing_rules([controller()], client) == [
            ("maps", "", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]})
        ]


async def test_with_what_its_declarations_ask_for_nothing_is_missing() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as admin, plane.client(user=USER) as client:
        await give(admin, await rbac.rules([controller()], admin))
        assert await missing_rules([controller()], client) == []
        assert await missing_rules([controller()], admin) == []


async def test_a_controller_of_some_namespaces_needs_its_rights_only_there() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as admin, plane.client(user=USER) as client:
        rules = await rbac.rules([controller()], admin)
        await give(admin, rules, ("default",))
        assert await missing_rules([controller(namespaces=["default"])], client) == []
        missing = await missing_rules([controller(namespaces=["default", "kube-public"])], client)
        assert ("maps", "kube-public", READ_SECRETS) in missing
        assert {each.namespace for each in missing} == {"kube-public"}
