"""The condition Available of an APIService with a Service: reasons and messages, and repeated checks."""

import asyncio
import json
from base64 import b64encode
from datetime import UTC, datetime

from tests.server.aggregation.extended_plane import extended
from tests.server.aggregation.extension import (
    API_SERVICE,
    API_SERVICES,
    NOTES,
    ROOT,
    ExtensionServer,
    api_service,
    ask,
    condition,
    front_proxy_authority,
    has_reason,
    until,
)
from tests.server.outbound.peer import authority

from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.aggregation.aggregation import CHECK_SECONDS
from setpoint.server.server_options import Serving

SERVICES = "/api/v1/namespaces/extensions/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/extensions/endpointslices"


def endpoint_slice(name: str, port: str, *, ready: bool | None) -> Object:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "notes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
        "ports": [{"name": port, "port": 8443}],
    }


async def test_the_reasons_for_a_service_without_an_address() -> None:
    async with ControlPlane(system=False) as plane:
        await ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": "extensions"}})
        await ask(plane, "POST", API_SERVICES, api_service())
        found = await until(has_reason("ServiceNotFound"), plane)
        assert found["status"] == "False"
        assert found["message"] == 'service/notes in "extensions" is not present'
        assert await ask(plane, "GET", NOTES) == (503, "service unavailable\n")
        service: Object = {"metadata": {"name": "notes"}, "spec": {"ports": [{"name": "web", "port": 80}]}}
        _, service = await ask(plane, "POST", SERVICES, service)
        found = await until(has_reason("ServicePortError"), plane)
        assert found["message"] == 'service/notes in "extensions" is not listening on port 443'
        service["spec"]["ports"].append({"name": "api", "port": 443})
        assert (await ask(plane, "PUT", f"{SERVICES}/notes", service))[0] == 200
        found = await until(has_reason("EndpointsNotFound"), plane)
        assert found["message"] == 'cannot find endpointslices for service/notes in "extensions"'
        for name, port, ready in (("a", "web", True), ("b", "api", False)):
            assert (await ask(plane, "POST", SLICES, endpoint_slice(name, port, ready=ready)))[0] == 201
        found = await until(has_reason("MissingEndpoints"), plane)
        text = 'endpointslices for service/notes in "extensions" have no addresses with port name "api"'
        assert found["message"] == text
        assert (await ask(plane, "POST", SLICES, endpoint_slice("c", "api", ready=None)))[0] == 201
        found = await until(has_reason("FailedDiscoveryCheck"), plane)
        # The server does not connect to the addresses of pods.
        assert found["message"] == 'service "notes" not found'
        await ask(plane, "DELETE", f"{SERVICES}/notes")
        await until(has_reason("ServiceNotFound"), plane)


async def test_the_addresses_of_simulated_pods_are_explained() -> None:
    async with ControlPlane(nodes="simulated") as plane:
        await plane.system_started()
        await ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": "extensions"}})
        spec = {"type": "ExternalName", "externalName": "notes.example.com"}
        await ask(plane, "POST", SERVICES, {"metadata": {"name": "notes"}, "spec": spec})
        await ask(plane, "POST", API_SERVICES, api_service())
        found = await until(has_reason("FailedDiscoveryCheck"), plane)
        assert "Run the extension API server as a process" in found["message"]
        assert "--webhook-service extensions/notes=HOST:PORT" in found["message"]


async def test_the_failures_of_the_discovery_check() -> None:
    async with extended() as (plane, extension):
        url = f"https://127.0.0.1:{extension.port}{ROOT}"
        found = await condition(plane)
        assert (found["status"], found["message"]) == ("True", "all checks passed")
        other = plane.webhook_services

        async def failed(tree: Object) -> str:
            tree["metadata"] = {"name": "v1.notes.example.dev"}
            assert (await ask(plane, "DELETE", API_SERVICE))[0] == 200
            assert (await ask(plane, "POST", API_SERVICES, tree))[0] == 201
            return str((await until(has_reason("FailedDiscoveryCheck"), plane))["message"])

        extension.status = 503
        bad = f"failing or missing response from {url}: bad status from {url}: 503"
        assert await failed(api_service()) == bad
        extension.status = 200
        other.put("extensions", "notes", "127.0.0.1", 1)
        refused = "dial tcp 127.0.0.1:1: connect: connection refused"
        closed = f"https://127.0.0.1:1{ROOT}"
        assert await failed(api_service()) == f'failing or missing response from {closed}: Get "{closed}": {refused}'
        other.put("extensions", "notes", "127.0.0.1", extension.port)
        assert "x509: certificate signed by unknown authority" in await failed(api_service(caBundle=_other_bundle()))
        assert "unable to parse bytes as PEM block" in await failed(api_service(caBundle="bm90aGluZw=="))
        insecure = api_service(insecureSkipTLSVerify=True)
        del insecure["spec"]["caBundle"]
        await ask(plane, "DELETE", API_SERVICE)
        assert (await ask(plane, "POST", API_SERVICES, insecure))[0] == 201
        await until(has_reason("Passed"), plane)
        assert (await ask(plane, "GET", NOTES))[0] == 200


def _other_bundle() -> str:
    return b64encode(authority(old=True).pair.certificate).decode()


async def test_a_server_is_checked_again_by_the_clock() -> None:
    clock = ManualClock(datetime.now(UTC))
    async with ControlPlane(system=False, clock=clock) as plane:
        await plane.listen()
        async with ExtensionServer(await front_proxy_authority(plane)) as extension:
            plane.webhook_services.put("extensions", "notes", "127.0.0.1", extension.port)
            await ask(plane, "POST", API_SERVICES, api_service())
            first = await until(has_reason("Passed"), plane)
            _, before = await ask(plane, "GET", API_SERVICE)
            asked = len(extension.received)

            async def checked() -> None:
                known = len([each for each in extension.received if each.path == ROOT])
                while len([each for each in extension.received if each.path == ROOT]) == known:
                    clock.advance(CHECK_SECONDS / 10)
                    await asyncio.sleep(0.005)

            await checked()
            assert len(extension.received) > asked
            # An unchanged condition is not written.
            assert (await ask(plane, "GET", API_SERVICE))[1] == before
            extension.status = 500
            await checked()
            found = await until(has_reason("FailedDiscoveryCheck"), plane)
            assert found["lastTransitionTime"] > first["lastTransitionTime"]
            extension.status = 200
            await checked()
            await until(has_reason("Passed"), plane)


async def test_only_the_server_itself_reads_as_the_aggregator() -> None:
    async with extended() as (_, extension):
        checks = [each for each in extension.received if each.path in (ROOT, "/apis", "/openapi/v3")]
        assert {each.user for each in checks} == {"system:kube-aggregator"}
        assert all(each.headers["x-remote-group"] == ["system:masters"] for each in checks)


async def test_the_condition_is_written_as_a_status_of_the_server() -> None:
    async with extended() as (plane, _):
        _, tree = await ask(plane, "GET", API_SERVICE)
        entries = [each for each in tree["metadata"]["managedFields"] if each.get("subresource") == "status"]
        assert [(each["manager"], list(each["fieldsV1"])) for each in entries] == [("kube-apiserver", ["f:status"])]
        assert "generation" not in tree["metadata"] or tree["metadata"]["generation"] == 1
        assert json.dumps(tree["status"]).count("Available") == 1


async def test_a_user_cannot_write_the_condition_without_the_right() -> None:
    async with extended() as (plane, _):
        _, tree = await ask(plane, "GET", API_SERVICE)
        status, _ = await ask(plane, "PUT", f"{API_SERVICE}/status", tree, impersonate_user="jane")
        assert status == 403


async def test_a_server_that_makes_no_calls_has_no_remote_versions() -> None:
    async with ControlPlane(system=False, serving=Serving(offline="a recorded cluster")) as plane:
        tree = api_service(group="metrics.k8s.io", version="v1beta1")
        tree["metadata"]["name"] = "v1beta1.metrics.k8s.io"
        for each in (tree, api_service()):
            _, made = await ask(plane, "POST", API_SERVICES, each)
            available = {"type": "Available", "status": "True", "reason": "Passed"}
            made["status"] = {"conditions": [available]}
            path = f"{API_SERVICES}/{made['metadata']['name']}"
            status, written = await ask(plane, "PUT", f"{path}/status", made)
            assert status == 200
            await asyncio.sleep(0.05)
            assert (await ask(plane, "GET", path))[1] == written
        assert (await ask(plane, "GET", NOTES))[0] == 404
        assert (await ask(plane, "GET", "/apis/metrics.k8s.io/v1beta1/nodes"))[0] == 200
