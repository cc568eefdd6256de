"""Endpoint: an address where a Service is served."""

from typing import Annotated

from setpoint.schema.types import Column, MinLength, Model, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.parts import AGE, Name, PortNumber, Text


class EndpointSpec(Model):
    """Which Service is served, and where."""

    service_namespace: Text = ""
    """The namespace of the Service; Services have none."""

    service_name: Name
    """The name of the Service."""

    address: Annotated[str, MinLength(1)]
    """The address where it is served."""

    port: PortNumber
    """The port where it is served."""


class EndpointStatus(Model):
    """Nothing is reported of an Endpoint."""


class Endpoint(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["end"],
    categories=[CATEGORY],
    selectable_fields=[".spec.serviceName"],
    columns=[
        Column("Service", ".spec.serviceName"),
        Column("Address", ".spec.address"),
        Column("Port", ".spec.port"),
        AGE,
    ],
):
    """An address where a Service is served. Workloads that say what they serve have theirs made for them."""

    spec: EndpointSpec
    """Which Service, and where."""

    status: EndpointStatus | None = None
    """Nothing."""
