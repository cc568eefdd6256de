"""The page about the fields that are sent: every row of its table, against a server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.patches import merge, merge_patch
from setpoint.objects.errors import Conflict
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "what-is-sent.md"
OFFICE = "example.com/v1/Office"
START: Object = {"desks": 5, "on": True, "tags": ["x"], "labels": {"a": "1", "b": "2"}}


class OfficeSpec(sp.Model):
    """An office with defaults that the server does not know."""

    desks: int = 0
    on: bool = False
    tags: list[str] | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Office(sp.Resource, group="example.com", version="v1"):
    """A kind of this test."""

    spec: OfficeSpec


def office(**spec: Any) -> Office:
    return Office(metadata=sp.ObjectMeta(name="a", namespace="default"), spec=OfficeSpec(**spec))


async def spec_of(client: Client) -> Object:
    found: Object = (await client.get(OFFICE, "a", "default"))["spec"]
    return found


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    definition = Office.crd()
    for version in definition["spec"]["versions"]:
        for schema in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].values():
            schema.pop("default", None)
    async with ControlPlane() as plane, plane.client() as client:
        await client.create(definition)
        await client.wait_for(
            "apiextensions.k8s.io/v1/CustomResourceDefinition", "offices.example.com", "", "condition=Established"
        )
        client = client.with_options(field_manager="me")
        await client.apply(office(**START))
        assert await spec_of(client) == START
        yield client


def applied(**spec: Any) -> Callable[[Client], Awaitable[None]]:
    async def change(client: Client) -> None:
        await client.apply(office(**spec))

    return change


def merged(spec: Object) -> Callable[[Client], Awaitable[None]]:
    async def change(client: Client) -> None:
        await client.patch(OFFICE, merge({"spec": spec}), "a", "default")

    return change


async def other_manager(client: Client) -> None:
    await client.with_options(field_manager="other").apply(
        {"apiVersion": "example.com/v1", "kind": "Office", "metadata": {"name": "a", "namespace": "default"}}
        | {"spec": {"labels": {"c": "3"}}}
    )
    await client.apply(office(**START))


async def stale(client: Client) -> None:
    made = office(desks=1)
    made.metadata.resource_version = "1"
    with pytest.raises(Conflict):
        await client.apply(made)


async def read_object(client: Client) -> None:
    with pytest.raises(ValueError, match="`edit`"):
        await client.apply(await client.get(Office, "a", "default"))


async def difference(client: Client) -> None:
    before = await client.get(Office, "a", "default")
    after = before.edit()
    after.spec.desks = 6
    patch = merge_patch(before, after)
    assert msgspec.json.decode(patch.body) == {"spec": {"desks": 6}}
    await client.patch(OFFICE, patch, "a", "default")


async def edited(client: Client) -> None:
    def change(found: Office) -> None:
        found.spec.desks = 0

    await client.edit(Office, "a", "default", change)


async def unedited(client: Client) -> None:
    before = await client.get(Office, "a", "default")
    after = await client.edit(Office, "a", "default", lambda found: None)
    assert after.metadata.resource_version == before.metadata.resource_version


async def created_or_updated(client: Client) -> None:
    def change(found: Office, is_new: bool) -> None:
        found.spec.desks = 0

    assert (await client.create_or_update(Office, "a", "default", change)).effect == "updated"
    assert (await client.create_or_update(Office, "b", "default", change)).effect == "created"
    assert (await client.get(OFFICE, "b", "default"))["spec"] == {"desks": 0}


def without(name: str) -> Object:
    return {key: value for key, value in START.items() if key != name}


ROWS: dict[str, tuple[Callable[[Client], Awaitable[None]], Object]] = {
    "`apply` with `desks=0`": (applied(**START | {"desks": 0}), START | {"desks": 0}),
    "`apply` with `on=False`": (applied(**START | {"on": False}), START | {"on": False}),
    "`apply` with `tags=[]`": (applied(**START | {"tags": []}), START | {"tags": []}),
    "`apply` without `tags`": (applied(**without("tags")), without("tags")),
    "`apply` with `tags=None`": (applied(**START | {"tags": None}), without("tags")),
    '`apply` with `labels={"a": "1"}`': (applied(**START | {"labels": {"a": "1"}}), START | {"labels": {"a": "1"}}),
    "`apply` without a field of another manager": (
        other_manager,
        START | {"labels": {"a": "1", "b": "2", "c": "3"}},
    ),
    "`apply` with a `resourceVersion`": (stale, START),
    "`apply` of an object that was read": (read_object, START),
    '`patch(merge({"spec": {"tags": None}}))`': (merged({"tags": None}), without("tags")),
    '`patch(merge({"spec": {"tags": []}}))`': (merged({"tags": []}), START | {"tags": []}),
    '`patch(merge({"spec": {"labels": {"b": None}}}))`': (
        merged({"labels": {"b": None}}),
        START | {"labels": {"a": "1"}},
    ),
    "`patch(merge_patch(before, after))`": (difference, START | {"desks": 6}),
    "`edit` that assigns `desks = 0`": (edited, START | {"desks": 0}),
    "`edit` that changes no field": (unedited, START),
    "`create_or_update` that assigns `desks = 0`": (created_or_updated, START | {"desks": 0}),
}


@pytest.mark.parametrize("row", ROWS)
async def test_a_row_of_the_page_is_true(client: Client, row: str) -> None:
    change, wanted = ROWS[row]
    await change(client)
    assert await spec_of(client) == wanted


def test_every_row_of_the_page_is_tested() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == list(ROWS)
