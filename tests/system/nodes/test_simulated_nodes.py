"""Simulated nodes: their objects, and the life of pods on them."""

from tests.system.workload_objects import deployment, pod, pods

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object

POD = "v1/Pod"


async def test_nodes_are_ready_and_renew_their_leases() -> None:
    async with testing.world(nodes="simulated:2") as world:
        await world.settle()
        found = (await world.client.list("v1/Node")).items
        assert [each["metadata"]["name"] for each in found] == ["node-0", "node-1"]
        for each in found:
            ready = [item for item in each["status"]["conditions"] if item["type"] == "Ready"]
            assert [item["status"] for item in ready] == ["True"]
            assert not each["spec"].get("taints")
        lease = await world.find("coordination.k8s.io/v1/Lease", "node-1", "kube-node-lease")
        await world.advance(25)
        later = await world.find("coordination.k8s.io/v1/Lease", "node-1", "kube-node-lease")
        assert later["spec"]["renewTime"] > lease["spec"]["renewTime"]


async def test_a_pod_becomes_ready_as_a_kubelet_reports_it() -> None:
    async with testing.world(nodes="simulated") as world:
        with_init = pod("web")
        init = [{"name": "init", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}]
        with_init["spec"] = {**with_init["spec"], "initContainers": init}
        await world.create(with_init)
        await world.settle()
        status: Object = (await world.find(POD, "web"))["status"]
        assert status["phase"] == "Running"
        assert status["podIP"].startswith("10.224.0.")
        assert {each["type"]: each["status"] for each in status["conditions"]} == dict.fromkeys(
            ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
        )
        [container] = status["containerStatuses"]
        assert (container["ready"], container["restartCount"], list(container["state"])) == (True, 0, ["running"])
        states = [list(each["state"]) for each in status["initContainerStatuses"]]
        assert states == [["terminated"], ["running"]]


async def test_addresses_are_distinct_and_used_again() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(pod("a"), pod("b"))
        await world.settle()
        first, second = [each["status"]["podIP"] for each in await pods(world)]
        assert first != second
        await world.client.delete(POD, "a", "default")
        await world.settle()
        await world.create(pod("c"))
        await world.settle()
        assert [each["status"]["podIP"] for each in await pods(world)] == [second, first]


async def test_a_deleted_pod_ends() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(pod("web"))
        await world.settle()
        await world.client.delete(POD, "web", "default")
        await world.settle()
        assert await world.find(POD, "web") is None


async def test_pods_are_spread_over_the_nodes() -> None:
    async with testing.world(nodes="simulated:3") as world:
        await world.create(deployment(replicas=6))
        await world.settle()
        names = sorted(each["spec"]["nodeName"] for each in await pods(world))
        assert names == ["node-0", "node-0", "node-1", "node-1", "node-2", "node-2"]


async def test_a_cordoned_node_gets_no_pods() -> None:
    async with testing.world(nodes="simulated:2") as world:
        await world.settle()
        await world.client.patch("v1/Node", merge({"spec": {"unschedulable": True}}), "node-0")
        await world.create(deployment(replicas=4))
        await world.settle()
        assert {each["spec"]["nodeName"] for each in await pods(world)} == {"node-1"}


async def test_a_rollout_and_an_end_leave_no_pods_behind() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(deployment())
        await world.settle()
        image = {"containers": [{"name": "web", "image": "example.com/web:2"}]}
        await world.client.patch("apps/v1/Deployment", merge({"spec": {"template": {"spec": image}}}), "web", "default")
        await world.settle()
        found = await pods(world)
        assert [each["spec"]["containers"][0]["image"] for each in found] == ["example.com/web:2"] * 3
        await world.client.delete("apps/v1/Deployment", "web", "default")
        await world.settle()
        assert (await world.client.list(POD, "default")).items == []
        assert (await world.client.list("apps/v1/ReplicaSet", "default")).items == []


async def test_the_same_seed_repeats_a_run() -> None:
    states = []
    for _ in range(2):
        async with testing.world(nodes="simulated:2", seed=7) as world:
            await world.create(deployment(replicas=5))
            await world.settle()
            states.append([(each["metadata"]["name"], each["spec"]["nodeName"]) for each in await pods(world)])
    assert states[0] == states[1]
