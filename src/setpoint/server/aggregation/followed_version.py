"""The versions that APIServices with a Service declare."""

import asyncio
from typing import NamedTuple

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.registry.remote_version import RemoteDocuments, RemoteVersion

_SERVICE_LABEL = "kubernetes.io/service-name"


class DeclaredVersion(NamedTuple):
    """The version that an APIService declares, and the name and UID of the APIService."""

    gv: GroupVersion
    name: str
    uid: str
    version: RemoteVersion


class FollowedVersion:
    """A version whose server is checked."""

    def __init__(self, declared: DeclaredVersion) -> None:
        self.declared = declared
        self.documents = RemoteDocuments()
        # Set by a change of the APIService, its Service or an EndpointSlice.
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


def service_of(endpoint_slice: Object) -> str:
    """Returns the name of the Service of an EndpointSlice; empty without one."""
    return str((endpoint_slice["metadata"].get("labels") or {}).get(_SERVICE_LABEL, ""))
