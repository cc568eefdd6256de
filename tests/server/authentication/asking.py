"""A server in this process whose clients say who they are, its clock in the test's hands."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Json, Object
from setpoint.server.access.authentication.assembly import assemble
from setpoint.server.access.authentication.settings import AuthenticationSettings
from setpoint.server.access.authentication.users import ADMIN
from setpoint.server.app import Server
from setpoint.server.message import Peer, Request
from setpoint.server.ports import User
from setpoint.server.publish.nonresource.standard import standard
from setpoint.server.server_keys import ServerKeys
from setpoint.server.server_options import AccessControl, Serving
from setpoint.store.memory import MemoryStore

ADMINS, JANES = "admin-token", "janes-token"
JANE = User("jane", ("dev", "system:authenticated"), "u-jane")
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ROLES = "/apis/rbac.authorization.k8s.io/v1"


class Answer(NamedTuple):
    status: int
    body: Json
    headers: Sequence[tuple[str, str]] = ()

    @property
    def message(self) -> str:
        message: str = self.body["message"]
        return message


class Asking:
    """Sends requests as whoever has the token: the administrator unless the test says otherwise."""

    def __init__(self, settings: AuthenticationSettings | None = None, directory: Path | None = None) -> None:
        self.clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        self.authentication = assemble(
            settings or AuthenticationSettings(), {ADMINS: ADMIN, JANES: JANE}, self.clock, ServerKeys(directory)
        )
        self.server = Server(
            MemoryStore(clock=self.clock),
            clock=self.clock,
            ids=SeededIds(7),
            access=AccessControl(self.authentication.credentials, self.authentication.issuer),
            serving=Serving(pages=standard()),
        )

    async def __call__(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        token: str | None = ADMINS,
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Answer:
        given = {"content-type": "application/json", "user-agent": "test/1.0", **(headers or {})}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        data = b"" if body is None else msgspec.json.encode(body)
        response = await self.server(Request(method, path, query, given, data, Peer("10.0.0.1:5")))
        parts = response.body
        assert isinstance(parts, bytes | list)
        whole = parts if isinstance(parts, bytes) else b"".join(parts)
        found = msgspec.json.decode(whole) if "json" in response.content_type else whole.decode()
        return Answer(response.status, found, response.headers)

    async def made(self, path: str, tree: Object) -> Object:
        """Creates an object."""
        answer = await self("POST", path, tree)
        assert answer.status == 201, answer.body
        created: Object = answer.body
        return created

    async def account(self, name: str = "bot") -> Object:
        return await self.made(ACCOUNTS, {"metadata": {"name": name}})

    async def token(self, name: str = "bot", **spec: Json) -> str:
        """A token of a service account."""
        token: str = (await self.request(name, **spec)).body["status"]["token"]
        return token

    async def request(self, name: str = "bot", **spec: Json) -> Answer:
        """A request for one."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return await self("POST", f"{ACCOUNTS}/{name}/token", body)

    async def whoami(self, token: str | None, headers: Mapping[str, str] | None = None) -> Any:
        """What the server says of who asks; None for whom it does not let in."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await self("POST", SELF, review, token=token, headers=headers)
        if answer.status == 401:
            return None
        assert answer.status == 201, answer.body
        return answer.body["status"]["userInfo"]

    async def review(self, token: str, *audiences: str) -> Any:
        """The status of a TokenReview."""
        spec: Object = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        answer = await self("POST", REVIEWS, body)
        assert answer.status == 201, answer.body
        return answer.body["status"]

    async def allow(self, user: str, *rules: Object) -> None:
        """Gives a user rights everywhere."""
        name = user.replace(":", "-")
        await self.made(f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
        subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
        await self.made(
            f"{ROLES}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        )


@asynccontextmanager
async def new_asking(
    settings: AuthenticationSettings | None = None, directory: Path | None = None
) -> AsyncIterator[Asking]:
    """Provides a server that has started, with these settings."""
    ask = Asking(settings, directory)
    await ask.server.start()
    try:
        yield ask
    finally:
        ask.authentication.close()


def pod(name: str = "a", account: str = "bot", **spec: Json) -> Object:
    return {
        "metadata": {"name": name},
        "spec": {"serviceAccountName": account, "containers": [{"name": "c", "image": "x"}], **spec},
    }


def bound_to(kind: str, name: str, **more: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "name": name, **more}
