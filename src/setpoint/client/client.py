"""The client: every verb of the API on typed objects, on plain trees and on metadata alone.

    async with Client.connect() as client:
        await client.apply(Website(metadata=ObjectMeta(name="blog"), spec=WebsiteSpec(replicas=2)), field_manager="me")
        for pod in (await client.list("v1/Pod", "default", labels="app=blog")).items: ...

What it returns is the caller's own. What the server refuses is raised as the error of the API that it is
(`setpoint.objects.errors`); what never reached it, or never came back, as `TransportError`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setpoint.client.install import Installing
from setpoint.client.options import Options
from setpoint.client.subresources import Subresources

if TYPE_CHECKING:
    from setpoint.client.connection_config import Connection


class Client(Installing, Subresources):
    """Talks to one API server over a transport."""

    # The namespace that the kubeconfig's context names, or that the pod is in. No call goes there by itself:
    # `client.with_options(namespace=client.namespace)` is how to say so.
    namespace = ""

    @classmethod
    def connect(cls, *, context: str = "", environ: Mapping[str, str] | None = None, **how: Any) -> Self:
        """A client of the cluster that one works with: by `KUBECONFIG`; inside a cluster, of that one; by
        `~/.kube/config`. Raises ConfigError. What else is given goes to the client."""
        from setpoint.client import kubeconfig

        return cls._of(kubeconfig.find(context=context, environ=os.environ if environ is None else environ), how)

    @classmethod
    def from_kubeconfig(cls, path: str | Path | None = None, context: str = "", **how: Any) -> Self:
        """A client by a kubeconfig: of `KUBECONFIG` or `~/.kube/config` where no path is given. Raises ConfigError."""
        from setpoint.client import kubeconfig

        return cls._of(kubeconfig.from_files(path, context=context, environ=os.environ), how)

    @classmethod
    def in_cluster(cls, **how: Any) -> Self:
        """A client for code that runs in a pod, as the pod's service account. Raises ConfigError."""
        from setpoint.client import incluster

        return cls._of(incluster.connection(os.environ), how)

    @classmethod
    def _of(cls, connection: "Connection", how: dict[str, Any]) -> Self:
        options: Options = how.pop("options", Options())
        made = cls(
            connection.transport(),
            options=options._replace(impersonate=options.impersonate or connection.impersonate),
            **how,
        )
        made.namespace = connection.namespace
        return made
