"""Waiting for objects to be ready: until all are, or until it is said who is not."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from setpoint.client.client import Client
from setpoint.client.mapper import NoMatch
from setpoint.client.patches import merge
from setpoint.flow.summary.readiness_wait import NotReady, wait_ready
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with asyncio.timeout(30), ControlPlane() as plane, plane.client() as client:
        yield client


def claim(name: str) -> Object:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def settings(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def test_it_ends_when_all_are_ready(client: Client) -> None:
    made = await client.create(claim("data"))
    waiting = asyncio.ensure_future(wait_ready(client, [made, settings("later")], timeout=20))
    await client.patch_status(made, merge({"status": {"phase": "Bound"}}))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await client.create(settings("later"))
    await waiting


@pytest.mark.feature("E71")
async def test_who_is_not_ready_in_time_is_named_with_the_reason(client: Client) -> None:
    await client.create(settings("here"))
    made = await client.create(claim("data"))
    with pytest.raises(NotReady) as error:
        await wait_ready(client, [made, settings("here"), settings("nowhere")], timeout=0.3)
    assert str(error.value) == (
        "not ready within 0.3 s: PersistentVolumeClaim default/data: pending [progressing] the claim is not bound "
        "to a volume; ConfigMap default/nowhere: not found"
    )


async def test_waiting_for_nothing_is_over_at_once(client: Client) -> None:
    await wait_ready(client, [], timeout=1)


async def test_a_kind_that_the_server_does_not_have_is_said_at_once(client: Client) -> None:
    website = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "a", "namespace": "default"}}
    with pytest.raises(NoMatch, match="Website"):
        await wait_ready(client, [website, settings("nowhere")], timeout=20)
