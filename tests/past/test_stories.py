"""Why objects are as they are, told as people read it. Each story was looked at, and is kept in `stories/`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, timedelta
from typing import Any

import msgspec
import pytest

from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.client.transport import Answer, Call
from setpoint.objects.provenance import Reason
from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.queries import NotInHistory
from setpoint.past.why.explain import explain
from setpoint.past.why.explanation_text import render
from setpoint.past.why.fact_collector import collect
from setpoint.past.why.facts import Facts

from .world import EXECUTABLE, GROUP, Past, check_story, past, renumbered

Scene = Callable[[Past], Awaitable[ObjectReference]]
PROCESSES = Reason("requested", "", "processes")


async def facts_of(world: Past, place: ObjectReference, **more: Any) -> Facts:
    return msgspec.structs.replace(await collect(world.client, place, me=await world.me()), **more)


def told(facts: Facts, width: int | None, colours: bool = False) -> str:
    paint = (lambda text, meaning: f"<{meaning}>{text}</{meaning}>") if colours else (lambda text, meaning: text)
    return renumbered(render(explain(facts), width=width, zone=UTC, now=facts.now, paint=paint))


async def crashing(world: Past) -> ObjectReference:
    """A process that ends again and again since its configuration was changed."""
    await world.workload("Service", "db", {"protocol": "TCP", "port": 41870})
    variables = [{"name": "DB_URL", "value": "postgres://shop:s3cret@localhost:5433/shop"}]
    api = await world.workload("Executable", "api", {"executablePath": "/app/api", "env": variables})
    world.later(1)
    ready = world.condition("Ready", "True", "Healthy", "the process is running and all probes succeed")
    client = world.controller("executable", "api", api)
    await world.status(client, api, state="Running", healthStatus="Healthy", conditions=[ready])
    world.later(296)
    settings = await world.configmap("api-config", DB_URL="localhost:41870")
    changed = await world.client.patch(settings, merge({"data": {"DB_URL": "localhost:5433"}}), field_manager="kubectl")
    asked = world.controller("reloader", "default/api-config", changed)
    annotated = await asked.patch(api, merge({"metadata": {"annotations": {"setpoint.dev/restart-requested-at": "1"}}}))
    world.later(1)
    client = world.controller("executable", "api", annotated)
    await world.status(client, api, state="Stopping")
    world.later(1)
    for count in (1, 2, 3):
        words = "the process ended with exit code 1; last output: connection refused; next restart in 4 s"
        client = world.controller("executable", "api", PROCESSES)
        await world.status(
            client,
            api,
            state="Starting",
            healthStatus="Caution",
            exitCode=1,
            restartCount=count,
            finishTimestamp="2026-03-01T14:05:00.000000Z",
            nextRestartTime="2026-03-01T14:05:08.000000Z",
            conditions=[world.condition("Ready", "False", "BackOff", words)],
        )
        world.later(1)
    return await world.place(EXECUTABLE, "api")


async def edited(world: Past) -> ObjectReference:
    """A process that ends with a traceback since a file of it was changed."""
    api = await world.workload("Executable", "api", {"executablePath": "python3", "args": ["api.py"]})
    world.later(60)
    restarting = world.condition("Ready", "False", "Restarting", "api.py changed")
    client = world.controller("executable", "api", PROCESSES)
    await world.status(client, api, state="Stopping", conditions=[restarting])
    world.later(1)
    lines = "Traceback (most recent call last):\n  File \"api.py\", line 1\nNameError: name 'flour' is not defined"
    words = f"the process ended with exit code 1; last output: {lines}; next restart in 4 s"
    await world.status(
        client,
        api,
        state="Starting",
        exitCode=1,
        restartCount=2,
        finishTimestamp="2026-03-01T14:01:01.000000Z",
        nextRestartTime="2026-03-01T14:01:05.000000Z",
        conditions=[world.condition("Ready", "False", "BackOff", words)],
    )
    world.later(2)
    return await world.place(EXECUTABLE, "api")


async def waiting(world: Past) -> ObjectReference:
    """A process that waits for one that waits for one that was never made."""
    after: Callable[[str], Object] = lambda name: {"dependsOn": [{"kind": "Executable", "name": name}]}  # noqa: E731
    web = await world.workload("Executable", "web", {"executablePath": "/app/web", **after("api")})
    api = await world.workload("Executable", "api", {"executablePath": "/app/api", **after("db")})
    for tree, other in ((web, "api"), (api, "db")):
        name = tree["metadata"]["name"]
        client = world.controller("executable", name, tree)
        message = f"waits for Executable {other} to be Ready: it has not started"
        await world.status(
            client, tree, conditions=[world.condition("Ready", "False", "WaitingForDependencies", message)]
        )
    world.later(3)
    return await world.place(EXECUTABLE, "web")


async def probed(world: Past) -> ObjectReference:
    """A process that runs, and whose probe fails."""
    probe = {"name": "http", "type": "HTTP", "httpProbe": {"url": "http://127.0.0.1:41881/healthz"}}
    spec = {"executablePath": "/app/api", "healthProbes": [{**probe, "schedule": {"interval": "2s"}}]}
    api = await world.workload("Executable", "api", spec)
    world.later(62)
    failure = {"probeName": "http", "outcome": "Failure", "timestamp": "2026-03-01T14:01:02.000000Z"}
    condition = world.condition("Ready", "False", "Unhealthy", "http: 503 Service Unavailable")
    await world.status(
        world.controller("executable", "api", PROCESSES),
        api,
        state="Running",
        healthStatus="Unhealthy",
        healthProbeResults=[{**failure, "reason": "503 Service Unavailable", "failures": 7}],
        conditions=[condition],
    )
    world.later(14)
    return await world.place(EXECUTABLE, "api")


async def healthy(world: Past) -> ObjectReference:
    """A process that is well."""
    api = await world.workload("Executable", "api", {"executablePath": "/app/api"})
    world.later(1)
    ready = world.condition("Ready", "True", "Healthy", "the process is running and all probes succeed")
    await world.status(world.controller("executable", "api", api), api, state="Running", conditions=[ready])
    return await world.place(EXECUTABLE, "api")


async def finished(world: Past) -> ObjectReference:
    """A process that has done what it was for."""
    job = await world.workload("Executable", "migrate", {"executablePath": "/app/migrate"})
    done = world.condition("Ready", "False", "Completed", "the process ended with exit code 0")
    client = world.controller("executable", "migrate", PROCESSES)
    await world.status(client, job, state="Finished", exitCode=0, conditions=[done])
    return await world.place(EXECUTABLE, "migrate")


async def terminating(world: Past) -> ObjectReference:
    """A namespace that cannot go because something in it cannot."""
    space = await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}})
    metadata = {"name": "held", "namespace": "old", "finalizers": ["example.com/backup"]}
    await world.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    world.later(60)
    await world.client.delete("v1/ConfigMap", "held", "old")
    await world.client.delete(space)
    space = await world.client.get("v1/Namespace", "old")
    client = world.controller("namespace-controller", "old", space)
    message = "Some content in the namespace has finalizers remaining: example.com/backup in 1 resource instances"
    left = "Some resources are remaining: configmaps. has 1 resource instances"
    conditions = [
        world.condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", left),
        world.condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message),
    ]
    await world.status(client, space, conditions=conditions)
    world.later(600)
    return await world.place("v1/Namespace", "old")


async def finalizer(world: Past) -> ObjectReference:
    """An object that nobody takes the finalizer from."""
    metadata = {"name": "held", "namespace": "default", "finalizers": ["example.com/backup"]}
    made = await world.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    world.later(60)
    await world.client.delete(made)
    world.later(600)
    return await world.place("v1/ConfigMap", "held")


async def rollout(world: Past) -> ObjectReference:
    """A Deployment whose pods cannot have their image."""
    labels = {"app": "web"}
    containers = [{"name": "web", "image": "registry.example.com/web:typo"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    metadata: Object = {"name": "web", "namespace": "default"}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    web: Object = await world.client.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}, field_manager="kubectl"
    )
    world.later(1)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}
    metadata = {"name": "web-1", "namespace": "default", "labels": labels, "ownerReferences": [owner]}
    client = world.controller("deployment", "default/web", web)
    replicas: Object = await client.create(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    )
    owner = {**owner, "kind": "ReplicaSet", "name": "web-1", "uid": replicas["metadata"]["uid"]}
    metadata = {"name": "web-1-a", "namespace": "default", "labels": labels, "ownerReferences": [owner]}
    pod = await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "registry.example.com/web:typo: not found"}}
    waits = {"name": "web", "state": state, "ready": False, "image": "i", "imageID": "", "restartCount": 0}
    await world.status(client, pod, phase="Pending", containerStatuses=[waits])
    condition = world.condition("Available", "False", "MinimumReplicasUnavailable", "too few replicas exist")
    await world.status(client, web, observedGeneration=1, replicas=2, updatedReplicas=2, conditions=[condition])
    world.later(30)
    return await world.place("apps/v1/Deployment", "web")


async def orphan(world: Past) -> ObjectReference:
    """A pod whose owner is gone, and that may not be made because of a quota."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "4711", "controller": True}
    metadata = {"name": "left", "namespace": "default", "ownerReferences": [owner]}
    containers = [{"name": "web", "image": "web"}]
    pod: Object = await world.client.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
    )
    regarding = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "left",
        "namespace": "default",
        "uid": pod["metadata"]["uid"],
    }
    await world.client.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "left.1", "namespace": "default"},
            "involvedObject": regarding,
            "type": "Warning",
            "reason": "FailedCreate",
            "message": "pods is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4",
            "count": 12,
        }
    )
    return await world.place("v1/Pod", "left")


async def suspended(world: Past) -> ObjectReference:
    """A job that waits to be let go."""
    containers = [{"name": "c", "image": "i"}]
    template = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    metadata = {"name": "report", "namespace": "default"}
    spec = {"suspend": True, "template": template}
    await world.client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    return await world.place("batch/v1/Job", "report")


async def deleted(world: Past) -> ObjectReference:
    """An object that is gone."""
    made = await world.configmap("settings", k="1")
    world.later(60)
    await world.client.delete(made)
    world.later(60)
    return await world.place("v1/ConfigMap", "settings")


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        crashing,
        edited,
        waiting,
        probed,
        healthy,
        finished,
        terminating,
        finalizer,
        rollout,
        orphan,
        suspended,
        deleted,
    )
}
OUTPUT = ("Traceback (most recent call last):", "OperationalError: connection refused, port 5433")


@pytest.mark.parametrize("name", SCENES)
async def test_a_story_is_told_in_the_words_that_were_reviewed(name: str) -> None:
    async with past(workloads=True) as world:
        place = await SCENES[name](world)
        facts = await facts_of(world, place, **({"output": OUTPUT} if name == "crashing" else {}))
        shown = [f"at 80 columns\n\n{told(facts, 80)}", f"at 140 columns\n\n{told(facts, 140)}"]
        if name == "crashing":
            shown.append(f"with colours, as wide as it is\n\n{told(facts, None, colours=True)}")
        check_story(name, "\n".join(shown))


@pytest.mark.parametrize(
    ("probe", "asked"),
    [
        (
            {
                "type": "HTTP",
                "httpProbe": {"url": 'http://{{ addressForServing "a" }}:{{ portForServing "a" }}/up?x=1'},
            },
            "GET /up?x=1",
        ),
        ({"type": "HTTP", "httpProbe": {"url": 'http://localhost:{{ portForServing "a" }}'}}, "GET /"),
        ({"type": "HTTP", "httpProbe": {"url": "http://localhost:80/up"}}, "GET http://localhost:80/up"),
        ({"type": "TCP", "tcpProbe": {"port": '{{ portForServing "a" }}'}}, "TCP"),
        ({"type": "TCP", "tcpProbe": {"port": "80"}}, "TCP localhost:80"),
    ],
)
async def test_what_a_probe_asks_is_told_without_the_templates_in_it(probe: Object, asked: str) -> None:
    async with past(workloads=True) as world:
        spec = {"executablePath": "api", "healthProbes": [{"name": "up", "schedule": {"interval": "2s"}, **probe}]}
        api = await world.workload("Executable", "api", spec)
        failure = {
            "probeName": "up",
            "outcome": "Failure",
            "reason": "refused",
            "timestamp": "2026-03-01T14:01:02.000000Z",
        }
        await world.status(
            world.controller("executable", "api", PROCESSES),
            api,
            state="Running",
            healthProbeResults=[failure],
            conditions=[world.condition("Ready", "False", "Unhealthy", "up: refused")],
        )
        story = explain(await facts_of(world, await world.place(EXECUTABLE, "api")))
        assert story.headline == f"api is not ready: readiness probe up ({asked}) fails: refused"


async def test_lines_are_no_longer_than_the_terminal() -> None:
    async with past(workloads=True) as world:
        facts = await facts_of(world, await crashing(world))
        for width in (60, 80, 100, 140):
            longest = max(map(len, told(facts, width).splitlines()))
            assert longest <= width


async def test_no_password_is_in_a_story() -> None:
    async with past(workloads=True) as world:
        facts = await facts_of(world, await crashing(world), output=("cannot reach postgres://shop:s3cret@db",))
        assert "s3cret" not in told(facts, None)
        assert "s3cret" not in str(explain(facts).to_json())


async def test_a_story_can_be_of_the_past() -> None:
    async with past(workloads=True) as world:
        place = await crashing(world)
        then = (await collect(world.client, place)).history[1]
        facts = await collect(world.client, place, at=then.number, now=then.time)
        assert explain(facts).headline == "api is ready: Running (the process is running and all probes succeed)"


async def test_what_was_mended_is_well_since_then_however_often_it_ended_before() -> None:
    async with past(workloads=True) as world:
        place = await crashing(world)
        api = await world.client.get(EXECUTABLE, "api")
        world.later(60)
        ready = world.condition("Ready", "True", "Healthy", "the process is running and all probes succeed")
        await world.status(world.controller("executable", "api", api), api, state="Running", conditions=[ready])
        story = explain(await facts_of(world, place))
        assert (story.verdict, story.since) == ("ready", world.clock.now().replace(microsecond=0))
        assert story.hints == story.output == ()


async def test_of_what_never_was_there_is_no_story() -> None:
    async with past() as world:
        with pytest.raises(NotInHistory):
            await collect(world.client, await world.place("v1/ConfigMap", "nope"))


class WithoutPast:
    """The way to a server that keeps no past: any but our own."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def send(self, call: Call) -> Answer:
        if call.path.startswith("/apis/setpoint.dev/"):
            return Answer(404, {"content-type": "text/plain"}, b"404 page not found")
        answer: Answer = await self._inner.send(call)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Any]:
        if call.path.startswith("/apis/setpoint.dev/"):
            call = call._replace(path="/nowhere")
        async with self._inner.stream(call) as stream:
            yield stream

    async def close(self) -> None:
        return


async def test_servers_without_a_past_tell_what_they_have() -> None:
    async with past() as world:
        place = await rollout(world)
        other = Client(WithoutPast(world.client.transport), clock=world.clock)
        facts = await collect(other, place, me=await world.me())
        story = explain(facts)
        assert (story.verdict, story.steps) == ("progressing", ())
        assert "the server has no history: only the current state is available" in story.details
        assert any("web-1-a is failing" in text for text in story.details)


async def test_a_chain_of_causes_leads_from_a_state_to_the_user_who_began_it() -> None:
    async with past(workloads=True) as world:
        story = explain(await facts_of(world, await crashing(world)))
        (edit,) = [step for step in story.steps if step.object == "ConfigMap/default/api-config"]
        assert (edit.who, edit.what) == ("you (kubectl)", "data.DB_URL localhost:41870→localhost:5433")
        assert edit.caused.startswith("caused reloader controller to reconcile default/api-config → rv ")


async def test_the_same_facts_make_the_same_story() -> None:
    async with past(workloads=True) as world:
        facts = await facts_of(world, await crashing(world))
        assert explain(facts) == explain(facts)
        assert msgspec.json.encode(explain(facts).to_json())
        assert GROUP.partition("/")[0] in str(facts.chain)


async def test_what_was_made_anew_has_been_so_since_then() -> None:
    async with past() as world:
        await world.client.delete(await world.configmap("a"))
        world.later(60)
        await world.configmap("a")
        story = explain(await facts_of(world, await world.place("v1/ConfigMap", "a")))
        assert story.since == world.clock.now()


@pytest.mark.parametrize(("seconds", "told"), [(30, "event Broken (3×): no"), (300, "event Broken (3×, 5m ago): no")])
async def test_of_an_event_that_is_long_ago_it_is_told_when_it_was(seconds: int, told: str) -> None:
    async with past() as world:
        await world.configmap("a")
        event = {"type": "Warning", "reason": "Broken", "message": "no", "count": 3}
        event["lastTimestamp"] = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        world.later(seconds)
        facts = await facts_of(world, await world.place("v1/ConfigMap", "a"), events=(event,))
        assert told in explain(facts).details


@pytest.mark.parametrize(("seconds", "told"), [(-5, ()), (5, ("event Starting: 0 of 2 are ready",))])
async def test_what_was_wrong_before_it_got_ready_is_told_no_more(seconds: int, told: tuple[str, ...]) -> None:
    async with past() as world:
        made = await world.configmap("a")
        world.later(20)
        when = world.clock.now() + timedelta(seconds=seconds)
        event = {"type": "Warning", "reason": "Starting", "message": "0 of 2 are ready"}
        event["lastTimestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
        tree = made | {"status": {"conditions": [world.condition("Ready", "True", "Done", "")]}}
        world.later(10)
        facts = await facts_of(world, await world.place("v1/ConfigMap", "a"), events=(event,), tree=tree)
        assert explain(facts).details == told
