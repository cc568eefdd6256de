"""The OpenAPI document (version 2) of an extension API server: the part about one version.

Only paths of the version are taken, and the definitions and parameters that they refer to. The document of an extension
server is data of another program: parts of an unexpected form are left out.
"""

import hashlib
from collections.abc import Iterator
from functools import partial

import msgspec

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Json, Object
from setpoint.server.aggregation.remote_client import RemoteClient
from setpoint.server.registry.remote_version import RemoteServer, RemoteSwagger
from setpoint.server.request.context import Services

PATH = "/openapi/v2"
# Documents are read for all users: the work occupies the thread of none of them.
_USER = "system:openapi"
_DEFINITIONS, _PARAMETERS = "#/definitions/", "#/parameters/"
_decode = msgspec.json.Decoder().decode


async def read_swagger(
    services: Services,
    client: RemoteClient,
    server: RemoteServer,
    gv: GroupVersion,
    known: RemoteSwagger | None,
    timeout: float,
) -> RemoteSwagger | None:
    """Returns the part of the document; `known` if the document has not changed, and None if the server has none.
    Raises the errors of the client."""
    answer, body = await client.read(server, PATH, "application/json", timeout, "" if known is None else known.etag)
    if answer.status == 304 and known is not None:
        return known
    if answer.status != 200:
        return None
    return await services.offload.run(_USER, partial(_part, body, gv, known, answer.headers.get("etag", "")))


def _part(body: bytes, gv: GroupVersion, known: RemoteSwagger | None, etag: str) -> RemoteSwagger | None:
    digest = hashlib.sha256(body).hexdigest()
    if known is not None and known.digest == digest:
        return known
    try:
        tree = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    prefix = f"/apis/{gv}/"
    paths = {name: path for name, path in _members(tree, "paths") if name.startswith(prefix)}
    definitions, parameters = dict(_members(tree, "definitions")), dict(_members(tree, "parameters"))
    named_definitions: Object = {}
    named_parameters: Object = {}
    waiting: list[Json] = list(paths.values())
    while waiting:
        for name in _references(waiting.pop()):
            for prefix, all_members, named in (
                (_DEFINITIONS, definitions, named_definitions),
                (_PARAMETERS, parameters, named_parameters),
            ):
                member = name.removeprefix(prefix)
                if name.startswith(prefix) and member in all_members and member not in named:
                    named[member] = all_members[member]
                    waiting.append(all_members[member])
    return RemoteSwagger(paths, named_definitions, named_parameters, digest, etag)


def _members(tree: Json, name: str) -> Iterator[tuple[str, Object]]:
    found = tree.get(name) if isinstance(tree, dict) else None
    for key, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, dict):
            yield key, value


def _references(tree: Json) -> Iterator[str]:
    """Yields all references in a part of the document."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
