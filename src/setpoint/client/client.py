"""The client: every verb of the Kubernetes API for typed objects, plain trees, and metadata alone.

    async with Client.connect() as client:
        await client.apply(Website(metadata=ObjectMeta(name="blog"), spec=WebsiteSpec(replicas=2)), field_manager="me")
        for pod in (await client.list("v1/Pod", "default", labels="app=blog")).items: ...

The caller owns the returned objects and may change them. Errors of the server are raised as the classes of
`setpoint.objects.errors`; requests that did not reach the server, or were not answered, raise `TransportError`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setpoint.client.install import Installing
from setpoint.client.options import Options
from setpoint.client.subresources import Subresources

if TYPE_CHECKING:
    from setpoint.client.connection_config import ConnectionConfig


class Client(Installing, Subresources):
    """A client of one API server."""

    # The namespace of the kubeconfig's context, or of the pod that the client runs in. Requests do not use this
    # namespace by default: pass `client.with_options(namespace=client.namespace)`.
    namespace = ""

    @classmethod
    def connect(cls, *, context: str = "", environ: Mapping[str, str] | None = None, **how: Any) -> Self:
        """Returns a client of the current cluster. The configuration comes from `KUBECONFIG`, else from the pod's
        service account when running inside a cluster, else from `~/.kube/config`. Raises ConfigError. Other arguments
        are passed to the client."""
        from setpoint.client import kubeconfig

        return cls._of(kubeconfig.find(context=context, environ=os.environ if environ is None else environ), how)

    @classmethod
    def from_kubeconfig(cls, path: str | Path | None = None, context: str = "", **how: Any) -> Self:
        """Returns a client from a kubeconfig file: by default `KUBECONFIG` or `~/.kube/config`. Raises ConfigError."""
        from setpoint.client import kubeconfig

        return cls._of(kubeconfig.from_files(path, context=context, environ=os.environ), how)

    @classmethod
    def in_cluster(cls, **how: Any) -> Self:
        """Returns a client for code that runs in a pod, authenticated as the pod's service account. Raises
        ConfigError."""
        from setpoint.client import incluster

        return cls._of(incluster.connection(os.environ), how)

    @classmethod
    def _of(cls, connection: "ConnectionConfig", how: dict[str, Any]) -> Self:
        options: Options = how.pop("options", Options())
        made = cls(
            connection.transport(),
            options=options._replace(impersonate=options.impersonate or connection.impersonate),
            **how,
        )
        made.namespace = connection.namespace
        return made
