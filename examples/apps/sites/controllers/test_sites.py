"""What the controllers of Sites do, tried in a control plane of the test's own. Nothing is started there.

`setpoint run test` runs it, and so does `pytest controllers`.
"""

from typing import Any

import pytest
from sites import Site, SiteSpec, is_ready, publish

import setpoint as sp
from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import Invalid
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet
from setpoint.workload.kinds.service import Service

KINDS = [Site, Service, ExecutableReplicaSet]
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "2 of 2",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def site(**pages: str) -> Site:
    return Site(metadata=sp.ObjectMeta(name="blog"), spec=SiteSpec(pages=pages, replicas=2))


@pytest.mark.world(crds=KINDS)
async def test_a_site_becomes_an_address_and_processes(world: testing.World) -> None:
    ran = await world.run_once(publish, site(index="Hello."))
    assert ran.conditions["Published"]["status"] == "True"
    processes = await world.client.get(ExecutableReplicaSet, "blog")
    assert processes.spec.replicas == 2
    assert [each.service for each in processes.spec.template.spec.serves] == ["blog"]
    await world.client.get(Service, "blog")


@pytest.mark.world(crds=KINDS)
async def test_a_changed_page_changes_the_processes_and_not_the_address(world: testing.World) -> None:
    await world.run_once(publish, site(index="Hello."))
    await world.client.edit(Site, "blog", "", lambda found: found.spec.pages.update(index="Hello again."))
    ran = await world.run_once(publish, sp.Request("blog"))
    assert [str(write) for write in ran.changes if "ReplicaSet" in str(write) or "Service" in str(write)] == [
        "apply ExecutableReplicaSet blog"
    ]


@pytest.mark.world(crds=KINDS)
async def test_a_site_is_ready_when_its_processes_are(world: testing.World) -> None:
    await world.run(publish, is_ready)
    await world.client.create(site(index="Hello."))
    await world.eventually(lambda: says(world, "NotPublished"))
    status: dict[str, Any] = {"status": {"conditions": [READY]}}
    await world.client.patch(ExecutableReplicaSet, merge(status), "blog", subresource="status")
    await world.eventually(lambda: says(world, "Done"))


@pytest.mark.world(crds=KINDS)
async def test_a_site_without_a_first_page_is_refused(world: testing.World) -> None:
    with pytest.raises(Invalid, match="needs a page named index"):
        await world.client.create(site(about="Nothing to see."))


async def says(world: testing.World, reason: str) -> bool:
    """Whether that is the reason for which the site is ready, or is not."""
    found = (await world.client.get(Site, "blog")).status
    return found is not None and any((each.type, each.reason) == ("Ready", reason) for each in found.conditions)
