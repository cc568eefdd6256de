"""Endpoint: an address where a Service is served."""

from typing import Annotated

from setpoint.schema.types import Column, MinLength, Resource
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import AGE, Name, PortNumber, Text


class EndpointSpec(KindModel):
    """The Service, and the address where the Service is served."""

    service_namespace: Text = ""
    """The namespace of the Service; Services have none."""

    service_name: Name
    """The name of the Service."""

    address: Annotated[str, MinLength(1)]
    """The address where the Service is served."""

    port: PortNumber
    """The port where the Service is served."""


class EndpointStatus(KindModel):
    """The status of an Endpoint, which has no fields."""


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
    """An address where a Service is served. The controllers create the Endpoints of workloads that serve Services."""

    spec: EndpointSpec
    """The Service and its address."""

    status: EndpointStatus | None = None
    """An empty status."""
