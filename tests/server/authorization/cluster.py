"""A server in this process that decides by RBAC, asked by anybody: an administrator speaks for the others."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Json, Object
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.ports import User
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Authorizer
from setpoint.server.server_options import AccessControl
from setpoint.store.contract import Store
from setpoint.store.memory import MemoryStore

API = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Answer(NamedTuple):
    status: int
    body: Json

    @property
    def message(self) -> str:
        found: str = self.body["message"] if isinstance(self.body, dict) else self.body
        return found


class Cluster:
    """One server."""

    def __init__(
        self, store: Store | None = None, authorizer: Authorizer | None = None, admission: Sequence[Plugin] = ()
    ) -> None:
        self.clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        self.store = store or MemoryStore(clock=self.clock)
        access = AccessControl(authorizer=authorizer)
        self.server = Server(self.store, clock=self.clock, ids=SeededIds(7), access=access, admission=admission)

    async def respond(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        user: str = "",
        groups: Sequence[str] = (),
        kind: str = "application/json",
        accept: str = "application/json",
        **query: str,
    ) -> Response:
        """Sends a request of a user, of the administrator where none is named."""
        headers = {"content-type": kind, "accept": accept, "user-agent": "test/1.0"}
        if user:
            headers["impersonate-user"] = user
        if groups:
            headers["impersonate-group"] = ",".join(groups)
        data = b"" if body is None else msgspec.json.encode(body)
        return await self.server(Request(method, path, urlencode(query), headers, data))

    async def __call__(self, method: str, path: str, body: Json = None, **options: Any) -> Answer:
        response = await self.respond(method, path, body, **options)
        if not isinstance(response.body, bytes):
            return Answer(response.status, "a stream")
        is_json = response.content_type == "application/json"
        return Answer(response.status, msgspec.json.decode(response.body) if is_json else response.body.decode())

    async def made(self, tree: Object, namespace: str = "") -> Object:
        """Creates a role or a binding as the administrator."""
        plural = f"{tree['kind'].lower()}s"
        where = f"{API}/namespaces/{namespace}/{plural}" if namespace else f"{API}/{plural}"
        answer = await self("POST", where, tree)
        assert answer.status == 201, answer.message
        body: Object = answer.body
        return body

    async def grant(self, user: str, *rules: Object, namespace: str = "", name: str = "") -> None:
        """Gives a user rules: in a namespace, or everywhere."""
        name = name or f"{user}s"
        await self.made(role(name, *rules, namespace=namespace), namespace)
        await self.made(binding(name, user, namespace=namespace), namespace)

    async def may(self, user: str, verb: str, resource: str, **attributes: str) -> Object:
        """What a SubjectAccessReview says of a user."""
        spec = {"user": user, "resourceAttributes": {"verb": verb, "resource": resource, **attributes}}
        answer = await self("POST", f"{REVIEWS}/subjectaccessreviews", review("SubjectAccessReview", spec))
        assert answer.status == 201, answer.message
        status: Object = answer.body["status"]
        return status


@asynccontextmanager
async def new_cluster(**options: Any) -> AsyncIterator[Cluster]:
    """Provides a server that has started, with these options."""
    cluster = Cluster(**options)
    await cluster.server.start()
    try:
        yield cluster
    finally:
        cluster.server.close()
        await cluster.store.close()


def rule(verbs: str, resources: str = "", *, groups: str = "", names: str = "", urls: str = "") -> Object:
    """A policy rule, each list as words; `-` stands for the group without a name."""
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    in_groups = ["" if group == "-" else group for group in (groups or "-").split()]
    found: Object = {"verbs": verbs.split(), "apiGroups": in_groups, "resources": resources.split()}
    if names:
        found["resourceNames"] = names.split()
    return found


def role(name: str, *rules: Object, namespace: str = "", **more: Any) -> Object:
    kind = "Role" if namespace else "ClusterRole"
    return _object(kind, name, rules=list(rules), **more)


def binding(
    name: str, *users: str, to: str = "", cluster_role: bool = False, namespace: str = "", subjects: Any = None
) -> Object:
    kind = "ClusterRole" if cluster_role or not namespace else "Role"
    return _object(
        "RoleBinding" if namespace else "ClusterRoleBinding",
        name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to or name},
        subjects=subjects or [{"kind": "User", "name": user} for user in users],
    )


def _object(kind: str, name: str, *, labels: dict[str, str] | None = None, **fields: Any) -> Object:
    metadata: Object = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **fields}


def review(kind: str, spec: Object, **metadata: str) -> Object:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def somebody(name: str, *groups: str) -> User:
    return User(name, (*groups, "system:authenticated"))
