"""Versions of API groups that another API server serves, as an APIService with a Service declares."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object


class RemoteServer(NamedTuple):
    """The Service of an extension API server, and the means to verify its certificate."""

    namespace: str
    name: str
    port: int
    # PEM; empty: the authorities that the system trusts.
    authorities: bytes = b""
    is_insecure: bool = False

    @property
    def host(self) -> str:
        """The name in the certificate of the server."""
        return f"{self.name}.{self.namespace}.svc"


class RemoteSwagger(NamedTuple):
    """The part of an OpenAPI document of version 2 that describes a version."""

    paths: Object
    definitions: Object
    parameters: Object
    # The hash and the ETag of the document.
    digest: str
    etag: str


class RemoteDocuments(NamedTuple):
    """The published documents of a version, as far as the remote server provided them."""

    # The resources, as in aggregated discovery.
    resources: Sequence[Object] = ()
    # False if the last attempt to read the resources failed.
    is_fresh: bool = False
    # The relative URL of the OpenAPI document of version 3; empty without such a document.
    openapi_url: str = ""
    # None without a document of version 2.
    swagger: RemoteSwagger | None = None


class RemoteVersion(NamedTuple):
    """A version that a remote server serves."""

    server: RemoteServer
    group_priority: int
    version_priority: int
    # The condition Available of the APIService.
    is_available: bool
    documents: RemoteDocuments = RemoteDocuments()


RemoteVersions: TypeAlias = Mapping[GroupVersion, RemoteVersion]
