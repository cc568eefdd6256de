"""Kinds are installed as their classes say, whatever the server has of them, and can be used at once."""

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from setpoint.client.client import Client
from setpoint.client.install import DEFINITION, InstallError
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ModelError, ObjectMeta, Resource, WebhookConversion
from setpoint.server.edge.certificates import Authority


class GearSpec(Model):
    """What a gear should be."""

    teeth: int = 12


class Gear(Resource, group="ex.com", version="v1"):
    """A gear."""

    spec: GearSpec


class GearV2(Gear, version="v2"):
    """A gear, again."""


class Axle(Resource, group="ex.com", version="v1"):
    """An axle."""


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ControlPlane() as plane, plane.client() as client:
        yield client


def _versions(definition: Object) -> list[tuple[str, bool]]:
    return [(version["name"], version["storage"]) for version in definition["spec"]["versions"]]


@pytest.mark.feature("E84")
async def test_what_is_installed_can_be_used_at_once(client: Client) -> None:
    found = await client.install(Gear, Axle)
    assert [definition["metadata"]["name"] for definition in found] == ["gears.ex.com", "axles.ex.com"]
    made = await client.create(Gear(metadata=ObjectMeta(name="g", namespace="default"), spec=GearSpec()))
    assert made.spec.teeth == 12


async def test_installing_again_changes_nothing(client: Client) -> None:
    (first,) = await client.install(Gear)
    (again,) = await client.install(Gear)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_new_version_comes_beside_the_old_one_and_objects_are_read_in_both(client: Client) -> None:
    await client.install(Gear)
    await client.create(Gear(metadata=ObjectMeta(name="g", namespace="default"), spec=GearSpec(teeth=3)))
    (both,) = await client.install(Gear, GearV2)
    assert _versions(both) == [("v2", True), ("v1", False)]
    assert (await client.get(GearV2, "g", "default")).spec.teeth == 3


async def test_a_version_that_nobody_names_any_more_stays(client: Client) -> None:
    await client.install(Gear)
    (found,) = await client.install(GearV2)
    assert _versions(found) == [("v2", True), ("v1", False)]


@pytest.mark.feature("E84")
async def test_a_changed_class_changes_the_definition_and_leaves_what_others_said(client: Client) -> None:
    class Wider(Resource, group="ex.com", version="v1", kind="Gear", labels={"ours": "1"}):
        spec: GearSpec
        width: int = 1

    await client.install(Gear)

    def mark(tree: Object) -> None:
        tree["metadata"]["labels"] = {"theirs": "1"}

    await client.edit(DEFINITION, "gears.ex.com", "", mark)
    (found,) = await client.install(Wider)
    assert found["metadata"]["labels"] == {"ours": "1", "theirs": "1"}
    assert "width" in found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


async def test_the_authority_that_somebody_gave_a_webhook_stays(client: Client) -> None:
    webhook = WebhookConversion(url="https://ex.com/convert")

    class Converted(Resource, group="ex.com", version="v1", kind="Gear", conversion=webhook):
        spec: GearSpec

    bundle = base64.b64encode(Authority.create(datetime.now(UTC)).pair.certificate).decode()
    await client.install(Converted)

    def trust(tree: Object) -> None:
        tree["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle

    await client.edit(DEFINITION, "gears.ex.com", "", trust)
    for kind in (Converted, Gear):
        (found,) = await client.install(kind, wait=False)
        assert found["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == bundle


async def test_what_is_being_deleted_is_waited_for(client: Client) -> None:
    (first,) = await client.install(Gear)

    def hold(tree: Object) -> None:
        tree["metadata"]["finalizers"] = ["ex.com/hold"]

    def let_go(tree: Object) -> None:
        tree["metadata"]["finalizers"] = []

    await client.edit(DEFINITION, "gears.ex.com", "", hold)
    await client.delete(DEFINITION, "gears.ex.com")
    installing = asyncio.create_task(client.install(Gear))
    await asyncio.sleep(0)
    assert not installing.done()
    await client.edit(DEFINITION, "gears.ex.com", "", let_go)
    (second,) = await installing
    assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_names_that_are_taken_are_told(client: Client) -> None:
    class Cog(Resource, group="ex.com", version="v1", kind="Cog", short_names=["ge"]):
        """A cog."""

    class Geese(Resource, group="ex.com", version="v1", kind="Goose", plural="geese", short_names=["ge"]):
        """A goose."""

    await client.install(Cog)
    with pytest.raises(InstallError, match=r"geese.ex.com is not served, its names are taken.*ge"):
        await client.install(Geese)


async def test_a_server_that_never_serves_the_kind_is_not_waited_for_forever(client: Client) -> None:
    async def never(definition: Any) -> Any:
        await client.clock.sleep(3600)

    client._established = never  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        await client.install(Gear, timeout=0.05)


async def test_a_definition_may_be_given_as_it_is_and_a_class_that_is_none_is_told(client: Client) -> None:
    class Base(Resource):
        """Not a kind yet."""

    (found,) = await client.install(Axle.crd())
    assert found["metadata"]["name"] == "axles.ex.com"
    with pytest.raises(ModelError, match="no kind yet"):
        await client.install(Base)
