"""Decides if a request is for an extension API server, by its path."""

from setpoint.objects.gvk import GroupVersion
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.remote_version import RemoteVersion
from setpoint.server.requestinfo import RequestInfo

_OPENAPI = "/openapi/v3/"


def remote_version(registry: Registry, info: RequestInfo) -> RemoteVersion | None:
    """Returns the version of a request that is forwarded; None for a request that this server answers."""
    if info.is_resource:
        return registry.remote.get(info.group_version)
    path = info.path.removeprefix(_OPENAPI[:-1]) if info.path.startswith(_OPENAPI) else info.path
    match path.strip("/").split("/"):
        case ["apis", group, version]:
            return registry.remote.get(GroupVersion(group, version))
        case _:
            return None
