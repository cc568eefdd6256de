"""Sites: pages that become a web server.

A Site becomes a Service, which is the address that stays, and a set of processes that serve its pages. `publish` makes
both of them and changes them with the Site; `is_ready` tells how far they are.
"""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

import setpoint as sp
from setpoint.api.meta.v1 import Condition
from setpoint.schema.types import ListMap, Maximum, Minimum
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet
from setpoint.workload.kinds.service import Service

WORKLOADS = "usvc-dev.developer.microsoft.com/v1"
SERVER = Path(__file__).with_name("server.py")


class SiteSpec(sp.Model):
    """What a site should be."""

    pages: dict[str, str]
    """The texts of its pages, by their names; `index` is the first that people see."""

    replicas: Annotated[int, Minimum(0), Maximum(10)] = 1
    """How many processes serve it."""


class SiteStatus(sp.Model):
    """What a site is."""

    url: str = ""
    """Where it is."""

    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


@sp.rule("'index' in self.spec.pages", message="a site needs a page named index", field_path=".spec.pages")
class Site(
    sp.Resource,
    group="example.com",
    version="v1",
    scope="Cluster",
    columns=[
        sp.Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        sp.Column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
        sp.Column("URL", ".status.url"),
    ],
):
    """A web site."""

    spec: SiteSpec
    """What it should be."""

    status: SiteStatus | None = None
    """What it is."""


@sp.generates(Site, kinds=[Service, ExecutableReplicaSet], name="sites", namespace="default", condition="Published")
def publish(site: Site, status: SiteStatus) -> Iterator[dict[str, Any]]:
    """The objects that a Site stands for. What is given once and then no more is deleted."""
    name = site.metadata.name
    yield {"apiVersion": WORKLOADS, "kind": "Service", "metadata": {"name": name}, "spec": {}}
    template = {
        "executablePath": sys.executable,
        "args": [str(SERVER), f'{{{{ portForServing "{name}" }}}}'],
        # Braces in a page are no template of ours.
        "env": [{"name": "PAGES", "value": base64.b64encode(msgspec.json.encode(site.spec.pages)).decode()}],
        "serves": [{"service": name}],
        "healthProbes": [
            {
                "name": "ready",
                "type": "HTTP",
                "httpProbe": {"url": f'http://127.0.0.1:{{{{ portForServing "{name}" }}}}/'},
                "schedule": {"interval": "2s"},
            }
        ],
    }
    yield {
        "apiVersion": WORKLOADS,
        "kind": "ExecutableReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": site.spec.replicas,
            "updateStrategy": "RollingUpdate",
            "template": {"spec": template},
        },
    }


@sp.status_of(Site, condition="Ready", reads=[Service, ExecutableReplicaSet])
def is_ready(ctx: sp.SyncContext, site: Site, status: SiteStatus) -> None:
    """Asked again whenever something that it looked up has changed."""
    service = ctx.lookup(Service, site.metadata.name)
    where = service.status if service is not None else None
    status.url = f"http://{where.effective_address}:{where.effective_port}/" if where and where.effective_port else ""
    processes = ctx.lookup(ExecutableReplicaSet, site.metadata.name)
    if processes is None or processes.status is None:
        raise sp.Wait(reason="NotPublished", message="nothing serves it yet")
    ready = next((each for each in processes.status.conditions if each.type == "Ready"), None)
    if ready is None or ready.status != "True":
        raise sp.Wait(reason="Starting", message=ready.message if ready is not None else "its processes start")
