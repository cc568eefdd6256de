"""Images, networks, volumes and events of a real engine."""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.workload.podman import IMAGE, Service, connected, require

from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.body import EngineNetwork, create_body
from setpoint.workload.engine.build_context import open_context
from setpoint.workload.engine.build_options import build_options
from setpoint.workload.engine.choice import connect
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import (
    BuildFailed,
    EngineLost,
    InUse,
    NameTaken,
    NoSuchImage,
    NotFound,
)
from setpoint.workload.engine.events import Event, Resync, Told
from setpoint.workload.engine.images import BuildOptions, single_chunk
from setpoint.workload.engine.layers import DOCKERFILE, layered_name, layers_archive
from setpoint.workload.engine.progress import ImageProgress

pytestmark = pytest.mark.slow


def archive(**files: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            opened.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


async def output_of(engine: Engine, image: str, *command: str) -> bytes:
    """What a command in a new container of an image prints."""
    body = create_body({"image": image, "args": command, "runArgs": ["--network", "none"]}).body
    made = await engine.containers.create("", body)
    try:
        await engine.containers.start(made.id)
        await engine.containers.wait(made.id)
        return b"".join([output.data async for output in engine.containers.logs(made.id)])
    finally:
        await engine.containers.remove(made.id)


async def test_an_image_that_is_here_is_taken_without_asking_a_registry(podman: Service) -> None:
    async with connected(podman) as engine:
        here = await engine.images.inspect(IMAGE)
        assert (await engine.images.ensure(IMAGE, "never")).id == here.id
        assert (await engine.images.ensure(IMAGE, "missing")).id == here.id
        with pytest.raises(NoSuchImage):
            await engine.images.ensure("localhost/absent:1", "never")


async def test_an_image_is_built_with_arguments_labels_and_a_stage(podman: Service, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE} AS first\nARG COLOUR=none\nCOPY . /src/\nRUN echo $COLOUR $(ls /src) > /made\n"
        "FROM first AS second\nRUN echo second > /made\n"
    )
    (tmp_path / "kept").touch()
    (tmp_path / "left").touch()
    (tmp_path / ".dockerignore").write_text("left\n")
    told: list[ImageProgress] = []
    options = BuildOptions(
        tags=["localhost/built:1", "localhost/built:2"], args={"COLOUR": "red"}, labels={"by": "test"}, stage="first"
    )
    async with connected(podman) as engine:
        made = await engine.images.build(open_context(str(tmp_path)), options, watch=told.append)
        assert made.labels["by"] == "test"
        assert (await engine.images.inspect("localhost/built:2")).id == made.id
        assert await output_of(engine, made.id, "cat", "/made") == b"red Dockerfile kept\n"
        steps = {(each.step, each.steps) for each in told if each.steps}
        assert {step for step, _ in steps} == set(range(1, max(all_ for _, all_ in steps) + 1))
        await engine.images.remove("localhost/built:1")
        await engine.images.remove("localhost/built:2")
        assert await engine.images.find("localhost/built:1") is None


async def test_a_build_that_fails_says_what_failed(podman: Service) -> None:
    told: list[ImageProgress] = []
    async with connected(podman) as engine:
        context = archive(Dockerfile=f"FROM {IMAGE}\nRUN echo so far; exit 3\n")
        with pytest.raises(BuildFailed, match="exit 3"):
            await engine.images.build_archive(single_chunk(context), "Dockerfile", BuildOptions(), watch=told.append)
        assert "so far" in "\n".join(each.line for each in told)
        context = archive(Dockerfile=f"FROM {IMAGE}\nFLY away\n")
        with pytest.raises(BuildFailed, match=r"(?i)unknown instruction"):
            await engine.images.build_archive(single_chunk(context), "Dockerfile", BuildOptions())


async def test_a_build_reads_its_secrets_and_does_not_keep_them(podman: Service, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from a file")
    script = "cat /run/secrets/file /run/secrets/env > /seen; ls -a /all > /left"
    mounts = "--mount=type=secret,id=file --mount=type=secret,id=env"
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY . /all/\nRUN {mounts} {script}\n")
    (tmp_path / ".dockerignore").write_text("key")
    secrets = [{"id": "file", "source": str(tmp_path / "key")}, {"id": "env", "type": "env", "source": "COLOUR"}]
    options = build_options({"secrets": secrets}, "localhost/secret:1", {"COLOUR": " and red"})
    async with connected(podman) as engine:
        made = await engine.images.build(open_context(str(tmp_path)), options)
        assert await output_of(engine, made.id, "cat", "/seen") == b"from a file and red"
        assert b"secret" not in await output_of(engine, made.id, "cat", "/left")
        await engine.images.remove("localhost/secret:1")


async def test_an_image_is_saved_and_loaded_again(podman: Service) -> None:
    async with connected(podman) as engine:
        context = archive(Dockerfile=f"FROM {IMAGE}\nLABEL kept=yes\n")
        options = BuildOptions(tags=["localhost/saved:1"])
        await engine.images.build_archive(single_chunk(context), "Dockerfile", options)
        saved = [piece async for piece in engine.images.save("localhost/saved:1")]
        await engine.images.remove("localhost/saved:1")
        assert await engine.images.find("localhost/saved:1") is None
        assert await engine.images.load(single_chunk(b"".join(saved))) == ["localhost/saved:1"]
        assert (await engine.images.inspect("localhost/saved:1")).labels["kept"] == "yes"
        await engine.images.remove("localhost/saved:1")


async def test_an_engine_tells_of_its_machine(podman: Service) -> None:
    async with connected(podman) as engine:
        assert engine.version.name == "podman"
        info = await engine.info()
        assert info.operating_system == "linux"
        assert info.cpus > 0
        assert info.memory_bytes > 0


async def test_a_body_that_cannot_be_made_ends_the_build_with_its_own_words(podman: Service) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield archive(Dockerfile="FROM scratch\n")[:100]
        raise OSError("the disk is gone")

    async with connected(podman) as engine:
        with pytest.raises(OSError, match="the disk is gone"):
            await engine.images.build_archive(broken(), "Dockerfile", BuildOptions())


async def test_layers_are_put_on_top_of_an_image(podman: Service, tmp_path: Path) -> None:
    (tmp_path / "layer.tar").write_bytes(archive(added="from a layer"))
    checksum = hashlib.sha256((tmp_path / "layer.tar").read_bytes()).hexdigest()
    layers = [{"digest": "1", "source": str(tmp_path / "layer.tar"), "sha256": checksum}]
    async with connected(podman) as engine:
        base = await engine.images.inspect(IMAGE)
        name = layered_name(IMAGE, base.id, layers)
        context = single_chunk(layers_archive(IMAGE, layers))
        made = await engine.images.build_archive(context, DOCKERFILE, BuildOptions(tags=[name]))
        assert await output_of(engine, made.id, "cat", "/added") == b"from a layer"
        await engine.images.remove(name)


async def test_containers_find_each_other_in_a_network_by_their_aliases(podman: Service) -> None:
    async with connected(podman) as engine:
        front = await engine.networks.create("front", labels={"test": "1"}, subnet="10.217.1.0/24")
        await engine.networks.create("back", internal=True)
        request = create_body(
            {"image": IMAGE, "args": ["sleep", "60"]}, networks=[EngineNetwork("front", ["web", "www"])]
        )
        made = await engine.containers.create("in-front", request.body)
        try:
            await engine.containers.start(made.id)
            found = await engine.networks.inspect("front")
            assert (found.id, found.driver, found.internal) == (front, "bridge", False)
            assert (found.subnets, found.gateways) == (("10.217.1.0/24",), ("10.217.1.1",))
            assert made.id in found.container_ids
            assert [each.name for each in await engine.networks.list(labels={"test": "1"})] == ["front"]
            assert (await engine.networks.inspect("back")).internal
            with pytest.raises(NameTaken):
                await engine.networks.create("front")
            # The first container of a network starts its name server, which Podman does not wait for.
            ask = "for _ in $(seq 300); do nslookup www && exit; sleep 0.1; done"
            asks = create_body({"image": IMAGE, "args": ["sh", "-c", ask]}, networks=[EngineNetwork("front")])
            other = await engine.containers.create("asks", asks.body)
            await engine.containers.start(other.id)
            await engine.containers.wait(other.id)
            said = b"".join([output.data async for output in engine.containers.logs(other.id)])
            await engine.containers.remove(other.id)
            address = (await engine.containers.inspect(made.id)).networks["front"].address
            assert address.encode() in said
            await _joins_and_leaves(engine, made.id)
            with pytest.raises(InUse):
                await engine.networks.remove("front")
        finally:
            await engine.containers.remove(made.id)
            for name in ("front", "back", "front"):
                await engine.networks.remove(name)
        assert await engine.networks.find("front") is None


async def _joins_and_leaves(engine: Engine, container: str) -> None:
    await engine.networks.connect("back", container, ["db"])
    await engine.networks.connect("back", container, ["db"])
    joined = (await engine.containers.inspect(container)).networks
    assert "db" in joined["back"].aliases
    await engine.networks.disconnect("back", container)
    await engine.networks.disconnect("back", container)
    assert set((await engine.containers.inspect(container)).networks) == {"front"}


async def test_a_volume_keeps_what_containers_write_and_stays_while_it_is_used(podman: Service) -> None:
    async with connected(podman) as engine:
        made = await engine.volumes.create("kept", labels={"test": "v"})
        assert (made.name, made.driver, made.labels) == ("kept", "local", {"test": "v"})
        with pytest.raises(NameTaken):
            await engine.volumes.create("kept")
        mount = [{"type": "volume", "source": "kept", "target": "/v"}]
        spec = {"image": IMAGE, "volumeMounts": mount, "runArgs": ["--network", "none"]}
        for script, printed in (("echo data > /v/file", b""), ("cat /v/file", b"data\n")):
            body = create_body({**spec, "args": ["sh", "-c", script]}).body
            container = (await engine.containers.create("", body)).id
            await engine.containers.start(container)
            await engine.containers.wait(container)
            assert b"".join([output.data async for output in engine.containers.logs(container)]) == printed
            with pytest.raises(InUse):
                await engine.volumes.remove("kept")
            await engine.containers.remove(container)
        assert [each.name for each in await engine.volumes.list(labels={"test": None})] == ["kept"]
        await engine.volumes.remove("kept")
        await engine.volumes.remove("kept")
        with pytest.raises(NotFound):
            await engine.volumes.inspect("kept")


async def until(events: AsyncIterator[Told], container: str, action: str) -> list[str]:
    """The actions on a container up to one."""
    seen = []
    async with asyncio.timeout(30):
        async for told in events:
            if isinstance(told, Event) and told.id == container:
                seen.append(told.action)
                if told.action == action:
                    return seen
    raise AssertionError("the events ended")


async def test_events_tell_the_life_of_a_container(podman: Service) -> None:
    async with connected(podman) as engine:
        events = engine.events()
        assert isinstance(await anext(events), Resync)
        body = create_body({"image": IMAGE, "args": ["true"], "runArgs": ["--network", "none"]}).body
        made = await engine.containers.create("eventful", body)
        await engine.containers.start(made.id)
        await engine.containers.wait(made.id)
        await engine.containers.remove(made.id)
        seen = await until(events, made.id, "destroy")
        assert [each for each in seen if each in ("create", "start", "die", "destroy")] == [
            "create",
            "start",
            "die",
            "destroy",
        ]


async def test_an_engine_that_restarts_under_us_is_found_again_and_its_containers_too(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    require()
    # A short name: the path of a socket may have some hundred characters only.
    place = tmp_path_factory.mktemp("e")
    service = Service(place, block=223)
    service.start()
    try:
        async with connected(service) as engine:
            body = create_body({"image": IMAGE, "args": ["sleep", "60"], "runArgs": ["--network", "none"]}).body
            made = await engine.containers.create("survivor", body)
            await engine.containers.start(made.id)
            events = engine.events()
            assert await anext(events) == Resync("first connection")
            service.stop()
            with pytest.raises(EngineLost):
                await engine.ping()
            gone = await connect(SystemClock(), {"HOME": str(place)}, service.address)
            assert not isinstance(gone, Engine)
            assert gone.reason == "NotRunning"
            service.start()
            async with asyncio.timeout(30):
                while not isinstance(told := await anext(events), Resync):
                    pass
            assert told.reason != "first connection"
            assert (await engine.containers.inspect(made.id)).is_running
            await engine.containers.remove(made.id)
            assert "destroy" in await until(events, made.id, "destroy")
    finally:
        service.remove()
