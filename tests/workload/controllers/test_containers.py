"""Containers on a scripted engine: what real ones cannot be made to do at will."""

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.workload.app import GROUP, condition_of
from tests.workload.controllers.ship import IMAGE, RESTART, asked, logged, made, only, running, scripted, ship, until
from tests.workload.engine.scripted.engine import Ran

from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.why.explain import explain
from setpoint.past.why.fact_collector import collect
from setpoint.workload.engine.errors import EngineLost

MEANWHILE = {"schedule": {"interval": "100ms"}}


async def test_a_container_is_made_in_order_told_of_and_removed(tmp_path: Path) -> None:
    engine = scripted()
    files = [{"destination": "/etc", "entries": [{"name": "app.conf", "contents": "x=1"}]}]
    async with ship(tmp_path, engine) as world:
        for name in ("one", "two"):
            await world.make("ContainerNetwork", name, {})
        networks = [{"name": "one", "aliases": ["shop"]}, {"name": "two"}]
        env = [{"name": "WHO", "value": "ada"}]
        status = await running(world, env=env, args=["serve"], createFiles=files, networks=networks)
        found = only(engine)
        assert (status["state"], status["healthStatus"]) == ("Running", "Healthy")
        assert (status["containerId"], status["containerName"]) == (found.id, found.name)
        assert found.body["Env"] == ["WHO=ada"]
        assert found.body["Cmd"] == ["serve"]
        assert [where for where, _ in found.archives] == ["/"]
        steps = ("containers.create", "networks.connect", "containers.put_archive", "containers.start")
        assert asked(engine, *steps)[:4] == list(steps)
        joined = await world.until("Container", "web", lambda tree: len(tree["status"].get("networks") or ()) == 2)
        assert joined["status"]["networks"] == ["one", "two"]
        assert ["shop"] in found.networks.values()
        await world.patch("Container", "web", spec={"networks": [{"name": "two"}]})
        await until(lambda: len(found.networks) == 1)
        await world.until("Container", "web", lambda tree: tree["status"].get("networks") == ["two"])
        await world.delete("Container", "web")
        assert not engine.containers
        assert not (await world.client.list(f"{GROUP}/ContainerNetworkConnection")).items


async def test_without_an_engine_everything_says_so_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    engine = scripted()
    engine.is_up = False
    async with ship(tmp_path, engine) as world:
        await made(world)
        await world.make("ContainerNetwork", "net", {})
        await world.make("ContainerVolume", "data", {"name": "data"})
        for kind, name, state in (
            ("Container", "web", "RuntimeUnhealthy"),
            ("ContainerNetwork", "net", "Pending"),
            ("ContainerVolume", "data", "RuntimeUnhealthy"),
        ):
            found = await world.ready(kind, name, "False", "EngineNotRunning")
            assert found["status"]["state"] == state
            assert condition_of(found, "Ready")["message"] == "the scripted engine is stopped; start it"
        assert (await world.get("Container", "web"))["status"]["healthStatus"] == "Unhealthy"
        engine.start()
        for kind, name in (("Container", "web"), ("ContainerNetwork", "net"), ("ContainerVolume", "data")):
            await world.ready(kind, name)


async def test_a_pull_is_tried_again_as_often_as_the_spec_says_and_tells_how_far_it_is(tmp_path: Path) -> None:
    engine = scripted()
    engine.offer("far:1")
    engine.cut_pull("far:1")
    async with ship(tmp_path, engine) as world:
        await made(world, "patient", image="far:1", pullRetryLimit=1)
        await world.ready("Container", "patient", "False", "PullRetry")
        await world.ready("Container", "patient")
        out = await world.log("patient", "containers", source="startup_stdout")
        assert "layer1: Downloading" in out
        assert "Pulling): far:1: 50%" in await world.log("patient", "containers", source="system")
        engine.offer("farther:1")
        engine.cut_pull("farther:1")
        await made(world, "hasty", image="farther:1")
        found = await world.state("Container", "hasty", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "PullFailed"


async def test_what_cannot_be_started_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    engine = scripted()
    engine.busy_ports.add(8080)
    async with ship(tmp_path, engine) as world:
        cases: dict[str, tuple[Object, str, str]] = {
            "port": ({"ports": [{"containerPort": 80, "hostPort": 8080}]}, "AddressInUse", "another host port"),
            "image": ({"image": "nowhere:1"}, "NoSuchImage", "check the name of the image"),
            "never": ({"image": "absent:1", "pullPolicy": "never"}, "NoSuchImage", "`never`"),
            "context": ({"build": {"context": "no-such-place"}}, "InvalidSpec", "does not exist"),
            "args": ({"runArgs": ["--no-such-flag"]}, "InvalidSpec", "--no-such-flag"),
            "env": ({"envFiles": ["no-such-file"]}, "EnvFileNotFound", "no-such-file"),
        }
        for name, (spec, _, _) in cases.items():
            await made(world, name, **spec)
        for name, (_, reason, words) in cases.items():
            found = await world.state("Container", name, "FailedToStart")
            condition = condition_of(found, "Started")
            assert condition["reason"] == reason, name
            assert words in condition["message"], name
            assert found["status"]["healthStatus"] == "Unhealthy"
        assert not engine.containers
        assert "manifest unknown" in await world.log("image", "containers", source="startup_stderr")


async def test_a_failed_build_shows_its_output(tmp_path: Path) -> None:
    engine = scripted()
    engine.failing_build = ["downloading", "", "npm ERR! 404", "npm ERR! no such package"]
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    async with ship(tmp_path, engine) as world:
        await made(world, "web", build={"context": str(tmp_path)})
        found = await world.state("Container", "web", "FailedToStart")
        condition = condition_of(found, "Started")
        assert condition["reason"] == "BuildFailed"
        assert not found["status"].get("pullProgress")
        assert "non-zero code: 1; last output: " in condition["message"]
        assert condition["message"].endswith("npm ERR! 404\nnpm ERR! no such package")
        assert (await world.log("web", "containers", source="all")).endswith("npm ERR! no such package\n")
        assert await world.log("web", "containers", source="stdout") == ""
        resource = await world.client.resource(f"{GROUP}/Container")
        explanation = explain(await collect(world.client, ObjectReference(resource, "web")))
        assert "npm ERR! no such package" in explanation.output


async def test_an_end_is_told_with_the_exit_code_and_the_last_words(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        status = await running(world)
        engine.print(status["containerId"], b"no database\n", "stderr")
        engine.exit(status["containerId"], 4)
        found = await world.state("Container", "web", "Exited")
        assert (found["status"]["exitCode"], found["status"]["healthStatus"]) == (4, "Unhealthy")
        assert "exit code 4; last output: no database" in condition_of(found, "Started")["message"]
        # Somebody starts it in the engine.
        await engine.engine.containers.start(status["containerId"])
        await world.ready("Container", "web")
        await engine.engine.containers.pause(status["containerId"])
        paused = await world.state("Container", "web", "Paused")
        assert paused["status"]["healthStatus"] == "Caution"
        await engine.engine.containers.unpause(status["containerId"])
        await world.ready("Container", "web")


async def test_a_container_that_somebody_removes_is_unknown_until_a_restart_is_asked_for(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        status = await running(world)
        engine.remove(status["containerId"])
        found = await world.state("Container", "web", "Unknown")
        assert condition_of(found, "Ready")["reason"] == "Removed"
        await world.patch("Container", "web", metadata={"annotations": {RESTART: "1"}})
        again = await world.ready("Container", "web")
        assert again["status"]["containerId"] != status["containerId"]


async def test_an_engine_that_restarts_is_found_again_and_what_was_missed_is_seen(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("Service", "front", {})
        ports = [{"containerPort": 80}]
        stays = await running(world, "stays", ports=ports, serves=[{"service": "front", "port": 80}])
        ends = await running(world, "ends")
        await world.state("Service", "front", "Ready")
        engine.stop()
        found = await world.state("Container", "stays", "RuntimeUnhealthy")
        assert "start the container engine again" in condition_of(found, "Ready")["message"]
        endpoints = await world.client.list(f"{GROUP}/Endpoint")
        assert len(endpoints.items) == 1, "what runs goes on without its engine"
        engine.exit(ends["containerId"], 3)
        engine.start()
        await world.ready("Container", "stays")
        assert (await world.state("Container", "ends", "Exited"))["status"]["exitCode"] == 3
        engine.cut_events()
        engine.exit(stays["containerId"], 5)
        assert (await world.state("Container", "stays", "Exited"))["status"]["exitCode"] == 5


async def test_what_is_deleted_or_stopped_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    engine = scripted()
    engine.offer("far:1")
    async with ship(tmp_path, engine) as world:
        for operation, spec in (("images.pull", {"image": "far:1"}), ("containers.start", {"image": IMAGE})):
            engine.delay(operation, 600.0)
            await world.make("Container", "web", spec)
            await until(partial(asked, engine, operation))
            engine.calls.clear()
            await world.delete("Container", "web")
            assert not engine.containers
        engine.delay("containers.start", 600.0)
        await made(world)
        await until(lambda: asked(engine, "containers.start"))
        await world.patch("Container", "web", spec={"stop": True})
        await world.state("Container", "web", "FailedToStart")
        assert not engine.containers
        await made(world, "never", stop=True)
        found = await world.state("Container", "never", "FailedToStart")
        assert condition_of(found, "Started")["reason"] == "Stopped"
        # Deleted before anybody has looked at it, and made again at once.
        for _ in range(3):
            await made(world, "quick")
            await world.client.delete(f"{GROUP}/Container", "quick")
            await world.until("Container", "quick", lambda tree: tree is None)
        status = await running(world, "quick")
        assert [each.id for each in engine.containers.values()] == [status["containerId"]]


async def test_an_object_of_an_old_name_is_another_one(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        first = await running(world, containerName="fixed")
        engine.print(first["containerId"], b"old\n")
        await logged(world, "web", "old\n")
        await world.delete("Container", "web")
        second = await running(world, containerName="fixed")
        assert second["containerId"] != first["containerId"]
        assert await world.log("web", "containers") == ""
        # Somebody takes the finalizer off: the container goes all the same.
        await world.patch("Container", "web", metadata={"finalizers": None})
        await world.client.delete(f"{GROUP}/Container", "web")
        await until(lambda: not engine.containers)


async def test_its_output_is_in_its_log_once_over_breaks_and_restarts(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        status = await running(world)
        engine.print(status["containerId"], b"one\n")
        await logged(world, "web", "one\n")
        engine.stop()
        engine.print(status["containerId"], b"two\n")
        engine.start()
        await logged(world, "web", "one\ntwo\n")
        await world.patch("Container", "web", metadata={"annotations": {RESTART: "1"}})
        await world.until("Container", "web", lambda tree: tree["status"].get("restartCount") == 1)
        await world.ready("Container", "web")
        engine.print(status["containerId"], b"three\n")
        await logged(world, "web", "one\ntwo\nthree\n")
        numbered = await world.log("web", "containers", line_numbers=True, timestamps=True)
        assert [line.split(" ")[0] for line in numbered.splitlines()] == ["1", "2", "3"]
        following = asyncio.ensure_future(world.log("web", "containers", follow=True, tail=1))
        engine.print(status["containerId"], b"last")
        engine.exit(status["containerId"])
        assert await following == "three\nlast"


async def test_a_restart_with_another_environment_or_image_makes_another_container(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        first = await running(world, env=[{"name": "WHO", "value": "ada"}])
        annotations = {"metadata": {"annotations": {RESTART: "1"}}}
        await world.patch("Container", "web", spec={"env": [{"name": "WHO", "value": "bob"}]}, **annotations)
        found = await world.until(
            "Container",
            "web",
            lambda tree: tree["status"]["state"] == "Running" and tree["status"].get("restartCount") == 1,
        )
        assert found["status"]["containerId"] != first["containerId"]
        assert only(engine).body["Env"] == ["WHO=bob"]
        world.workloads.containers.restart("web", "its files have changed", rebuild=True)
        again = await world.until(
            "Container",
            "web",
            lambda tree: tree["status"]["state"] == "Running" and tree["status"].get("restartCount") == 2,
        )
        assert again["status"]["containerId"] != found["status"]["containerId"]
        assert "its files have changed" in await world.log("web", "containers", source="system")


async def test_with_a_backoff_we_start_it_again_and_otherwise_the_engine(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await made(world, "theirs", restartPolicy="always")
        await world.ready("Container", "theirs")
        assert only(engine).body["HostConfig"]["RestartPolicy"] == {"Name": "always"}
        theirs = only(engine)
        engine.exit(theirs.id, 1)
        await world.ready("Container", "theirs", "False", "Restarting")
        theirs.restarts = 1
        await engine.engine.containers.start(theirs.id)
        # A container that fails in a loop runs most of the time, and is not ready.
        found = await world.until("Container", "theirs", lambda tree: tree["status"].get("restartCount") == 1)
        assert found["status"]["state"] == "Running"
        message = "the engine has restarted the container once: see its logs"
        assert condition_of(found, "Ready") | {"status": "False", "reason": "Restarting", "message": message} == (
            condition_of(found, "Ready")
        )
        assert theirs.started is not None
        theirs.started -= timedelta(seconds=10)
        engine.tell("container", "start", theirs)
        await world.ready("Container", "theirs")
        backoff = {"initial": "50ms", "max": "50ms"}
        ours = await running(world, "ours", restartPolicy="on-failure", restartBackoff=backoff)
        assert "RestartPolicy" not in engine.containers[ours["containerId"]].body["HostConfig"]
        engine.exit(ours["containerId"], 1)
        found = await world.until("Container", "ours", lambda tree: tree["status"].get("restartCount") == 1)
        assert found["status"]["lastExitCode"] == 1
        await world.ready("Container", "ours")
        engine.exit(ours["containerId"], 0)
        await world.state("Container", "ours", "Exited")


async def test_probes_run_in_the_container_and_a_dead_one_is_started_again(tmp_path: Path) -> None:
    engine = scripted()
    answers = {"ready": 0, "alive": 0}
    engine.on_exec = lambda container, command: Ran(answers[command[0]], b"", b"not well")
    probes = [
        {"name": "ready", "type": "Exec", "execProbe": {"command": ["ready"]}, **MEANWHILE},
        {"name": "alive", "type": "Exec", "role": "Liveness", "execProbe": {"command": ["alive"]}, **MEANWHILE},
    ]
    backoff = {"initial": "10ms", "max": "10ms"}
    async with ship(tmp_path, engine) as world:
        await running(world, healthProbes=probes, restartBackoff=backoff)
        answers["ready"] = 1
        found = await world.ready("Container", "web", "False", "ProbeFailed")
        assert "ready: ready ended with exit code 1: not well" in condition_of(found, "Ready")["message"]
        answers.update(ready=0, alive=1)
        await world.until("Container", "web", lambda tree: (tree["status"].get("restartCount") or 0) >= 1)
        answers["alive"] = 0
        await world.ready("Container", "web")


async def test_a_line_makes_a_container_ready_that_it_has_printed_in_this_life_alone(tmp_path: Path) -> None:
    engine = scripted()
    probe = {"name": "up", "type": "Log", "logProbe": {"pattern": "listening"}, **MEANWHILE}
    async with ship(tmp_path, engine) as world:
        await made(world, healthProbes=[probe])
        status = (await world.state("Container", "web", "Running"))["status"]
        engine.print(status["containerId"], b"listening\n")
        await world.ready("Container", "web")
        for number, spec in enumerate(({}, {"env": [{"name": "ANOTHER", "value": "container"}]}), 1):
            await world.patch("Container", "web", spec=spec, metadata={"annotations": {RESTART: str(number)}})
            await world.until("Container", "web", partial(_restarted, times=number))
            await world.ready("Container", "web", "False", "ProbeFailed")
            engine.print(only(engine).id, b"listening again\n")
            await world.ready("Container", "web")


async def test_so_it_is_with_one_that_was_there_before_us(tmp_path: Path) -> None:
    engine = scripted()
    probe = {"name": "up", "type": "Log", "logProbe": {"pattern": "listening"}, **MEANWHILE}
    spec: Object = {"persistent": True, "containerName": "shop-web", "healthProbes": [probe]}
    async with ship(tmp_path, engine) as world:
        await made(world, **spec)
        await world.state("Container", "web", "Running")
        engine.print("shop-web", b"listening\n")
        await world.ready("Container", "web")
    await engine.engine.containers.restart("shop-web")
    async with ship(tmp_path, engine) as world:
        await made(world, **spec)
        await world.ready("Container", "web", "False", "ProbeFailed")
        engine.print("shop-web", b"listening\n")
        await world.ready("Container", "web")


async def test_an_engine_that_does_not_answer_makes_no_probe_fail(tmp_path: Path) -> None:
    engine = scripted()
    probe = {"name": "alive", "type": "Exec", "role": "Liveness", "execProbe": {"command": ["alive"]}, **MEANWHILE}
    async with ship(tmp_path, engine) as world:
        await running(world, healthProbes=[probe])
        engine.stop()
        await world.state("Container", "web", "RuntimeUnhealthy")
        engine.calls.clear()
        await until(lambda: len(asked(engine, "containers.exec")) >= 3)
        engine.start()
        found = await world.ready("Container", "web")
        assert "restartCount" not in found["status"]


async def test_a_start_that_the_engine_did_not_live_to_confirm_is_not_made_twice(tmp_path: Path) -> None:
    engine = scripted()
    lost = True

    def break_once(container: object) -> None:
        nonlocal lost
        if lost:
            lost = False
            engine.stop()
            raise EngineLost("the engine was stopped")

    engine.on_start = break_once
    async with ship(tmp_path, engine) as world:
        await made(world, containerName="fixed")
        await world.state("Container", "web", "RuntimeUnhealthy")
        assert len(engine.containers) == 1
        engine.start()
        status = (await world.ready("Container", "web"))["status"]
        assert [each.id for each in engine.containers.values()] == [status["containerId"]]


async def test_the_health_check_of_an_image_is_a_probe_that_may_flap(tmp_path: Path) -> None:
    engine = scripted()
    engine.add_image("checked:1", has_health_check=True)
    async with ship(tmp_path, engine) as world:
        await made(world, image="checked:1")
        found = await world.ready("Container", "web", "False", "Probing")
        container = found["status"]["containerId"]
        for status, health in (("healthy", "Healthy"), ("unhealthy", "Unhealthy"), ("healthy", "Healthy")):
            engine.set_health(container, status)
            found = await world.until("Container", "web", partial(is_as_well_as, health))
            (result,) = found["status"]["healthProbeResults"]
            assert result["probeName"] == "__runtime"


def is_as_well_as(health: str, tree: Object) -> bool:
    """Whether an object says that it is so well."""
    return bool(tree["status"].get("healthStatus") == health)


async def test_it_waits_for_what_it_depends_on_and_for_the_values_of_its_templates(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await world.make("ContainerVolume", "data", {"name": "data"})
        await made(
            world,
            dependsOn=[{"kind": "Container", "name": "db"}],
            volumeMounts=[{"type": "volume", "source": "data", "target": "/data"}],
            env=[{"name": "API", "value": '{{ portFor "api" }}'}],
        )
        found = await world.ready("Container", "web", "False", "WaitingForDependencies")
        assert "Container db" in condition_of(found, "Ready")["message"]
        await made(world, "db")
        await world.make("Service", "api", {})
        await world.ready("Container", "web")
        service = await world.get("Service", "api")
        web = next(each for each in engine.containers.values() if each.name.startswith("web-"))
        assert web.body["Env"] == [f"API={service['status']['effectivePort']}"]


def _restarted(tree: Object, times: int) -> bool:
    return (tree["status"].get("restartCount") or 0) == times
