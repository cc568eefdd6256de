"""The client's verbs, each over both transports: in process, and over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from setpoint.client import patches
from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.kinds import kind_of, metadata_only
from setpoint.client.mapper import NoMatch
from setpoint.client.options import Impersonation
from setpoint.client.write_verbs import without_system_fields
from setpoint.objects.errors import (
    AlreadyExists,
    ApplyConflict,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, ObjectMeta, Resource


class WidgetSpec(Model):
    """What a widget should be."""

    size: int = 1
    color: str = "red"


class WidgetStatus(Model):
    """What a widget is."""

    ready: bool = False


class Widget(Resource, group="example.com", version="v1"):
    """A widget."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


@asynccontextmanager
async def local() -> AsyncIterator[Client]:
    async with ControlPlane() as plane, plane.client() as client:
        yield client


@asynccontextmanager
async def over_http() -> AsyncIterator[Client]:
    async def token(refused: Mapping[str, str] | None) -> Mapping[str, str]:
        return {"authorization": "Bearer secret"}

    async with ControlPlane(token="secret") as plane:
        url = await plane.listen(tls=False)
        async with Client(HttpTransport(endpoint(url), credentials=token)) as client:
            yield client


@pytest.fixture(params=[local, over_http], ids=["in process", "over HTTP"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Provides a client of either sort."""
    async with request.param() as client:
        await client.create(Widget.crd())
        yield client


def config_map(name: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def widget(name: str, **spec: object) -> Widget:
    return Widget(metadata=ObjectMeta(name=name, namespace="default"), spec=WidgetSpec.from_json(dict(spec)))


@pytest.mark.feature("E42")
async def test_typed_objects_come_back_typed_and_trees_as_trees(client: Client) -> None:
    made = await client.create(widget("a", size=3))
    assert isinstance(made, Widget)
    assert made.metadata.uid
    found = await client.get(Widget, "a", "default")
    assert found.spec.size == 3
    tree = await client.get("example.com/v1/Widget", "a", "default")
    assert tree["spec"]["size"] == 3
    assert (await client.get(GroupVersionKind("example.com", "v1", "Widget"), "a", "default")) == tree


async def test_metadata_alone_can_be_asked_for(client: Client) -> None:
    await client.create(widget("a"))
    found = await client.get(metadata_only(Widget), "a", "default")
    assert found["kind"] == "PartialObjectMetadata"
    assert "spec" not in found
    listed = await client.list(metadata_only(Widget), "default")
    assert [item["metadata"]["name"] for item in listed.items] == ["a"]


async def test_what_the_server_refuses_is_raised_as_what_it_is(client: Client) -> None:
    with pytest.raises(NotFound, match='configmaps "nobody" not found'):
        await client.get("v1/ConfigMap", "nobody", "default")
    await client.create(config_map("a"))
    with pytest.raises(AlreadyExists):
        await client.create(config_map("a"))
    with pytest.raises(Invalid) as invalid:
        await client.create(config_map("Not A Name"))
    assert invalid.value.causes[0].field == "metadata.name"
    with pytest.raises(NoMatch, match="no kind Gadget"):
        await client.get("example.com/v1/Gadget", "a")


async def test_a_list_reads_every_page_unless_it_is_told_not_to(client: Client) -> None:
    for number in range(7):
        await client.create(config_map(f"m{number}", n=str(number)))
    everything = await client.list("v1/ConfigMap", "default", labels=None)
    assert len([item for item in everything.items if item["metadata"]["name"].startswith("m")]) == 7
    assert all(item["kind"] == "ConfigMap" for item in everything.items)
    page = await client.list("v1/ConfigMap", "default", limit=3)
    assert len(page.items) == 3
    assert page.continue_
    rest = await client.list("v1/ConfigMap", "default", limit=500, continue_=page.continue_)
    assert len(page.items) + len(rest.items) == len(everything.items)


async def test_selectors_are_texts_or_mappings(client: Client) -> None:
    for name in ("a", "b"):
        made = config_map(name)
        made["metadata"]["labels"] = {"app": name}
        await client.create(made)
    for labels in ("app=a", {"app": "a"}):
        found = await client.list("v1/ConfigMap", "default", labels=labels)
        assert [item["metadata"]["name"] for item in found.items] == ["a"]
    found = await client.list("v1/ConfigMap", "default", fields={"metadata.name": "b"})
    assert [item["metadata"]["name"] for item in found.items] == ["b"]


async def test_a_watch_tells_what_happens(client: Client) -> None:
    async with client.watch(Widget, "default", bookmarks=False) as events:
        await client.create(widget("a"))
        event = await anext(events)
        assert (event.type, event.object.metadata.name) == ("ADDED", "a")
        await client.patch(event.object, patches.merge({"spec": {"size": 9}}))
        event = await anext(events)
        assert (event.type, event.object.spec.size) == ("MODIFIED", 9)
        await client.delete(Widget, "a", "default")
        assert (await anext(events)).type == "DELETED"


async def test_a_watch_can_begin_with_what_is_there(client: Client) -> None:
    await client.create(widget("a"))
    async with client.watch(Widget, "default", initial_events=True) as events:
        assert (await anext(events)).object.metadata.name == "a"
        end = await anext(events)
        assert (end.type, end.ends_initial) == ("BOOKMARK", True)
        assert int(end.resource_version) > 0


async def test_an_update_of_an_old_version_is_a_conflict(client: Client) -> None:
    old = await client.create(widget("a", size=1))
    await client.update(Widget(metadata=old.metadata, spec=WidgetSpec(size=2)))
    with pytest.raises(Conflict):
        await client.update(Widget(metadata=old.metadata, spec=WidgetSpec(size=3)))


@pytest.mark.feature("E42")
async def test_the_status_is_written_through_its_own_endpoint(client: Client) -> None:
    made = await client.create(widget("a", size=1))
    made.status = WidgetStatus(ready=True)
    made.spec.size = 5
    found = await client.update(made, subresource="status")
    assert found.status is not None
    assert found.status.ready
    assert found.spec.size == 1


async def test_patches_of_every_sort_do_what_they_say(client: Client) -> None:
    before = await client.create(config_map("a", x="1"))
    after = {**before, "data": {"x": "2", "y": "3"}}
    found = await client.patch(before, patches.merge_patch(before, after))
    assert found["data"] == {"x": "2", "y": "3"}
    found = await client.patch(
        "v1/ConfigMap", patches.json_patch([{"op": "remove", "path": "/data/x"}]), "a", "default"
    )
    assert found["data"] == {"y": "3"}
    found = await client.patch(found, patches.strategic({"data": {"y": None, "z": "4"}}))
    assert found["data"] == {"z": "4"}
    with pytest.raises(Conflict):
        await client.patch(before, patches.merge_patch(before, after, optimistic_lock=True))


async def test_an_apply_owns_what_it_says_and_refuses_to_take_what_others_own(client: Client) -> None:
    await client.apply(config_map("a", x="1"), field_manager="ada")
    with pytest.raises(ApplyConflict):
        await client.apply(config_map("a", x="2"), field_manager="grace")
    found = await client.apply(config_map("a", x="2"), field_manager="grace", force=True)
    assert found["data"] == {"x": "2"}
    with pytest.raises(ValueError, match="needs a field manager"):
        await client.apply(config_map("a"))
    with pytest.raises(ValueError, match="the object was read from a server"):
        await client.with_options(field_manager="grace").apply(found)
    own = without_system_fields(found)
    assert (await client.with_options(field_manager="grace").apply(own))["data"] == {"x": "2"}


async def test_a_dry_run_changes_nothing(client: Client) -> None:
    dry = client.with_options(dry_run=True)
    made = await dry.create(config_map("a"))
    assert made["metadata"]["uid"]
    with pytest.raises(NotFound):
        await client.get("v1/ConfigMap", "a", "default")
    await client.create(config_map("a"))
    await dry.delete("v1/ConfigMap", "a", "default")
    await client.get("v1/ConfigMap", "a", "default")


async def test_a_delete_may_name_the_object_that_it_means(client: Client) -> None:
    made = await client.create(config_map("a"))
    with pytest.raises(Conflict):
        await client.delete(made, uid="another")
    assert (await client.delete(made, uid=made["metadata"]["uid"]))["kind"] == "Status"
    for name in ("b", "c"):
        await client.create(config_map(name))
    await client.delete_all("v1/ConfigMap", "default", fields={"metadata.name": "b"})
    names = [item["metadata"]["name"] for item in (await client.list("v1/ConfigMap", "default")).items]
    assert "c" in names
    assert "b" not in names


async def test_the_default_namespace_of_a_client_is_for_kinds_that_live_in_one(client: Client) -> None:
    inside = client.with_options(namespace="default")
    await inside.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert (await inside.get("v1/ConfigMap", "a"))["metadata"]["namespace"] == "default"
    assert (await inside.get("v1/Namespace", "default"))["kind"] == "Namespace"


@pytest.mark.feature("E43")
async def test_who_asks_as_somebody_else_may_only_do_what_they_may(client: Client) -> None:
    jane = client.with_options(impersonate=Impersonation("jane", ["readers", "writers"]))
    with pytest.raises(Forbidden, match='User "jane" cannot list'):
        await jane.list("v1/Secret", "default")
    review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    groups = (await jane.create(review))["status"]["userInfo"]["groups"]
    assert groups[:2] == ["readers", "writers"]


async def test_warnings_are_handed_on(client: Client) -> None:
    heard: list[str] = []
    client.on_warning = heard.append
    await client.create({**config_map("a"), "unheard": 1})
    assert heard == ['unknown field "unheard"']


@pytest.mark.feature("E44")
async def test_a_kind_that_comes_later_is_found_and_one_that_went_is_not(client: Client) -> None:
    class Late(Resource, group="late.example.com", version="v1"):
        """Comes later."""

        spec: WidgetSpec

    with pytest.raises(NoMatch):
        await client.list(Late)
    await client.create(Late.crd())
    assert (await client.list(Late)).items == []
    await client.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "lates.late.example.com")
    with pytest.raises(NoMatch):
        await client.list(Late)


@pytest.mark.parametrize("text", ["ConfigMap", "v1/", "/ConfigMap", "a/b/c/D"])
def test_a_text_that_names_no_kind_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid kind|unexpected GroupVersion"):
        kind_of(text)
