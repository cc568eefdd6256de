"""The remedy for a forbidden request follows from the declaration of the controller."""

import pytest
from tests.controller.core.worlds import CONFIG_MAP, Widget

from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.remedies import missing_right
from setpoint.controller.request import Request

SECRET = "v1/Secret"


async def reconcile(ctx: Context, request: Request) -> None: ...


CONTROLLER = Controller("widget", reconcile, kind=Widget, owns=[CONFIG_MAP], reads=[SECRET])
GRANT = "grant the rules of the controller widget, which allow to {}: setpoint controllers rbac MODULE"


@pytest.mark.parametrize(
    ("kind", "resource", "verb", "remedy"),
    [
        (CONFIG_MAP, "configmaps", "apply", GRANT.format("patch configmaps")),
        (CONFIG_MAP, "configmaps", "delete", GRANT.format("delete configmaps")),
        (SECRET, "secrets", "list", GRANT.format("list secrets")),
        (SECRET, "secrets", "create", 'add owns=["v1/Secret"] to the controller widget'),
        ("v1/Pod", "pods", "get", 'add reads=["v1/Pod"] to the controller widget'),
        (Widget, "widgets", "update", GRANT.format("update widgets")),
        (Widget, "widgets/status", "patch", GRANT.format("patch widgets/status")),
        (Widget, "widgets", "create", '"resources": ["widgets"], "verbs": ["create"]'),
        ("v1/Pod", "pods/eviction", "create", 'add extra_rules=[{"apiGroups": [""], "resources": ["pods/eviction"]'),
    ],
)
def test_the_remedy_names_the_option_that_is_missing(
    kind: str | type[Widget], resource: str, verb: str, remedy: str
) -> None:
    found = missing_right("widget", CONTROLLER.watched, CONTROLLER.primary, kind_of(kind), resource, verb)
    assert remedy in found
