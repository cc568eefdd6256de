"""Commands in containers, and tunnels to this machine, on a scripted engine."""

import asyncio
from pathlib import Path

from tests.workload.app import GROUP, condition_of
from tests.workload.controllers.ship import asked, made, only, running, scripted, ship, until
from tests.workload.engine.scripted.engine import Ran
from tests.workload.engine.scripted.state import ScriptedContainer
from tests.workload.proxy.servers import udp_client, udp_server

LS = {"containerName": "web", "command": "ls"}


async def test_a_command_waits_for_its_container_and_runs_once(tmp_path: Path) -> None:
    engine = scripted()
    heard = []

    def ran(container: ScriptedContainer, command: list[str]) -> Ran:
        heard.append(command)
        return Ran(2, b"out\n", b"err\n")

    engine.on_exec = ran
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerExec", "list", {**LS, "args": ["{{ .spec.image }}"]})
        found = await world.until(
            "ContainerExec", "list", lambda tree: condition_of(tree, "Started").get("reason") == "WaitingForContainer"
        )
        assert "it does not exist" in condition_of(found, "Started")["message"]
        await running(world)
        found = await world.state("ContainerExec", "list", "Finished")
        assert (found["status"]["exitCode"], found["status"]["effectiveArgs"]) == (2, ["shop:1"])
        assert condition_of(found, "Succeeded")["status"] == "False"
        assert "last output: err" in condition_of(found, "Succeeded")["message"]
        assert await world.log("list", "containerexecs", source="all") == "out\nerr\n"
        await world.patch("Container", "web", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        await world.until("Container", "web", lambda tree: tree["status"].get("restartCount") == 1)
        await world.ready("Container", "web")
        assert heard == [["ls", "shop:1"]]


async def test_a_command_in_a_container_that_has_ended_fails(tmp_path: Path) -> None:
    engine = scripted()
    engine.on_start = lambda container: engine.exit(container.id, 1)
    async with ship(tmp_path, engine) as world:
        await made(world)
        await world.state("Container", "web", "Exited")
        await world.make("ContainerExec", "late", LS)
        found = await world.state("ContainerExec", "late", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "ContainerNotRunning"


async def test_what_the_engine_refuses_or_loses_is_told(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await running(world)
        engine.fail("containers.exec", 409, "container is not running")
        await world.make("ContainerExec", "refused", LS)
        found = await world.state("ContainerExec", "refused", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "NotRunning"


async def test_a_command_may_go_before_it_has_begun_and_while_it_begins(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerExec", "early", LS)
        await world.delete("ContainerExec", "early")
        await running(world)
        engine.delay("exec.start", 600.0)
        await world.make("ContainerExec", "slow", LS)
        await until(lambda: asked(engine, "exec.start"))
        await world.delete("ContainerExec", "slow")
        assert only(engine).is_running
        await world.make("ContainerExec", "slow", LS)
        await world.state("ContainerExec", "slow", "Finished")


async def test_a_tunnel_says_what_it_waits_for_and_what_is_wrong(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        tunnels = [
            {"name": "good", "serverServiceName": "api", "clientServiceName": "inside"},
            {"name": "bad", "serverServiceName": "api", "clientServiceName": "api"},
        ]
        spec = {"containerNetworkName": "net", "tunnels": tunnels, "aliases": ["machine"]}
        await world.make("ContainerNetworkTunnelProxy", "t", spec)
        await world.ready("ContainerNetworkTunnelProxy", "t", "False", "WaitingForNetwork")
        await world.make("Service", "inside", {"addressAllocationMode": "Proxyless"})
        await world.make("Service", "api", {})
        await world.make("ContainerNetwork", "net", {})
        found = await world.ready("ContainerNetworkTunnelProxy", "t", "False", "SomeFailed")
        found = await world.until(
            "ContainerNetworkTunnelProxy",
            "t",
            lambda tree: [each["state"] for each in tree["status"]["tunnelStatuses"]] == ["Ready", "Failed"],
        )
        good, bad = found["status"]["tunnelStatuses"]
        api = (await world.get("Service", "api"))["status"]
        assert (good["clientProxyAddresses"], good["clientProxyPort"]) == (["10.90.0.1"], api["effectivePort"])
        assert "must have addressAllocationMode Proxyless" in bad["errorMessage"]
        inside = (await world.state("Service", "inside", "Ready"))["status"]
        assert (inside["effectiveAddress"], inside["effectivePort"]) == ("10.90.0.1", good["clientProxyPort"])
        await running(world, networks=[{"name": "net"}])
        assert only(engine).body["HostConfig"]["ExtraHosts"] == ["machine:10.90.0.1"]
        await world.patch("ContainerNetworkTunnelProxy", "t", spec={"tunnels": tunnels[:1]})
        await world.ready("ContainerNetworkTunnelProxy", "t")
        await world.delete("ContainerNetworkTunnelProxy", "t")
        assert not (await world.client.list(f"{GROUP}/Endpoint")).items


async def test_datagrams_pass_through_a_tunnel_to_a_service_that_has_them(tmp_path: Path) -> None:
    async with ship(tmp_path, scripted()) as world, udp_server("api") as api:
        await world.make("Service", "inside", {"addressAllocationMode": "Proxyless", "protocol": "UDP"})
        tunnel = {"name": "t", "serverServiceName": "api", "clientServiceName": "inside"}
        # Nobody has this gateway but us.
        await world.make("ContainerNetwork", "net", {"subnet": "127.90.7.0/24"})
        await world.make("ContainerNetworkTunnelProxy", "t", {"containerNetworkName": "net", "tunnels": [tunnel]})
        found = await world.ready("ContainerNetworkTunnelProxy", "t")
        assert found["status"]["tunnelStatuses"][0]["errorMessage"] == "the address of Service api is not known yet"
        await world.make("Service", "api", {"protocol": "UDP"})
        await world.make("Endpoint", "api", {"serviceName": "api", "address": api.address, "port": api.port})
        inside = (await world.state("Service", "inside", "Ready"))["status"]
        with udp_client() as client:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(10):
                await loop.sock_sendto(client, b"hello", (inside["effectiveAddress"], inside["effectivePort"]))
                assert await loop.sock_recv(client, 100) == b"api:hello"
        await world.make("Service", "stream", {})
        other = {"name": "other", "serverServiceName": "stream", "clientServiceName": "inside"}
        await world.patch("ContainerNetworkTunnelProxy", "t", spec={"tunnels": [tunnel, other]})
        found = await world.ready("ContainerNetworkTunnelProxy", "t", "False", "SomeFailed")
        assert "Service stream is TCP and Service inside UDP" in found["status"]["message"]
