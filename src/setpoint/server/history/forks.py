"""Forks of the control plane: copies in memory, as of a revision, that are served below a path of this server.

    POST   /apis/setpoint.dev/v1/forks           {"spec": {"revision": "120", "ttlSeconds": 600}}
    GET    /apis/setpoint.dev/v1/forks[/{name}]
    DELETE /apis/setpoint.dev/v1/forks/{name}
    any    /apis/setpoint.dev/v1/forks/{name}/proxy/{path}

A fork has the objects of that revision (without `revision`, the current ones), their past, the admission and the
system controllers of this control plane, and none of its workloads. Changes of a fork affect no other plane. The path
below `proxy` is the API of the fork: the server authenticates the user and requires the right to `forks/proxy`, with
the verb of the method (get, create, update, patch, delete); then the fork authorizes the request by its own roles. Of
the default roles only cluster-admin has the rights to `forks` and `forks/proxy`: they give access to the whole past.

A fork ends when deleted, after its time (ten minutes by default, a day at most), or with this server. The number of
forks, the bytes they copy, and the bytes that each may receive are limited.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from setpoint.objects.errors import BadRequest, Expired, Invalid, NotFound, ServiceUnavailable, UnsupportedMediaType
from setpoint.objects.field import invalid
from setpoint.objects.gotext import parse_uint
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.tree import Object
from setpoint.server.codec.request_body import JSON, media_type
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Request, Response
from setpoint.server.ports import Fork, ForkHost
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP
from setpoint.store.contract import Purged, TooEarly, TooLate

FORKS = GroupResource(OWN_GROUP, "forks")
PROXY = "proxy"
_KIND = GroupKind(OWN_GROUP, "Fork")
_API_VERSION = f"{OWN_GROUP}/v1"
_DEFAULT_SECONDS, _MOST_SECONDS = 600, 86_400
# Headers that concern the connection to this server, or the user, whom the fork receives otherwise.
_OWN_HEADERS = frozenset({"authorization", "accept-encoding", "host", "connection"})
_IMPERSONATION = "impersonate-"
# Headers that this server sets itself.
_OWN_ANSWERS = frozenset({"audit-id", "cache-control"})


class ForkSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The wanted fork: the revision, and the seconds after which the fork ends."""

    revision: str = ""
    ttl_seconds: int = _DEFAULT_SECONDS


class ForkRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a request for a fork."""

    spec: ForkSpec = ForkSpec()
    kind: str = "Fork"
    api_version: str = _API_VERSION


async def create_fork(context: Context) -> Response:
    """Creates a fork. Raises Invalid and Expired for a revision that cannot be read, and Forbidden for too many."""
    host = context.services.forks
    if host is None:
        raise ServiceUnavailable("this server cannot be forked: forks and read-only servers have no forks of their own")
    spec = _request(context).spec
    at = await _revision(context, spec.revision)
    if not 1 <= spec.ttl_seconds <= _MOST_SECONDS:
        detail = f"must be from 1 to {_MOST_SECONDS}"
        raise Invalid.of(_KIND, "", [invalid("spec.ttlSeconds", spec.ttl_seconds, detail)])
    if context.parameter("dryRun"):
        return await json_answer(
            context, {"kind": "Fork", "apiVersion": _API_VERSION, "spec": {"revision": str(at)}}, 201
        )
    try:
        fork = await host.create(at, spec.ttl_seconds, context.user.name)
    except TooLate as error:  # compacted since
        raise _expired(error) from None
    return await json_answer(context, _tree(fork), 201)


async def list_forks(context: Context) -> Response:
    """Returns all forks."""
    host = context.services.forks
    items = [_tree(fork) for fork in host.forks] if host is not None else []
    return await json_answer(context, {"kind": "ForkList", "apiVersion": _API_VERSION, "metadata": {}, "items": items})


async def get_fork(context: Context) -> Response:
    """Returns a fork. Raises NotFound."""
    return await json_answer(context, _tree(_found(context)[1]))


async def delete_fork(context: Context) -> Response:
    """Ends a fork, and with that its watches. Raises NotFound."""
    host, fork = _found(context)
    if not context.parameter("dryRun"):
        await host.delete(fork.name)
    return await json_answer(context, _tree(fork))


async def pass_to_fork(context: Context) -> Response:
    """Passes a request on to a fork, as the same user. Raises NotFound."""
    host, fork = _found(context)
    request = context.request
    _, _, path = request.path.partition(f"/{PROXY}")
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in _OWN_HEADERS and not name.startswith(_IMPERSONATION)
    }
    inner = Request(request.method, path or "/", request.query, headers, request.body)
    status, content_type, body, answered = await host.send(fork.name, inner, context.user)
    kept = [each for each in answered if each[0].lower() not in _OWN_ANSWERS]
    return Response(status, content_type, body, kept)


def _found(context: Context) -> tuple[ForkHost, Fork]:
    host = context.services.forks
    for fork in host.forks if host is not None else ():
        if host is not None and fork.name == context.info.name:
            return host, fork
    raise NotFound.of(FORKS, context.info.name)


def _request(context: Context) -> ForkRequest:
    if media_type(context) != JSON:
        raise UnsupportedMediaType.of([JSON])
    try:
        return msgspec.json.decode(context.request.body or b"{}", type=ForkRequest)
    except msgspec.DecodeError as error:
        raise BadRequest(f'the body is not a fork such as {{"spec": {{"revision": "120"}}}}: {error}') from None


async def _revision(context: Context, text: str) -> int:
    """Returns the revision to copy, which can be read. Raises Invalid and Expired."""
    store = context.services.store
    current = await store.revision()
    if not text:
        return current
    try:
        at = parse_uint(text)
    except ValueError:
        detail = "must be the number of a revision"
        raise Invalid.of(_KIND, "", [invalid("spec.revision", text, detail)]) from None
    try:
        await store.range("/core/namespaces/", limit=1, at=at)
    except TooEarly as error:
        raise Invalid.of(_KIND, "", [invalid("spec.revision", text, str(error))]) from None
    except Purged:
        pass  # the fork lacks this value, too
    except TooLate as error:
        raise _expired(error) from None
    return at


def _expired(error: TooLate) -> Expired:
    return Expired(f"spec.revision: {error}")


def _tree(fork: Fork) -> Object:
    return {
        "kind": "Fork",
        "apiVersion": _API_VERSION,
        "metadata": {"name": fork.name, "creationTimestamp": fork.created},
        "spec": {"revision": str(fork.revision)},
        "status": {
            "path": f"/apis/{_API_VERSION}/forks/{fork.name}/{PROXY}",
            "expires": fork.expires,
            "user": fork.user,
            "bytes": fork.size,
            "receivedBytes": fork.received,
        },
    }


OwnVerb: TypeAlias = Callable[[Context], Awaitable[Response]]
# The verbs of the collection, of one fork, and of the API of a fork.
OF_COLLECTION: Mapping[str, OwnVerb] = {"create": create_fork, "list": list_forks}
OF_FORK: Mapping[str, OwnVerb] = {"get": get_fork, "delete": delete_fork}
OF_PROXY: Mapping[str, OwnVerb] = dict.fromkeys(("create", "delete", "get", "patch", "update"), pass_to_fork)
