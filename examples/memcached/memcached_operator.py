"""The Memcached of operator-sdk's tutorial: a Deployment with the requested number of memcached servers.

`setpoint dev examples/memcached/memcached_operator.py` runs the controller; `deploy/` installs it on a cluster.
"""

import os
from typing import Annotated

import msgspec

import setpoint as sp
from setpoint.api.apps.v1 import Deployment, DeploymentSpec
from setpoint.api.core.v1 import (
    Capabilities,
    Container,
    ContainerPort,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    SeccompProfile,
    SecurityContext,
)
from setpoint.api.meta.v1 import Condition, LabelSelector
from setpoint.schema.types import ListMap, Maximum, Minimum

FINALIZER = "cache.example.com/finalizer"


class MemcachedSpec(sp.Model):
    """The desired state of a Memcached."""

    # The number of servers.
    size: Annotated[int, Minimum(1), Maximum(3)] = 1
    container_port: Annotated[int, Minimum(1), Maximum(65535)] = 11211


class MemcachedStatus(sp.Model):
    """The observed state of a Memcached."""

    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


class Memcached(sp.Resource, group="cache.example.com", version="v1alpha1"):
    """Servers of memcached."""

    spec: MemcachedSpec
    status: MemcachedStatus | None = None


@sp.controller(Memcached, owns=[Deployment], condition_events=["Available"])
async def memcached(ctx: sp.Context, request: sp.Request) -> None:
    async def clean_up() -> None:
        found = await ctx.live()
        ctx.recorder.warning(found, "Deleting", f"Memcached {request.name} is being deleted")

    if await ctx.finalize(FINALIZER, clean_up):
        return  # deleted; its Deployment is deleted by the garbage collector
    found: Memcached = await ctx.object()
    applied = await ctx.client.apply(ctx.own(deployment(request.name, found.spec)))
    ready = (applied.status.available_replicas if applied.status is not None else None) or 0
    ctx.status.condition(
        "Available",
        ready >= found.spec.size,
        "Reconciling" if ready < found.spec.size else "Available",
        f"{ready} of {found.spec.size} servers are available",
    )


def deployment(name: str, spec: MemcachedSpec) -> Deployment:
    """Returns the Deployment of the servers."""
    image = os.environ.get("MEMCACHED_IMAGE", "memcached:1.6.26-alpine3.19")
    labels = {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": name}
    container = Container(
        name="memcached",
        image=image,
        command=["memcached", "--memory-limit=64", "-o", "modern", "-v"],
        ports=[ContainerPort(container_port=spec.container_port, name="memcached")],
        security_context=SecurityContext(
            run_as_non_root=True,
            run_as_user=1001,
            allow_privilege_escalation=False,
            capabilities=Capabilities(drop=["ALL"]),
        ),
    )
    pod = PodSpec(
        containers=[container],
        security_context=PodSecurityContext(
            run_as_non_root=True, seccomp_profile=SeccompProfile(type="RuntimeDefault")
        ),
    )
    return Deployment(
        metadata=sp.ObjectMeta(name=name, labels=labels),
        spec=DeploymentSpec(
            replicas=spec.size,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod),
        ),
    )
