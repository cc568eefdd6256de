"""The rights of the controllers in a world."""

from collections.abc import Sequence
from typing import Literal

from setpoint.client.client import Client
from setpoint.objects.tree import Object

# The user of controllers with limited rights, and the rules that all controllers have: events and leader election.
USER = "controllers"
_ASIDE: list[Object] = [
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]},
]
_RBAC = "rbac.authorization.k8s.io"
Rights = Sequence[Object] | Literal["declared"] | None


async def grant(client: Client, rules: Sequence[Object]) -> None:
    """Grants rules to the user of the controllers, in place of earlier ones."""
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": USER}}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": USER}],
    }
    for each in ({**role, "rules": [*_ASIDE, *rules]}, binding):
        await client.apply(each, field_manager="test", force=True)
