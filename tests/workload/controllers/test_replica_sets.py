"""ExecutableReplicaSets, with real processes: how many there are, which go, and how a new template comes in."""

import asyncio
from pathlib import Path
from typing import Any

from tests.workload.app import GROUP, PYTHON, WAITS, App, app, condition_of, gone

from setpoint.client.patches import merge
from setpoint.objects.tree import Object

PREFIX = "executable-replica-set.usvc-dev.developer.microsoft.com"
SERVES = """
import socket, sys, threading
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    peer, _ = server.accept()
    peer.sendall(sys.argv[1].encode())
    peer.close()
"""


async def make(world: App, replicas: int, code: str = WAITS, args: tuple[str, ...] = (), **spec: Any) -> Object:
    template = spec.pop("template", {})
    inner = {"executablePath": PYTHON, "args": ["-c", code, *args], **template.pop("spec", {})}
    return await world.make(
        "ExecutableReplicaSet", "web", {"replicas": replicas, "template": {"spec": inner, **template}, **spec}
    )


async def replicas(world: App) -> list[Object]:
    """The replicas that are not about to go, the oldest first."""
    found = await world.client.list(f"{GROUP}/Executable")
    alive = [tree for tree in found.items if "deletionTimestamp" not in tree["metadata"]]
    return sorted(alive, key=lambda tree: int(annotation(tree, "display-name").rpartition("-")[2]))


def annotation(tree: Object, name: str) -> str:
    text: str = tree["metadata"]["annotations"][f"{PREFIX}/{name}"]
    return text


async def counts(world: App, **wanted: int) -> Object:
    """The set, as soon as its status has these numbers of replicas."""
    found: Object = await world.until(
        "ExecutableReplicaSet",
        "web",
        lambda tree: all((tree.get("status") or {}).get(f"{key}Replicas", 0) == n for key, n in wanted.items()),
    )
    return found


async def test_replicas_are_made_with_the_names_and_annotations_that_clients_know(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 2, template={"labels": {"app": "web"}, "annotations": {"note": "mine"}})
        found = await world.ready("ExecutableReplicaSet", "web")
        assert found["status"]["runningReplicas"] == found["status"]["observedReplicas"] == 2
        assert found["status"]["healthStatus"] == "Healthy"
        made = await replicas(world)
        assert [annotation(tree, "display-name") for tree in made] == ["web-1", "web-2"]
        for tree in made:
            id_ = annotation(tree, "replica-id")
            assert tree["metadata"]["name"] == f"web-{id_}"
            assert len(id_) == 10
            assert tree["metadata"]["annotations"]["otel-service-instance-id"] == id_
            assert tree["metadata"]["annotations"]["note"] == "mine"
            assert tree["metadata"]["labels"]["app"] == "web"
            assert annotation(tree, "replica-set-name") == "web"
            assert annotation(tree, "replica-state") == "active"
            (owner,) = tree["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["name"], owner["controller"]) == ("ExecutableReplicaSet", "web", True)


async def test_a_template_that_the_server_rejects_is_not_ready_and_names_the_field(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 1, template={"labels": {"not a key!": "x"}})
        found = await world.ready("ExecutableReplicaSet", "web", "False", "InvalidTemplate")
        message = condition_of(found, "Ready")["message"]
        assert "metadata.labels" in message
        assert message.endswith("; correct spec.template")
        assert await replicas(world) == []


async def test_the_number_of_replicas_follows_the_scale_subresource(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 1)
        await counts(world, running=1)
        kind = f"{GROUP}/ExecutableReplicaSet"
        await world.client.patch(kind, merge({"spec": {"replicas": 4}}), "web", subresource="scale")
        found = await counts(world, observed=4, running=4)
        assert found["status"]["lastScaleTime"]
        assert (await world.client.get(kind, "web", subresource="scale"))["status"]["replicas"] == 4
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 0})
        found = await counts(world, observed=0)
        assert found["status"]["healthStatus"] == "Healthy"


async def test_those_that_failed_go_first_and_then_the_youngest(tmp_path: Path) -> None:
    # The second one fails: only one process may make the file.
    code = (
        "import os, sys, signal\n"
        "try: os.mkdir('first')\n"
        "except FileExistsError:\n"
        "    try: os.mkdir('second')\n"
        "    except FileExistsError: signal.pause()\n"
        "    sys.exit(1)\n"
        "signal.pause()"
    )
    async with app(tmp_path) as world:
        await make(world, 1, code)
        await counts(world, running=1)
        await until(lambda: (tmp_path / "first").exists())
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 2})
        await counts(world, running=1, finished=1)
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 4})
        found = await counts(world, running=3, finished=1)
        assert found["status"]["healthStatus"] == "Caution"
        assert condition_of(found, "Ready")["reason"] == "ReplicasNotReady"
        assert "ended with exit code 1" in condition_of(found, "Ready")["message"]
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 3})
        await counts(world, running=3, finished=0, observed=3)
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 2})
        await counts(world, running=2, observed=2)
        assert [annotation(tree, "display-name") for tree in await replicas(world)] == ["web-1", "web-3"]


async def until(holds: Any) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)


async def test_replicas_can_be_stopped_and_kept_with_their_logs(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 2, stopOnScaleDown=True)
        await counts(world, running=2)
        names = [tree["metadata"]["name"] for tree in await replicas(world)]
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 1})
        await counts(world, observed=1, running=1)
        found = await world.state("Executable", names[1], "Finished")
        assert annotation(found, "replica-state") == "inactive"
        # It does not come back: another one is made.
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 2})
        await counts(world, observed=2, running=2)
        assert len(await replicas(world)) == 3


async def test_a_replica_that_was_deleted_is_made_anew_and_one_that_ended_is_not(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        code = "import sys, signal, os; os.path.exists('end') and sys.exit(); print('up', flush=True); signal.pause()"
        await make(world, 2, code)
        await counts(world, running=2)
        for each in await replicas(world):
            assert await world.first_line(each["metadata"]["name"]) == "up"
        (tmp_path / "end").touch()
        first = (await replicas(world))[0]["metadata"]["name"]
        await world.delete("Executable", first)
        found = await counts(world, observed=2, running=1, finished=1)
        assert [annotation(tree, "display-name") for tree in await replicas(world)] == ["web-2", "web-3"]
        assert found["status"]["healthStatus"] == "Caution"


async def test_those_that_ended_are_replaced_where_that_is_wanted(tmp_path: Path) -> None:
    code = "import os, sys, signal; os.path.exists('well') or sys.exit(1); signal.pause()"
    backoff = {"spec": {"restartBackoff": {"initial": "10ms", "max": "20ms"}}}
    async with app(tmp_path) as world:
        await make(world, 2, code, replaceFailed=True, template=backoff)
        await until_replaced(world, 6)
        (tmp_path / "well").touch()
        await counts(world, observed=2, running=2, finished=0)


async def until_replaced(world: App, number: int) -> None:
    async with asyncio.timeout(20):
        while not any(int(annotation(tree, "display-name")[4:]) >= number for tree in await replicas(world)):
            await asyncio.sleep(0.01)


async def test_a_new_template_is_for_new_replicas_only_unless_it_is_rolled_out(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 1)
        await counts(world, running=1, updated=1)
        change = {"template": {"spec": {"env": [{"name": "VERSION", "value": "2"}]}}}
        await world.patch("ExecutableReplicaSet", "web", spec=change)
        await counts(world, running=1, updated=0)
        await world.patch("ExecutableReplicaSet", "web", spec={"replicas": 2})
        await counts(world, running=2, updated=1)
        assert [tree["spec"].get("env") for tree in await replicas(world)] == [
            None,
            [{"name": "VERSION", "value": "2"}],
        ]


async def test_a_rollout_replaces_one_after_the_other(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 3, updateStrategy="RollingUpdate")
        await counts(world, running=3)
        change = {"template": {"spec": {"env": [{"name": "VERSION", "value": "2"}]}}}
        running = []
        changed = await world.patch("ExecutableReplicaSet", "web", spec=change)
        since = changed["metadata"]["resourceVersion"]
        async with world.client.watch(f"{GROUP}/ExecutableReplicaSet", resource_version=since) as events:
            async for event in events:
                status = event.object["status"]
                running.append(status.get("runningReplicas", 0))
                if status.get("updatedReplicas") == status.get("runningReplicas") == 3:
                    break
        assert min(running) == 2
        assert [annotation(tree, "display-name") for tree in await replicas(world)] == ["web-4", "web-5", "web-6"]


async def test_a_template_that_does_not_work_replaces_one_replica_and_no_more(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 3, updateStrategy="RollingUpdate")
        await counts(world, running=3)
        await world.patch("ExecutableReplicaSet", "web", spec={"template": {"spec": {"executablePath": "no-such"}}})
        found = await counts(world, failed=1, running=2, updated=1)
        assert condition_of(found, "Ready")["reason"] == "ReplicasNotReady"
        await world.patch("ExecutableReplicaSet", "web", spec={"template": {"spec": {"executablePath": PYTHON}}})
        await counts(world, failed=0, running=3, updated=3)


async def test_each_replica_has_a_port_of_its_own_for_the_service_that_all_serve(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Service", "front", {})
        template = {"spec": {"serves": [{"service": "front"}]}}
        await make(world, 3, SERVES, args=('{{- portForServing "front" -}}',), template=template)
        await counts(world, running=3)
        service = await world.ready("Service", "front")
        heard: set[bytes] = set()
        async with asyncio.timeout(20):
            while len(heard) < 3:
                reader, writer = await asyncio.open_connection("127.0.0.1", service["status"]["effectivePort"])
                heard.add(await reader.read())
                writer.close()
                await writer.wait_closed()
        heard.discard(b"")
        ports = [endpoint["spec"]["port"] for endpoint in (await world.client.list(f"{GROUP}/Endpoint")).items]
        assert len(set(ports)) == 3
        assert heard <= {str(port).encode() for port in ports}


async def test_deleting_a_set_ends_its_processes_before_it_goes(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 3)
        await counts(world, running=3)
        pids = [tree["status"]["pid"] for tree in await replicas(world)]
        await world.delete("ExecutableReplicaSet", "web")
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
        assert not (await world.client.list(f"{GROUP}/Executable")).items
        # One of the same name begins from the first.
        await make(world, 1)
        await counts(world, running=1)
        (made,) = await replicas(world)
        assert annotation(made, "display-name") == "web-1"
    await gone(made["status"]["pid"])


async def test_replicas_that_ended_with_0_are_not_ready_but_have_succeeded(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 2, "print('done')")
        found = await counts(world, finished=2, succeeded=2)
        ready = condition_of(found, "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "Completed")
        for name, condition in (("first", "Ready"), ("second", "Succeeded")):
            needed = {"kind": "ExecutableReplicaSet", "name": "web", "condition": condition}
            await world.python(name, dependsOn=[needed])
        await world.state("Executable", "second", "Running")
        await world.ready("Executable", "first", "False", "WaitingForDependencies")


async def test_replicas_that_crashed_have_not_succeeded(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 1, "raise SystemExit(1)")
        needed = {"kind": "ExecutableReplicaSet", "name": "web", "condition": "Succeeded"}
        await world.python("next", dependsOn=[needed])
        await counts(world, finished=1)
        await world.ready("Executable", "next", "False", "WaitingForDependencies")


async def test_a_set_that_is_deleted_alone_leaves_its_processes_running(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make(world, 2)
        await world.ready("ExecutableReplicaSet", "web")
        pids = [each["status"]["pid"] for each in await replicas(world)]
        await world.client.delete(f"{GROUP}/ExecutableReplicaSet", "web", propagation="Orphan")
        await world.until("ExecutableReplicaSet", "web", lambda tree: tree is None)
        left = await replicas(world)
        assert [each["status"]["pid"] for each in left] == pids
        assert [each["status"]["state"] for each in left] == ["Running", "Running"]
        assert not any(each["metadata"].get("ownerReferences") for each in left)
