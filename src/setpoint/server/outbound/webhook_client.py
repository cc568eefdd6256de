"""Calls webhooks: resolves the address, posts the review and returns the response body.

Every failure is a `CallError` with kube-apiserver's message. Used for admission and conversion webhooks; suitable for
any webhook with a `clientConfig`.
"""

import posixpath
from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.outbound.service_resolver import ServiceError, ServiceResolver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from setpoint.client.transport import Answer
    from setpoint.server.outbound.client import Client, OutboundTarget

_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
# Status codes for which the response body is the message.
_OWN_WORDS = (403, 415)
_NOT_ACCEPTABLE = "the server was unable to respond with a content type that the client supports"


class CallError(Exception):
    """The call of a webhook failed."""

    def __init__(self, why: str, *, has_bad_authorities: bool = False) -> None:
        super().__init__(why)
        self.has_bad_authorities = has_bad_authorities


class ClientConfig(NamedTuple):
    """The location of a webhook, from its configuration."""

    url: str
    authorities: bytes
    # Namespace, name and port; None if the URL is complete.
    service: tuple[str, str, int] | None = None

    @classmethod
    def of(cls, tree: Object) -> "ClientConfig":
        """Reads a `clientConfig`."""
        try:
            authorities = b64decode(tree.get("caBundle") or "")
        except (Base64Error, ValueError):
            authorities = b"no certificate"
        service = tree.get("service")
        if service is None:
            split = urlsplit(tree.get("url") or "")
            return cls(f"{split.scheme}://{split.netloc}{_clean(split.path)}", authorities)
        namespace, name, port = service.get("namespace") or "", service.get("name") or "", service.get("port") or 443
        url = f"https://{name}.{namespace}.svc:{port}{_clean(service.get('path') or '')}"
        return cls(url, authorities, (namespace, name, port))


def _clean(path: str) -> str:
    return posixpath.normpath(f"/{path.lstrip('/')}")


class WebhookClient:
    """Calls webhooks for one server."""

    def __init__(
        self, client: "Client", resolver: ServiceResolver, explain: "Callable[[str, str], Awaitable[str]]"
    ) -> None:
        """`explain` returns the reason for which a service, given by namespace and name, has no address; empty if
        unknown."""
        self._client = client
        self._resolver = resolver
        self._explain = explain

    def close(self) -> None:
        """Aborts pending calls and closes all connections."""
        self._client.close()

    async def call(self, config: ClientConfig, body: bytes, seconds: int) -> bytes:
        """Calls an admission webhook like `post`, and prefixes errors as kube-apiserver does."""
        try:
            return await self.post(config, body, seconds)
        except CallError as error:
            message = "could not get REST client" if error.has_bad_authorities else "failed to call webhook"
            raise CallError(f"{message}: {error}") from None

    async def post(self, config: ClientConfig, body: bytes, seconds: int) -> bytes:
        """Posts a body and returns the body of the response. Sends the timeout to the webhook. Raises CallError."""
        from setpoint.server.outbound.client import AuthoritiesError
        from setpoint.server.outbound.failure import CallFailed, before_answer

        query = f"timeout={seconds}s"
        try:
            endpoint = self._endpoint(config)
            answer = await self._client.post(endpoint, body, timeout=seconds, query=query)
        except ServiceError as error:
            reason = "" if config.service is None else await self._explain(*config.service[:2])
            raise CallError(str(before_answer("POST", f"{config.url}?{query}", reason or str(error)))) from None
        except AuthoritiesError as error:
            raise CallError(str(error), has_bad_authorities=True) from None
        except CallFailed as error:
            raise CallError(str(error)) from None
        if not 200 <= answer.status <= 206:
            raise CallError(_refusal(answer))
        if not answer.body:
            kind = answer.headers.get("content-type") or "application/json"
            raise CallError(f"0-length response with status code: {answer.status} and content type: {kind}")
        return answer.body

    def _endpoint(self, config: ClientConfig) -> "OutboundTarget":
        from setpoint.server.outbound.client import OutboundTarget

        address = None if config.service is None else self._resolver.resolve(*config.service)
        return OutboundTarget(config.url, config.authorities, address)


def _refusal(answer: "Answer") -> str:
    """Returns the error message of an unsuccessful response: the message of its Status, or a standard text."""
    status = answer.status
    try:
        tree = codec.decode(answer.body)
    except APIError:
        tree = None
    if isinstance(tree, dict) and tree.get("kind") == "Status" and isinstance(tree.get("message"), str):
        return str(tree["message"])
    is_text = answer.headers.get("content-type", "text/").startswith("text/")
    text = answer.body[:2048].decode("utf-8", "replace").strip() if is_text else "unknown"
    if status in _OWN_WORDS:
        return text
    if status == 406:
        return text if text not in ("", "unknown") else _NOT_ACCEPTABLE
    if status in _TEXTS:
        return _TEXTS[status]
    if status >= 500:
        return f"an error on the server ({quote(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"
