"""Where the API server is, as the cluster tells it: for `kubectl get endpoints kubernetes`, and discovery inside."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.bootstrap.kubernetes_service import address_of
from setpoint.store.memory import MemoryStore

ENDPOINTS, SLICE = "v1/Endpoints", "discovery.k8s.io/v1/EndpointSlice"


async def told(plane: ControlPlane, kind: str) -> Object:
    async with plane.client() as client:
        return await client.get(kind, "kubernetes", "default")


async def addresses(plane: ControlPlane) -> tuple[list[str], list[str]]:
    """What both objects say, which should be the same."""
    [subset] = (await told(plane, ENDPOINTS))["subsets"]
    found = (await told(plane, SLICE))["endpoints"]
    return [each["ip"] for each in subset["addresses"]], [each for one in found for each in one["addresses"]]


async def test_endpoints_and_endpoint_slice_say_where_the_server_listens() -> None:
    async with ControlPlane(system=False) as plane:
        port = urlsplit(await plane.listen("127.0.0.1")).port
        endpoints, endpoint_slice = await told(plane, ENDPOINTS), await told(plane, SLICE)
        ports = [{"name": "https", "port": port, "protocol": "TCP"}]
        assert endpoints["subsets"] == [{"addresses": [{"ip": "127.0.0.1"}], "ports": ports}]
        assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
        assert endpoint_slice["ports"] == ports
        assert endpoint_slice["addressType"] == "IPv4"
        assert endpoint_slice["endpoints"] == [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}]
        assert endpoint_slice["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
        [published] = (await told(plane, "v1/Service"))["spec"]["ports"]
        assert (published["port"], published["targetPort"]) == (443, port)


async def test_a_server_that_does_not_listen_is_told_of_nowhere() -> None:
    async with ControlPlane(system=False) as plane:
        for kind in (ENDPOINTS, SLICE):
            with pytest.raises(NotFound):
                await told(plane, kind)


async def test_a_restart_at_another_port_puts_right_what_a_crash_has_left(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'state.db'}"
    async with ControlPlane(store, system=False) as plane:
        await plane.listen()
        # As a crash would: what says so is there still, and names a port that nobody listens at.
        async with plane.client() as client:
            left = await told(plane, ENDPOINTS)
            left["subsets"] = [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "https", "port": 1}]}]
            await client.update(left)
    async with ControlPlane(store, system=False) as plane:
        port = urlsplit(await plane.listen()).port
        found = await told(plane, ENDPOINTS)
        assert found["metadata"]["uid"] == left["metadata"]["uid"]
        assert [subset["ports"][0]["port"] for subset in found["subsets"]] == [port]
        assert await addresses(plane) == (["127.0.0.1"], ["127.0.0.1"])


async def test_a_server_that_ends_is_told_of_no_more() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as plane:
        await plane.listen()
    async with ControlPlane(store, system=False) as plane:
        for kind in (ENDPOINTS, SLICE):
            with pytest.raises(NotFound):
                await told(plane, kind)
    await store.close()


async def test_servers_over_one_store_stand_side_by_side_and_each_takes_only_itself_away() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as first:
        port = urlsplit(await first.listen("127.0.0.1")).port or 0
        async with ControlPlane(store, system=False) as second:
            await second.listen("127.0.0.2", port)
            assert await addresses(first) == (["127.0.0.1", "127.0.0.2"], ["127.0.0.1", "127.0.0.2"])
            assert (await told(first, SLICE))["metadata"]["generation"] == 2
        assert await addresses(first) == (["127.0.0.1"], ["127.0.0.1"])
    await store.close()


def test_who_listens_everywhere_is_found_at_an_address_and_never_at_all_of_them() -> None:
    assert address_of("0.0.0.0") not in ("0.0.0.0", "")
    assert address_of("::") not in ("::", "")
    assert address_of("192.0.2.7") == "192.0.2.7"
