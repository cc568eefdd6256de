"""One start of a container: finds or creates the container, in steps that build on each other.

The image is pulled or built, layers are added, the container is created, connected to its networks, given its files,
and started. Progress is in the log `startup_stdout`, errors are in `startup_stderr`. A failed or cancelled start leaves
no container behind.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.workload.certificates import CertificateError
from setpoint.workload.controllers.container.engine_failure import error_text
from setpoint.workload.controllers.container.lifecycle import ContainerWorkload
from setpoint.workload.engine import labels
from setpoint.workload.engine.archive import ArchiveError, certificates_archive, files_archive
from setpoint.workload.engine.body import EngineNetwork, create_body, stop_seconds
from setpoint.workload.engine.build_context import ContextError, open_context
from setpoint.workload.engine.build_options import build_options
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import (
    BuildFailed,
    Denied,
    EngineError,
    EngineLost,
    NameTaken,
    NoSuchImage,
    NotFound,
    PullFailed,
)
from setpoint.workload.engine.images import BuildOptions, single_chunk
from setpoint.workload.engine.layers import DOCKERFILE, LayerError, layered_name, layers_archive
from setpoint.workload.engine.progress import ImageProgress
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.engine.results import Image
from setpoint.workload.engine.run_args import BadArgument
from setpoint.workload.kinds.api_names import GROUP, VERSION
from setpoint.workload.kinds.container import ContainerState
from setpoint.workload.kinds.file_action import FileAction
from setpoint.workload.kinds.parts import Mode, TerminalSpec, creates_if_missing
from setpoint.workload.lifecycle_key import LifecycleKey, container_key, difference
from setpoint.workload.logs.capture import Capture
from setpoint.workload.process.command import StartError
from setpoint.workload.runtime import Machine
from setpoint.workload.terminal.container_terminal import ContainerTerminal

KIND = "Container"
# The hashes of the parts of a spec, to report which part has changed.
PARTS = "setpoint.dev/lifecycle-parts"
_PART_DIGITS = 12
_PULL_WAIT = 1.0
_PROGRESS_SECONDS = 1.0
# The number of lines of the output of a failed build that its error shows.
_LINES = 5
_AGAIN_SECONDS = 5.0
_MIB = 1 << 20

Tell = Callable[[ContainerState, str, str], None]


class StartProblem(Exception):  # noqa: N818 - becomes the reason and message of a condition
    """A container cannot be started. `again` is the delay in seconds before the next attempt; None: no further
    attempt."""

    def __init__(
        self, reason: str, message: str, *, state: ContainerState = "FailedToStart", again: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason, self.message, self.state, self.again = reason, message, state, again


class DesiredContainer(NamedTuple):
    """The desired container with all templates filled in."""

    tree: Object
    mode: Mode
    env: Mapping[str, str]
    args: Sequence[str]
    places: Sequence[EngineNetwork]
    # True: the container is only in these networks; otherwise in the engine's default network.
    managed: bool = False
    terminal: TerminalSpec | None = None
    file_actions: Sequence[FileAction] = ()
    # Variables that are no part of the lifecycle key.
    exporter: Mapping[str, str] = {}


class ContainerStart:
    """One start of a container."""

    def __init__(
        self, machine: Machine, engine: Engine, wanted: DesiredContainer, workload: ContainerWorkload, report: Tell
    ) -> None:
        self._machine, self._engine, self._workload, self._report = machine, engine, workload, report
        self._wanted = wanted
        self._spec: Object = absolute(thaw(wanted.tree["spec"]), machine)
        self._began = machine.clock.now()
        self._out = self._capture("startup_stdout")
        self._err = self._capture("startup_stderr")
        self._reported_at = -_PROGRESS_SECONDS

    async def run(self) -> None:
        """Starts the container and stores its id in the life. Raises StartProblem or EngineLost."""
        try:
            await self._run()
        except EngineLost:
            raise
        except BuildFailed as error:
            output = await self._machine.logs.tail(self._workload.uid, "startup_stdout", _LINES, self._began)
            self._fails(error_text(error))
            text = f"{error_text(error)}; last output: {output}" if output else error_text(error)
            raise StartProblem(_reason(error), text) from None
        except EngineError as error:
            self._fails(error_text(error))
            raise StartProblem(_reason(error), error_text(error)) from None
        except (ArchiveError, CertificateError, ContextError, LayerError, BadArgument) as error:
            self._fails(str(error))
            raise StartProblem("InvalidSpec", str(error)) from None
        except StartProblem as problem:
            self._fails(problem.message)
            raise

    async def _run(self) -> None:
        workload, mode = self._workload, self._wanted.mode
        key = await asyncio.to_thread(self._key)
        found = await self._reusable(key)
        if found is not None:
            workload.on_demand = found.id != workload.id
            workload.id, workload.key = found.id, key.key if _is_ours(found) else ""
            if not found.is_running and mode in ("session", "persistent"):
                self._report("Starting", "Starting", f"restarting container {found.name}")
                await self._sync(found.id)
                await self._start(found.id)
            return
        if not creates_if_missing(mode):
            name = self._spec.get("containerName", "")
            message = f"container {name} does not exist: start it, or use the mode persistent to have it created"
            raise StartProblem("NotFound", message, state="NotFound", again=_AGAIN_SECONDS)
        image = await self._image()
        await self._make(image, key)
        workload.key = key.key

    # Existing containers

    def _key(self) -> LifecycleKey:
        def read(path: str) -> bytes | None:
            try:
                return self._machine.read(path)
            except OSError:
                return None

        return container_key(self._spec, self._wanted.args, self._wanted.env, read)

    async def _reusable(self, key: LifecycleKey) -> Seen | None:
        """Returns the existing container if it matches the desired one; removes a different container that we
        created."""
        workload, mode = self._workload, self._wanted.mode
        if mode == "session":
            found = await self._engine.containers.find(workload.id) if workload.id else None
            if found is None or (workload.key == key.key and not workload.rebuild):
                return found
            await self._remove(found)
            return None
        found = await self._engine.containers.find(self._spec["containerName"])
        if found is None or mode != "persistent" or not _is_ours(found):
            return found
        if found.labels.get(labels.LIFECYCLE_KEY) == key.key and found.status != "created" and not workload.rebuild:
            note = "was taken over" if found.is_running else "of an earlier session is restarted"
            if found.id != workload.id:
                self._machine.logs.note(workload.uid, f"container {found.name} {note}", KIND)
            return found
        changed = difference(_parts(found), _short(key.parts))
        what = ", ".join(changed) or ("its key" if found.status != "created" else "it was never started; nothing")
        message = f"container {found.name} differs from the spec and is recreated: {what} changed"
        self._machine.logs.note(workload.uid, message, KIND)
        await self._remove(found)
        return None

    async def _remove(self, found: Seen) -> None:
        if found.is_running:
            await self._engine.containers.stop(found.id, seconds=stop_seconds(self._spec))
        await self._engine.containers.remove(found.id)

    # The image

    async def _image(self) -> str:
        build, name = self._spec.get("build"), self._spec.get("image") or ""
        if build is not None:
            self._report("Building", "Building", f"building the image from {build['context']}")
            name = name or f"{self._workload.name}:dev"
            dockerfile, inline = build.get("dockerfile") or "", build.get("dockerfileInline") or ""
            context = await asyncio.to_thread(open_context, build["context"], dockerfile, inline)
            options = await asyncio.to_thread(build_options, build, name, self._machine.environ)
            try:
                made = await self._engine.images.build(context, options, watch=self._building)
            finally:
                self._workload.progress = ""
        else:
            self._report("Starting", "PreparingImage", f"looking up the image {name}")
            made = await self._pulled(name)
        layers = self._spec.get("imageLayers") or ()
        if not layers:
            return name
        layered = layered_name(name, made.id, layers)
        if await self._engine.images.find(layered) is None:
            self._report("Building", "AddingLayers", f"adding {len(layers)} layers to {name}")
            archive = await asyncio.to_thread(layers_archive, name, layers)
            options = BuildOptions(tags=[layered])
            await self._engine.images.build_archive(single_chunk(archive), DOCKERFILE, options, watch=self._building)
        return layered

    async def _pulled(self, name: str) -> Image:
        policy = self._spec.get("pullPolicy") or "missing"
        attempts, wait = int(self._spec.get("pullRetryLimit") or 0), _PULL_WAIT
        while True:
            try:
                return await self._engine.images.ensure(name, policy, watch=self._pulling)
            except (NoSuchImage, Denied):
                raise
            except (PullFailed, EngineLost) as error:
                if attempts <= 0:
                    if isinstance(error, EngineLost) and self._machine.engines.current is self._engine:
                        # The engine is available: only the pull failed.
                        raise PullFailed(0, error.message) from None
                    raise
                attempts -= 1
                self._fails(error_text(error))
                self._report("Starting", "PullRetry", f"{error.message}; next attempt in {wait:g} s")
                await self._machine.clock.sleep(wait)
                wait *= 2
            finally:
                self._workload.progress = ""

    def _pulling(self, progress: ImageProgress) -> None:
        self._report_line(progress.line)
        done, total = progress.done_bytes, progress.total_bytes
        if not total:
            return
        self._progress("Starting", "Pulling", f"{done * 100 // total}% of {total / _MIB:.1f} MiB")

    def _building(self, progress: ImageProgress) -> None:
        self._report_line(progress.line)
        if progress.steps:
            self._progress("Building", "Building", f"step {progress.step} of {progress.steps}")

    def _progress(self, state: ContainerState, reason: str, text: str) -> None:
        """Reports the progress, at most once a second."""
        now = self._machine.clock.monotonic()
        if now - self._reported_at >= _PROGRESS_SECONDS:
            self._reported_at = now
            self._workload.progress = text
            what = self._spec.get("image") or "the image"
            self._report(state, reason, f"{what}: {text}")

    # The container

    async def _make(self, image: str, key: LifecycleKey) -> None:
        workload, wanted = self._workload, self._wanted
        self._report("Starting", "Creating", f"creating the container from {image}")
        await asyncio.to_thread(self._make_mounted)
        persistent = wanted.mode == "persistent"
        ours = {
            **labels.resource_labels(
                group_version=f"{GROUP}/{VERSION}",
                name=workload.name,
                uid=workload.uid,
                lifecycle_key=key.key,
                build="true" if self._spec.get("build") is not None else "",
            ),
            **self._machine.engines.made_by_us(persistent=persistent),
            PARTS: json.dumps(_short(key.parts), separators=(",", ":")),
        }
        name = self._spec.get("containerName") or f"{workload.name}-{self._machine.ids.suffix()}"
        body = create_body(
            self._spec,
            image=image,
            env={**wanted.env, **wanted.exporter},
            args=wanted.args,
            labels=ours,
            networks=wanted.places,
        )
        if workload.attempted:
            await remove_ours(self._engine, workload.attempted, workload.uid)
        workload.attempted = name
        try:
            made = await self._engine.containers.create(name, body.body, platform=body.platform)
            for warning in made.warnings:
                self._report_line(f"warning: {warning}")
            await self._prepare(made.id, body.more_networks)
            await self._sync(made.id)
            self._report("Starting", "Starting", f"starting container {name}")
            await self._start(made.id)
        except NameTaken as error:
            workload.attempted = ""
            raise StartProblem("NameTaken", error_text(error)) from None
        except BaseException:
            await self._undo(name)
            raise
        workload.id, workload.attempted, workload.on_demand = made.id, "", False
        if persistent:
            record = {"id": made.id, "key": key.key}
            self._machine.records.keep(KIND, name, record, self._machine.workload_id)

    async def _prepare(self, container: str, places: Sequence[EngineNetwork]) -> None:
        """Connects networks and copies files before the start."""
        engine, spec, now = self._engine, self._spec, self._machine.clock.now()
        for place in places:
            await engine.networks.connect(place.network, container, place.aliases, place.settings)
        if self._wanted.managed and not self._wanted.places:
            for network in (await engine.containers.inspect(container)).networks:
                with suppress(EngineError):
                    await engine.networks.disconnect(network, container)
        for index, files in enumerate(spec.get("createFiles") or ()):
            where = f"spec.createFiles[{index}]"
            archive = await asyncio.to_thread(partial(files_archive, files, modified=now, where=where))
            await self._put(container, archive.data, archive.skipped)
        if certificates := spec.get("pemCertificates"):
            archive = await asyncio.to_thread(partial(certificates_archive, certificates, modified=now))
            await self._put(container, archive.data, archive.skipped)

    async def _sync(self, container: str) -> None:
        """Copies the files of the file actions into the container."""
        if self._machine.syncs is not None and self._wanted.file_actions:
            name, uid, actions = self._workload.name, self._workload.uid, list(self._wanted.file_actions)
            await self._machine.syncs.before_start(name, uid, actions, self._engine, container)

    async def _start(self, container: str) -> None:
        """Starts the container, in a terminal if the spec has one."""
        if self._wanted.terminal is None:
            await self._engine.containers.start(container)
            return
        terminal = self._workload.screen = ContainerTerminal(
            self._machine, self._engine, container, self._wanted.terminal
        )
        self._workload.last_screen = terminal.screen
        try:
            await terminal.begin(self._workload.uid)
            await self._engine.containers.start(container)
        except StartError as error:
            await self._workload.end_terminal()
            raise StartProblem(error.reason, str(error)) from None
        except BaseException:
            await self._workload.end_terminal()
            raise
        self._workload.terminal = terminal.path
        await terminal.started()

    async def _put(self, container: str, archive: bytes, skipped: Sequence[str]) -> None:
        for each in skipped:
            self._fails(f"skipped: {each}")
        await self._engine.containers.put_archive(container, "/", archive)

    async def _undo(self, name: str) -> None:
        """Removes the container created so far, also if the engine's response to the creation was lost."""
        with suppress(EngineError):
            await remove_ours(self._engine, name, self._workload.uid)
            self._workload.attempted = ""

    def _make_mounted(self) -> None:
        """Creates missing host directories of bind mounts."""
        if self._engine.endpoint.unix:
            for mount in self._spec.get("volumeMounts") or ():
                if mount["type"] == "bind" and not Path(mount["source"]).exists():
                    try:
                        Path(mount["source"]).mkdir(parents=True)
                    except OSError as error:
                        message = f"spec.volumeMounts: {mount['source']} cannot be created: {error.strerror}; create it"
                        raise StartProblem("InvalidSpec", message) from None

    # Logs

    def _capture(self, source: str) -> Capture:
        return self._machine.logs.capture(self._workload.uid, source)

    def _report_line(self, line: str) -> None:
        if line:
            self._out.write(line.encode() + b"\n")

    def _fails(self, line: str) -> None:
        self._err.write(line.encode() + b"\n")


async def remove_ours(engine: Engine, name: str, uid: str) -> None:
    """Removes a container if its label says that it was created for this object. Raises EngineError."""
    found = await engine.containers.find(name)
    if found is not None and found.labels.get(labels.UID) == uid:
        await engine.containers.remove(found.id)


def absolute(spec: Object, machine: Machine) -> Object:
    """Returns the spec with absolute paths of this machine."""

    def absolute_path(text: str) -> str:
        return str(machine.path(text))

    for mount in spec.get("volumeMounts") or ():
        if mount["type"] == "bind":
            mount["source"] = absolute_path(mount["source"])
    if build := spec.get("build"):
        build["context"] = absolute_path(build["context"])
        for secret in build.get("secrets") or ():
            if secret.get("type", "file") == "file":
                secret["source"] = absolute_path(secret["source"])
    for files in spec.get("createFiles") or ():
        _absolute_entries(files.get("entries") or (), absolute_path)
    for layer in spec.get("imageLayers") or ():
        if layer.get("source"):
            layer["source"] = absolute_path(layer["source"])
    return spec


def _absolute_entries(entries: Sequence[Object], absolute_path: Callable[[str], str]) -> None:
    for entry in entries:
        if entry.get("source"):
            entry["source"] = absolute_path(entry["source"])
        _absolute_entries(entry.get("entries") or (), absolute_path)


def _is_ours(found: Seen) -> bool:
    return labels.UID in found.labels


def _short(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: digest[:_PART_DIGITS] for name, digest in parts.items()}


def _parts(found: Seen) -> dict[str, str]:
    try:
        read = json.loads(found.labels.get(PARTS) or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _reason(error: EngineError) -> str:
    return "EngineError" if type(error) in (EngineError, NotFound) else type(error).__name__
