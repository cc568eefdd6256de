"""Fills Secrets of the type `kubernetes.io/service-account-token` with a token of their service account.

Such a token is valid as long as the Secret and the account exist; a Secret of a missing or replaced account is deleted.
Prefer tokens with an expiry where possible.
"""

import base64
from collections.abc import Callable
from typing import Any

from setpoint.client.client import Client
from setpoint.client.kinds import metadata_only
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.predicate import deleted
from setpoint.controller.request import Request
from setpoint.controller.watch import Watch
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost

NAME, TYPE = "serviceaccount-token-controller", "kubernetes.io/service-account-token"
ACCOUNT, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
# The longest possible expiry, practically unlimited.
_SECONDS = 2**32


def token_controller(client: Client, authority: Callable[[], str]) -> Controller:
    """Returns the controller, which acts as the user of `client`. `authority` returns the server's CA certificate in
    PEM, if known."""
    tokens = _Tokens(client, authority)
    return Controller(
        NAME,
        tokens.reconcile,
        clock=client.clock,
        kind=Watch("v1/Secret", fields={"type": TYPE}),
        watches=[Watch(metadata_only("v1/ServiceAccount"), mapped(tokens.of_account), predicates=(deleted,))],
        keep_runs=16,
    )


class _Tokens:
    """The Secrets with tokens."""

    def __init__(self, client: Client, authority: Callable[[], str]) -> None:
        self._client = client
        self._authority = authority

    async def of_account(self, account: Object) -> list[Request]:
        """Returns the Secrets of an account."""
        metadata = account["metadata"]
        found = await self._client.list("v1/Secret", metadata["namespace"], fields={"type": TYPE})
        return [
            Request(secret["metadata"]["name"], metadata["namespace"])
            for secret in found.items
            if (secret["metadata"].get("annotations") or {}).get(ACCOUNT) == metadata["name"]
        ]

    async def reconcile(self, ctx: Context, request: Request) -> None:
        client = self._client.with_options(cause=ctx.cause)
        try:
            secret = await client.get("v1/Secret", request.name, request.namespace)
        except NotFound:
            return
        metadata = secret["metadata"]
        annotations: dict[str, str] = metadata.get("annotations") or {}
        if secret.get("type") != TYPE or not annotations.get(ACCOUNT) or metadata.get("deletionTimestamp"):
            return
        account = await self._account(client, request.namespace, annotations)
        if account is None:
            try:
                await client.delete("v1/Secret", request.name, request.namespace, uid=metadata["uid"])
            except (NotFound, Conflict):
                return
            return
        missing = await self._missing(client, secret, account)
        if missing:
            annotations = {**annotations, ACCOUNT_UID: account["metadata"]["uid"]}
            changed = {**secret, "metadata": {**metadata, "annotations": annotations}}
            changed["data"] = {**(secret.get("data") or {}), **missing}
            try:
                await client.update(changed)
            except NotFound:
                return

    async def _account(self, client: Client, namespace: str, annotations: dict[str, str]) -> Object | None:
        """Returns the account of a Secret, if the account exists and has the expected uid."""
        try:
            account: Object = await client.get("v1/ServiceAccount", annotations[ACCOUNT], namespace)
        except NotFound:
            return None
        return account if annotations.get(ACCOUNT_UID) in (None, "", account["metadata"]["uid"]) else None

    async def _missing(self, client: Client, secret: Object, account: Object) -> dict[str, str]:
        """Returns the missing or wrong data of a Secret."""
        data: dict[str, Any] = secret.get("data") or {}
        metadata, authority = secret["metadata"], self._authority()
        missing = {}
        if authority and data.get("ca.crt") != _base64(authority):
            missing["ca.crt"] = _base64(authority)
        if not data.get("namespace"):
            missing["namespace"] = _base64(metadata["namespace"])
        if not data.get("token"):
            bound = {"apiVersion": "v1", "kind": "Secret", "name": metadata["name"], "uid": metadata["uid"]}
            response = await client.token(
                account["metadata"]["name"], metadata["namespace"], expiration_seconds=_SECONDS, bound_to=bound
            )
            missing["token"] = _base64(response["status"]["token"])
        return missing


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(token_controller(host.client, lambda: host.authority))
