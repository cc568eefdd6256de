"""Discovery: names of resources in both directions, what is left when one group fails, and schemas of OpenAPI."""

from collections.abc import AsyncIterator

import pytest

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.mapper import Mapper, NoMatch
from setpoint.client.openapi import OpenAPI
from setpoint.client.transport import Answer, Call, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.objects.errors import ServiceUnavailable
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, Resource


class LampSpec(Model):
    """The desired state of a lamp."""

    watts: int = 40


class Lamp(Resource, group="discovery.example.com", version="v1", short_names=["lmp"]):
    """A lamp."""

    spec: LampSpec


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        yield client


class Counted(Forwarding):
    """A transport that records the paths of requests."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.paths: list[str] = []

    async def send(self, call: Call) -> Answer:
        self.paths.append(call.path)
        return await self.transport.send(call)


class Failing:
    """A server without aggregated discovery, one version of which does not answer."""

    def __init__(self, client: Client, path: str = "") -> None:
        self._client, self._path = client, path
        self.asked: list[str] = []

    async def send(self, call: Call) -> Answer:
        self.asked.append(call.path)
        if self._path and call.path == self._path:
            raise ServiceUnavailable("the server is currently unable to handle the request")
        return await self._client.send(call._replace(headers={"accept": "application/json"}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("deployments", "apps/v1/Deployment"),
        ("deployment", "apps/v1/Deployment"),
        ("deploy", "apps/v1/Deployment"),
        ("Deployment", "apps/v1/Deployment"),
        ("deployments.apps", "apps/v1/Deployment"),
        ("deployments.v1.apps", "apps/v1/Deployment"),
        ("po", "v1/Pod"),
        ("events.events.k8s.io", "events.k8s.io/v1/Event"),
        ("events.v1", "v1/Event"),
        ("lmp", "discovery.example.com/v1/Lamp"),
        ("lamps.discovery", "discovery.example.com/v1/Lamp"),
    ],
)
async def test_the_name_of_a_resource_gives_its_kind(client: Client, name: str, kind: str) -> None:
    await client.install(Lamp)
    gvk = (await client.mapper.named(name)).gvk
    assert f"{gvk.api_version}/{gvk.kind}" == kind


async def test_an_unknown_name_is_looked_up_again_and_refused(client: Client) -> None:
    await client.mapper.discover()
    with pytest.raises(NoMatch, match="the server has no resource lamps: is its definition installed"):
        await client.mapper.named("lamps")
    await client.create(Lamp.crd())
    await client.wait_for(
        "apiextensions.k8s.io/v1/CustomResourceDefinition", "lamps.discovery.example.com", "", "condition=Established"
    )
    assert (await client.mapper.named("lamps")).gvk == Lamp.gvk()


async def test_resources_are_listed_in_the_preferred_version_and_by_scope(client: Client) -> None:
    found = await client.mapper.discover()
    assert found.failures == {}
    every = {(each.gvk.group, each.gvk.version, each.plural) for each in found.resources}
    assert {
        ("autoscaling", "v1", "horizontalpodautoscalers"),
        ("autoscaling", "v2", "horizontalpodautoscalers"),
    } <= every
    preferred = [each for each in found.preferred() if each.plural == "horizontalpodautoscalers"]
    assert [each.gvk.version for each in preferred] == ["v2"]
    namespaced = {each.plural for each in found.namespaced()}
    assert {"pods", "deployments"} <= namespaced
    assert not {"nodes", "namespaces"} & namespaced


async def test_one_version_that_fails_does_not_hide_the_others(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    mapper = Mapper(Failing(client, "/apis/batch/v1").send)
    found = await mapper.discover()
    assert list(found.failures) == [GroupVersion("batch", "v1")]
    whole = await Mapper(Failing(client).send).discover()

    def others(resources: list[APIResource]) -> set[tuple[str, str]]:
        return {(str(each.gvk), each.plural) for each in resources if each.gvk.group != "batch"}

    assert others(found.resources) == others(whole.resources)
    assert not any(each.gvk.group == "batch" for each in found.resources)
    assert len(await mapper.resources(refresh=False)) == len(found.resources)
    assert "the resources of batch/v1 are left out" in caplog.text
    # A kind of the version that fails is not taken for a missing one.
    with pytest.raises(ServiceUnavailable):
        await mapper.resource(GroupVersionKind("batch", "v1", "Job"))


async def test_a_stale_version_of_an_aggregated_document_is_a_failure(client: Client) -> None:
    stale = b'{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"far.example.com"},'
    stale += b'"versions":[{"version":"v1","freshness":"Stale"}]}]}'

    async def send(call: Call) -> Answer:
        if call.path == "/apis":
            return Answer(200, {"content-type": "application/json;as=APIGroupDiscoveryList"}, stale)
        if call.path == "/apis/far.example.com/v1":
            raise ServiceUnavailable("the server is currently unable to handle the request")
        return await client.send(call)

    found = await Mapper(send).discover()
    assert list(found.failures) == [GroupVersion("far.example.com", "v1")]
    assert any(each.plural == "pods" for each in found.resources)


async def test_schemas_are_read_once_for_each_hash(client: Client) -> None:
    await client.install(Lamp)
    counted = Counted(client.transport)
    schemas = OpenAPI(Client(counted))
    schema = await schemas.schema(Lamp)
    assert schema["properties"]["spec"]["properties"]["watts"]["type"] == "integer"
    await schemas.schema(Lamp)
    assert counted.paths == ["/openapi/v3", "/openapi/v3/apis/discovery.example.com/v1", "/openapi/v3"]
    with pytest.raises(NoMatch, match=r"no OpenAPI document of missing\.example\.com/v1"):
        await schemas.schema("missing.example.com/v1/Lamp")
    with pytest.raises(NoMatch, match="has no kind Chair"):
        await schemas.schema("discovery.example.com/v1/Chair")


async def test_references_are_replaced_and_recursive_ones_stay(client: Client) -> None:
    schemas = OpenAPI(client)
    deployment = await schemas.schema("apps/v1/Deployment")
    containers = deployment["properties"]["spec"]["properties"]["template"]["properties"]["spec"]["properties"][
        "containers"
    ]
    assert containers["items"]["properties"]["image"]["type"] == "string"
    definition = await schemas.schema("apiextensions.k8s.io/v1/CustomResourceDefinition")
    versions = definition["properties"]["spec"]["properties"]["versions"]["items"]["properties"]
    properties = versions["schema"]["properties"]["openAPIV3Schema"]["properties"]
    assert properties["properties"]["additionalProperties"] != {}
    assert "JSONSchemaProps" in str(properties["properties"]["additionalProperties"])
