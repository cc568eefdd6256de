"""The phases of pods on simulated nodes, with scripted containers, in virtual time."""

from typing import Any

import pytest
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.patches import strategic
from setpoint.objects.tree import Object
from setpoint.system.nodes.pod_memory import PodMemory
from setpoint.testing import Behaviour, ContainerRun, simulated

POD = "v1/Pod"
READINESS = {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5}}


def with_spec(name: str = "web", **spec: Any) -> Object:
    found = pod(name)
    return {**found, "spec": {**found["spec"], **spec}}


def nodes(*behaviours: Behaviour, selector: str = "app=web", container: str = "web") -> Any:
    """Simulated nodes: the runs of a container have these behaviours, later runs the last one."""

    def script(run: ContainerRun) -> Behaviour | None:
        return behaviours[min(run.restarts, len(behaviours) - 1)] if run.container == container else None

    return simulated(scripts={selector: script})


async def status_of(world: testing.World, name: str = "web") -> Object:
    found: Object = (await world.find(POD, name))["status"]
    return found


async def container_of(world: testing.World) -> Object:
    [found] = (await status_of(world))["containerStatuses"]
    return dict(found)


def condition(status: Object, kind: str) -> tuple[str, str, str]:
    [found] = [each for each in status["conditions"] if each["type"] == kind]
    return found["status"], found.get("reason", ""), found.get("message", "")


async def test_init_containers_run_in_order_before_the_others() -> None:
    init = [{"name": name, "image": "i"} for name in ("first", "second")]
    async with testing.world(nodes=nodes(Behaviour(exit_code=0, after=5), container="first")) as world:
        await world.create(with_spec(initContainers=init))
        await world.settle()
        status = await status_of(world)
        assert status["phase"] == "Pending"
        assert [list(each["state"]) for each in status["initContainerStatuses"]] == [["running"], ["waiting"]]
        assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
        text = "containers with incomplete status: [first second]"
        assert condition(status, "Initialized") == ("False", "ContainersNotInitialized", text)
        text = "containers with unready status: [web]"
        assert condition(status, "Ready") == ("False", "ContainersNotReady", text)
        await world.advance(5)
        status = await status_of(world)
        assert status["phase"] == "Running"
        assert [each["state"]["terminated"]["exitCode"] for each in status["initContainerStatuses"]] == [0, 0]
        assert all(condition(status, kind) == ("True", "", "") for kind in ("Initialized", "Ready", "ContainersReady"))


async def test_a_failing_init_container_fails_a_pod_that_is_never_restarted() -> None:
    init = [{"name": "first", "image": "i"}]
    async with testing.world(nodes=nodes(Behaviour(exit_code=3), container="first")) as world:
        await world.create(with_spec(initContainers=init, restartPolicy="Never"))
        await world.settle()
        status = await status_of(world)
        assert (status["phase"], condition(status, "Ready")[:2]) == ("Failed", ("False", "PodFailed"))
        assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


async def test_a_sidecar_starts_before_and_ends_after_the_containers() -> None:
    init = [{"name": "side", "image": "s", "restartPolicy": "Always"}]
    script = {
        "app=web": lambda run: (
            Behaviour(exit_code=0, after=8) if run.container == "web" else Behaviour(started_after=4, ready_after=4)
        )
    }
    async with testing.world(nodes=simulated(scripts=script)) as world:
        await world.create(with_spec(initContainers=init, restartPolicy="OnFailure"))
        await world.settle()
        assert (await container_of(world))["state"] == {"waiting": {"reason": "PodInitializing"}}
        await world.advance(4)
        assert list((await container_of(world))["state"]) == ["running"]
        await world.advance(8)
        status = await status_of(world)
        assert status["phase"] == "Succeeded"
        assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


async def test_a_crashing_container_backs_off() -> None:
    async with testing.world(nodes=nodes(Behaviour(exit_code=1, after=2, reason="OOMKilled"))) as world:
        await world.create(pod("web"))
        await world.settle()
        assert (await container_of(world))["restartCount"] == 0
        await world.advance(2)
        found = await container_of(world)
        assert (found["restartCount"], list(found["state"]), found["ready"]) == (1, ["running"], True)
        assert found["lastState"]["terminated"]["reason"] == "OOMKilled"
        await world.advance(2)
        found = await container_of(world)
        assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert found["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=web pod=web_")
        assert (await status_of(world))["phase"] == "Running"
        await world.advance(9)
        assert (await container_of(world))["restartCount"] == 1
        await world.advance(1)
        assert (await container_of(world))["restartCount"] == 2
        await world.advance(2 + 20 + 2 + 39)
        assert (await container_of(world))["restartCount"] == 3
        await world.advance(1)
        assert (await container_of(world))["restartCount"] == 4
        found_events = (await world.client.list("v1/Event", "default")).items
        texts = [each["message"] for each in found_events if each["reason"] == "BackOff"]
        assert texts
        assert texts[0].startswith("Back-off restarting failed container web in pod web_default(")


def test_pauses_double_up_to_five_minutes_and_begin_again_after_a_long_run() -> None:
    memory = PodMemory()
    pauses = [memory.pause("web", run, 1.0) for run in range(9)]
    assert pauses == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert memory.pause("web", 8) == 300
    assert [memory.pause("web", 9, 600.0), memory.pause("web", 10, 1.0)] == [0, 10]


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", 0),
        ("Never", 7, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 7, "Running", 1),
        ("Always", 0, "Running", 1),
    ],
)
async def test_restart_policies(policy: str, code: int, phase: str, restarts: int) -> None:
    async with testing.world(nodes=nodes(Behaviour(exit_code=code, after=3), Behaviour())) as world:
        await world.create(with_spec(restartPolicy=policy))
        await world.advance(3)
        status = await status_of(world)
        assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == (phase, restarts)
        reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed", "Running": ""}[phase]
        assert condition(status, "Ready") == ("False" if reason else "True", reason, "")


async def test_probes_succeed_late_and_fail_while_the_test_says_so() -> None:
    state = {"ready": True}

    def script(run: ContainerRun) -> Behaviour:
        return Behaviour(started_after=5, ready_after=8, ready=state["ready"])

    container = {"name": "web", "image": "w", **READINESS}
    async with testing.world(nodes=simulated(scripts={"": script})) as world:
        await world.create(with_spec(containers=[container]))
        seen = []
        for _ in range(3):
            await world.settle()
            found = await container_of(world)
            seen.append((found["started"], found["ready"]))
            await world.advance(4)
        assert seen == [(False, False), (False, False), (True, True)]
        state["ready"] = False
        await world.advance(5)
        assert condition(await status_of(world), "Ready")[:2] == ("False", "ContainersNotReady")
        state["ready"] = True
        await world.advance(5)
        assert condition(await status_of(world), "Ready") == ("True", "", "")


async def test_a_readiness_gate_keeps_a_pod_unready() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(with_spec(readinessGates=[{"conditionType": "example.com/gate"}]))
        await world.settle()
        text = 'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
        status = await status_of(world)
        assert condition(status, "Ready") == ("False", "ReadinessGatesNotReady", text)
        assert condition(status, "ContainersReady")[0] == "True"
        gate = {"type": "example.com/gate", "status": "True"}
        await world.client.patch_status(POD, strategic({"status": {"conditions": [gate]}}), "web", "default")
        await world.settle()
        assert condition(await status_of(world), "Ready") == ("True", "", "")


async def test_an_image_that_cannot_be_pulled_keeps_a_pod_pending() -> None:
    async with testing.world(nodes=nodes(Behaviour(pull_error="no such image"))) as world:
        await world.create(pod("web"))
        await world.settle()
        assert (await status_of(world))["phase"] == "Pending"
        state = (await container_of(world))["state"]
        assert state == {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}


async def test_a_pod_fails_after_its_active_deadline() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(with_spec(activeDeadlineSeconds=30))
        await world.advance(29)
        assert (await status_of(world))["phase"] == "Running"
        await world.advance(1)
        status = await status_of(world)
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


@pytest.mark.parametrize(("stop_after", "seconds"), [(12, 12), (100, 30)])
async def test_deletion_waits_for_the_containers_within_the_grace_period(stop_after: float, seconds: int) -> None:
    async with testing.world(nodes=nodes(Behaviour(stop_after=stop_after))) as world:
        await world.create(pod("web"))
        await world.settle()
        await world.client.delete(POD, "web", "default")
        await world.advance(seconds - 1)
        assert (await world.find(POD, "web"))["metadata"]["deletionTimestamp"]
        await world.advance(1)
        assert await world.find(POD, "web") is None


async def test_a_deleted_pod_with_a_finalizer_reports_its_end() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(pod("web", finalizers=["example.com/wait"]))
        await world.settle()
        await world.client.delete(POD, "web", "default")
        await world.settle()
        status = await status_of(world)
        assert status["phase"] == "Failed"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_job_completes_after_a_second_unless_scripted() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "web", "image": "w"}]}}
    metadata = {"name": "work", "namespace": "default"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    async with testing.world(nodes="simulated") as world:
        await world.create(job)
        await world.settle()
        assert (await world.find("batch/v1/Job", "work"))["status"]["active"] == 1
        await world.advance(3)
        assert (await world.find("batch/v1/Job", "work"))["status"]["succeeded"] == 1
        assert condition((await world.find("batch/v1/Job", "work"))["status"], "Complete")[0] == "True"
    fails = simulated(scripts={"batch.kubernetes.io/job-name=work": lambda run: Behaviour(exit_code=2)})
    async with testing.world(nodes=fails) as world:
        await world.create({**job, "spec": {**job["spec"], "backoffLimit": 0}})  # type: ignore[dict-item]
        await world.advance(3)
        assert condition((await world.find("batch/v1/Job", "work"))["status"], "Failed")[1] == "BackoffLimitExceeded"


def test_the_number_of_scripted_nodes_is_checked() -> None:
    with pytest.raises(ValueError, match="invalid nodes 'simulated:0'"):
        simulated(0)
