"""The objects that every cluster has from the start, and the IPAddresses that follow its Services."""

import asyncio
import json
import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.plane.test_plane import ask

from setpoint.config.settings import Config
from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.objects.errors import Forbidden
from setpoint.objects.pem import certificates_in
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.edge.certificates import Authority, CertificateError
from setpoint.server.edge.tls import Certificates
from setpoint.store.memory import MemoryStore

ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
SERVICES = "/api/v1/namespaces/default/services"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"


async def addresses(plane: ControlPlane) -> dict[str, str]:
    """Returns the names of the Services by their addresses."""
    _, found = await ask(plane, "GET", ADDRESSES)
    return {item["metadata"]["name"]: item["spec"]["parentRef"]["name"] for item in found["items"]}


def service(name: str, **spec: object) -> bytes:
    tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}}
    return json.dumps({**tree, "spec": {"ports": [{"port": 80}], **spec}}).encode()


async def test_a_new_cluster_has_a_range_of_service_addresses_that_is_ready() -> None:
    async with ControlPlane(config=Config(service_cidr="10.7.0.0/24"), system=False) as plane:
        status, found = await ask(plane, "GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        assert status == 200
        assert found["spec"] == {"cidrs": ["10.7.0.0/24"]}
        assert [(each["type"], each["status"]) for each in found["status"]["conditions"]] == [("Ready", "True")]
        assert await addresses(plane) == {"10.7.0.1": "kubernetes"}


async def test_an_address_object_lives_as_long_as_the_address_of_its_service() -> None:
    async with ControlPlane(system=False) as plane:
        _, made = await ask(plane, "POST", SERVICES, service("web"))
        address = made["spec"]["clusterIP"]
        _, found = await ask(plane, "GET", f"{ADDRESSES}/{address}")
        assert found["spec"]["parentRef"] == {"resource": "services", "namespace": "default", "name": "web"}
        assert found["metadata"]["labels"] == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        # The Service and its address are one transaction.
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        made["spec"] = {"type": "ExternalName", "externalName": "web.example.com"}
        status, _ = await ask(plane, "PUT", f"{SERVICES}/web", json.dumps(made).encode())
        assert status == 200
        assert address not in await addresses(plane)
        await ask(plane, "POST", SERVICES, service("other"))
        assert "other" in (await addresses(plane)).values()
        await ask(plane, "DELETE", f"{SERVICES}/other")
        assert await addresses(plane) == {"10.0.0.1": "kubernetes"}


async def test_a_service_that_is_refused_or_only_tried_leaves_no_address() -> None:
    async with ControlPlane(system=False) as plane:
        before = await addresses(plane)
        assert (await ask(plane, "POST", SERVICES, service("kubernetes")))[0] == 409
        assert (await ask(plane, "POST", SERVICES, service("web", sessionAffinity="X")))[0] == 422
        assert (await ask(plane, "POST", SERVICES, service("none", clusterIP="None")))[0] == 201
        assert await addresses(plane) == before


async def test_an_address_that_a_user_reserved_is_not_given_to_a_service() -> None:
    async with ControlPlane(config=Config(service_cidr="10.0.0.0/30"), system=False) as plane:
        # The range has two addresses, and the first one is that of the API server.
        spec = {"parentRef": {"resource": "machines", "namespace": "default", "name": "m"}}
        reserved = {"metadata": {"name": "10.0.0.2"}, "spec": spec}
        assert (await ask(plane, "POST", ADDRESSES, json.dumps(reserved).encode()))[0] == 201
        status, refused = await ask(plane, "POST", SERVICES, service("web", clusterIP="10.0.0.2"))
        assert (status, "already allocated" in refused["message"]) == (422, True)
        status, refused = await ask(plane, "POST", SERVICES, service("web"))
        assert (status, "range is full" in refused["message"]) == (422, True)
        await ask(plane, "DELETE", f"{ADDRESSES}/10.0.0.2")
        assert (await ask(plane, "POST", SERVICES, service("web")))[0] == 201


async def test_services_of_an_older_store_get_their_addresses_at_the_next_start() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as plane:
        await ask(plane, "POST", SERVICES, service("web"))
        expected = await addresses(plane)
        await ask(plane, "DELETE", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        await ask(plane, "DELETE", ADDRESSES)
        assert await addresses(plane) == {}
    async with ControlPlane(store, system=False) as plane:
        assert await addresses(plane) == expected


async def test_the_tracking_of_legacy_tokens_has_a_start_day() -> None:
    async with ControlPlane(system=False) as plane:
        name = "kube-apiserver-legacy-service-account-token-tracking"
        assert (await ask(plane, "GET", f"{CONFIG_MAPS}/{name}"))[0] == 404
        await plane.listen(tls=False)
        _, found = await ask(plane, "GET", f"{CONFIG_MAPS}/{name}")
        assert found["data"]["since"] == found["metadata"]["creationTimestamp"][:10]


async def test_extension_servers_find_the_authority_of_client_certificates() -> None:
    store = MemoryStore()
    path = f"{CONFIG_MAPS}/extension-apiserver-authentication"
    expected = ""
    for _ in range(2):  # the second server has another authority, and keeps the first one
        async with ControlPlane(store, system=False) as plane:
            if not expected:
                assert (await ask(plane, "GET", path))[0] == 404
            await plane.listen()
            assert plane.authority is not None
            expected += plane.authority.decode()
            _, found = await ask(plane, "GET", path)
            assert found["data"]["client-ca-file"] == expected
            names = {key: value for key, value in found["data"].items() if not key.endswith("-ca-file")}
            assert names == {
                "requestheader-allowed-names": '["front-proxy-client"]',
                "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
                "requestheader-group-headers": '["X-Remote-Group"]',
                "requestheader-uid-headers": '["X-Remote-Uid"]',
                "requestheader-username-headers": '["X-Remote-User"]',
            }
            # Authorities of their own: the certificate of a user does not suffice to act as another user.
            assert not set(certificates_in(found["data"]["requestheader-client-ca-file"])) & set(
                certificates_in(expected)
            )


async def test_the_authority_of_forwarded_requests_is_kept_in_the_data_directory(tmp_path: Path) -> None:
    path = f"{CONFIG_MAPS}/extension-apiserver-authentication"
    published = []
    for _ in range(2):
        async with ControlPlane(system=False, data=tmp_path) as plane:
            await plane.listen()
            published.append((await ask(plane, "GET", path))[1]["data"]["requestheader-client-ca-file"])
    assert published[0] == published[1]
    file = tmp_path / "front-proxy.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("damaged")
    async with ControlPlane(system=False, data=tmp_path) as plane:
        with pytest.raises(CertificateError, match="move the file away"):
            await plane.listen()


async def test_a_user_without_the_role_cannot_read_the_authorities() -> None:
    async with ControlPlane(system=False) as plane:
        await plane.listen()
        client = plane.client(user="jane", groups=["system:authenticated"])
        with pytest.raises(Forbidden):
            await client.get("v1/ConfigMap", "extension-apiserver-authentication", "kube-system")


async def test_components_report_their_health() -> None:
    async def health(plane: ControlPlane) -> dict[str, str]:
        _, found = await ask(plane, "GET", "/api/v1/componentstatuses")
        assert found["metadata"] == {}
        return {item["metadata"]["name"]: item["conditions"][0]["status"] for item in found["items"]}

    async with ControlPlane() as plane:
        await plane.settle()
        assert await health(plane) == {"controller-manager": "True", "etcd-0": "True", "scheduler": "False"}
        _, one = await ask(plane, "GET", "/api/v1/componentstatuses/etcd-0")
        condition = {"type": "Healthy", "status": "True", "message": "ok"}
        assert (one["metadata"], one["conditions"]) == ({"name": "etcd-0"}, [condition])
        status, missing = await ask(plane, "GET", "/api/v1/componentstatuses/kubelet")
        assert (status, missing["message"]) == (404, 'componentstatus "kubelet" not found')
    async with ControlPlane(system=False) as plane:
        assert await health(plane) == {"controller-manager": "False", "etcd-0": "True", "scheduler": "False"}


async def test_components_of_other_processes_are_healthy_while_they_renew_their_leases() -> None:
    clock = ManualClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

    async def condition(plane: ControlPlane, name: str) -> tuple[str, str]:
        _, found = await ask(plane, "GET", f"/api/v1/componentstatuses/{name}")
        [only] = found["conditions"]
        return only["status"], only["message"]

    async with ControlPlane(system=False, clock=clock) as plane:
        for component, name in (("scheduler", "kube-scheduler"), ("controller-manager", "kube-controller-manager")):
            told = f"no {name} runs: there is no Lease kube-system/{name}"
            assert await condition(plane, component) == ("False", told)
            renewed = clock.now().strftime("%Y-%m-%dT%H:%M:%S.000000Z")
            spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": renewed}
            status, _ = await ask(
                plane, "POST", leases, json.dumps({"metadata": {"name": name}, "spec": spec}).encode()
            )
            assert status == 201
            assert await condition(plane, component) == ("True", "ok")
            clock.advance(16)
            told = f"one has not renewed the Lease kube-system/{name} since {renewed}"
            assert await condition(plane, component) == ("False", told)


async def test_the_published_root_certificate_verifies_a_server_with_a_certificate_of_its_users(tmp_path: Path) -> None:
    async def published(plane: ControlPlane) -> str:
        while True:
            await plane.settle()
            status, found = await ask(plane, "GET", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
            if status == 200:
                data: Object = found["data"]
                return str(data["ca.crt"])
            await asyncio.sleep(0)

    now = SystemClock().now()
    authority = Authority.create(now, "users-ca")
    pair = authority.issue_server(("127.0.0.1", "localhost"), now)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(pair.certificate + authority.pair.certificate)
    key.write_bytes(pair.key)
    async with ControlPlane() as plane:
        url = await plane.listen(tls=Certificates(certificate, key))
        root = await published(plane)
        assert "PRIVATE KEY" not in root
        context = ssl.create_default_context(cadata=root)
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), ssl=context)
        writer.close()
