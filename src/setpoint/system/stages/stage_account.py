"""The account of the Stage objects of the API.

Stages of files and of Python programs are written by the administrator, and act with the rights of the nodes. A Stage
object may have another author. Its steps act as the user `system:setpoint:stages` with the rights to change pods and
nodes; an administrator grants every other right, the right to impersonate included. Otherwise the right to write Stages
would be the right to write every object.
"""

import copy

from setpoint.client.client import Client
from setpoint.client.mapper import NoMatch
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost

ACCOUNT = "system:setpoint:stages"
_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_RULES = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": [*_READ, "patch", "delete"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": [*_READ, "patch"]},
    {"apiGroups": [""], "resources": ["pods/status", "nodes/status"], "verbs": ["patch"]},
)


class StageAccount:
    """The user of the steps of Stage objects."""

    def __init__(self, host: ControllerHost) -> None:
        self._host = host
        self._client = host.server.client_of(ACCOUNT)
        # The cache waits for the writes of this transport, too.
        self._transport = host.cache.recorded(self._client).transport

    async def register(self) -> None:
        """Creates the role of the account and its binding. Existing ones stay as they are: an administrator may have
        changed them."""
        metadata, api_version = {"name": ACCOUNT}, f"{_RBAC}/v1"
        role = {"apiVersion": api_version, "kind": "ClusterRole", "metadata": metadata, "rules": list(_RULES)}
        binding = {
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": ACCOUNT}],
        }
        for each in (role, binding):
            try:
                await self._host.client.create(each)
            except AlreadyExists:
                continue

    def client(self, api: Client) -> Client:
        """Returns the client of a reconcile with the rights of the account."""
        made = copy.copy(api)
        made.transport = self._transport
        return made

    async def missing_right(self, kind: str) -> str:
        """Returns the missing rights to read the objects of a kind, with the remedy; empty if there are none. Selectors
        and templates read every object, so that a Stage could otherwise reveal the content of Secrets."""
        try:
            resource = await self._client.resource(kind)
        except NoMatch:
            return f"no resource serves {kind}: create its CustomResourceDefinition"
        group, plural = resource.gvk.group, resource.plural
        missing = [verb for verb in _READ if not await self._may(group, plural, verb)]
        if not missing:
            return ""
        name = f"{plural}.{group}" if group else plural
        return (
            f"user {ACCOUNT} cannot {', '.join(missing)} {name} in all namespaces: bind a ClusterRole with these verbs "
            "to the user by a ClusterRoleBinding"
        )

    async def _may(self, group: str, plural: str, verb: str) -> bool:
        attributes = {"group": group, "resource": plural, "verb": verb}
        review: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answered = await self._client.create({**review, "spec": {"resourceAttributes": attributes}})
        return bool(answered["status"]["allowed"])
