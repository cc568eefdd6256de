"""An operator with children and a status: a Website has a Deployment and a Service, and tells how it is.

`python examples/website_operator.py` runs it in one process with a control plane of its own. Nothing runs containers
there, so the program itself says that the replicas are up. `on_a_cluster.py` runs the same operator anywhere.
"""

import asyncio
from typing import Annotated

import msgspec

import setpoint as sp
from setpoint.api.apps.v1 import Deployment, DeploymentSpec
from setpoint.api.core.v1 import Container, ContainerPort, PodSpec, PodTemplateSpec, Service, ServicePort, ServiceSpec
from setpoint.api.meta.v1 import Condition, LabelSelector
from setpoint.schema.types import ListMap, Minimum


class WebsiteSpec(sp.Model):
    """What a website should be."""

    image: str
    replicas: Annotated[int, Minimum(0)] = 1


class WebsiteStatus(sp.Model):
    """What a website is."""

    ready_replicas: int = 0
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


class Website(
    sp.Resource,
    group="example.com",
    version="v1",
    short_names=["web"],
    columns=[sp.Column("Replicas", ".spec.replicas"), sp.Column("Ready", ".status.readyReplicas")],
):
    """A website."""

    spec: WebsiteSpec
    status: WebsiteStatus | None = None


@sp.controller(Website, owns=[Deployment, Service], concurrency=4)
async def website(ctx: sp.Context[Website], request: sp.Request) -> None:
    site = await ctx.object()
    if site is None:
        return  # its children go with it
    running = await ctx.client.apply(ctx.own(deployment_of(site)))
    await ctx.client.apply(ctx.own(service_of(site)))
    ready = running.status.ready_replicas or 0
    ctx.status.ready_replicas = ready
    is_ready = ready >= site.spec.replicas
    changed = ctx.condition(
        "Ready", is_ready, "AllUp" if is_ready else "Starting", f"{ready} of {site.spec.replicas} replicas are up"
    )
    if changed and is_ready:
        ctx.recorder.normal(site, "Published", f"{ready} replicas serve {site.spec.image}")


def deployment_of(site: Website) -> Deployment:
    labels = {"website": site.metadata.name}
    container = Container(name="web", image=site.spec.image, ports=[ContainerPort(container_port=80)])
    return Deployment(
        metadata=sp.ObjectMeta(name=site.metadata.name, labels=labels),
        spec=DeploymentSpec(
            replicas=site.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=PodSpec(containers=[container])),
        ),
    )


def service_of(site: Website) -> Service:
    labels = {"website": site.metadata.name}
    return Service(
        metadata=sp.ObjectMeta(name=site.metadata.name, labels=labels),
        spec=ServiceSpec(selector=labels, ports=[ServicePort(port=80)]),
    )


async def main() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Website)
        async with sp.Manager(client, controllers=[website]):
            metadata = sp.ObjectMeta(name="blog", namespace="default")
            await client.create(Website(metadata=metadata, spec=WebsiteSpec(image="nginx:1.29", replicas=2)))
            await client.wait_for(Website, "blog", "default", "condition=Ready=False")
            deployment = await client.get(Deployment, "blog", "default")
            print("the Deployment is there, for", deployment.spec.replicas, "replicas")

            await client.edit(Deployment, "blog", "default", replicas_are_up, subresource="status")
            site = await client.wait_for(Website, "blog", "default", "condition=Ready")
            assert site is not None
            assert site.status is not None
            print("the website says:", site.status.conditions[0].message)

            await client.delete(Website, "blog", "default")
            await client.wait_for(Deployment, "blog", "default", "delete")
            print("the Deployment went with it")


def replicas_are_up(deployment: Deployment) -> None:
    """What a cluster does that runs containers."""
    deployment.status.replicas = deployment.status.ready_replicas = deployment.spec.replicas


if __name__ == "__main__":
    asyncio.run(main())
