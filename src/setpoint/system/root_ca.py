"""Maintains the ConfigMap `kube-root-ca.crt` of every namespace: the CA certificate for verifying the API server.

The ConfigMap is created with the namespace, and restored after changes and deletions.
"""

from contextlib import suppress
from typing import Any

from setpoint.cache.informer import Change
from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.tree import Object
from setpoint.system.every_namespace import create_in, namespace_controller

NAME, CONFIG_MAP = "root-ca-cert-publisher", "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def root_ca_publisher(client: Client, authority: str) -> Controller:
    """Returns the controller, which writes as the user of `client`. `authority` is the CA certificate in PEM."""
    data = {"ca.crt": authority}

    async def reconcile(ctx: Context, request: Request) -> None:
        known = ctx.lookup("v1/ConfigMap", CONFIG_MAP, request.name)
        if known is not None and known.get("data") == data:
            return
        own = client.with_options(cause=ctx.cause)
        config_map: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": CONFIG_MAP,
                "namespace": request.name,
                "annotations": {"kubernetes.io/description": _DESCRIPTION},
            },
            "data": data,
        }
        if known is None:
            with suppress(AlreadyExists):
                await create_in(own, request.name, config_map)
                return
        # The content may differ; an update without changes writes nothing.
        with suppress(NotFound):
            await own.update(config_map)

    def is_wrong(change: Change[Any]) -> bool:
        new = change.new
        return new is None or new.object.get("data") != data

    return namespace_controller(NAME, reconcile, client.clock, "v1/ConfigMap", CONFIG_MAP, Predicate(is_wrong))
