"""The controller of ContainerVolumes: creates each volume in the engine, and removes those that are not persistent with
their objects."""

from functools import partial
from typing import NamedTuple

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.workload.controllers.container.engine_failure import error_text, problem_condition
from setpoint.workload.engine import labels
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost, InUse, NameTaken
from setpoint.workload.engine.errors import NotFound as EngineNotFound
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.engine.results import Volume
from setpoint.workload.kinds.api_names import FINALIZERS, GROUP, REMOVE_VOLUME, VERSION
from setpoint.workload.kinds.container_volume import ContainerVolume, ContainerVolumeState, ContainerVolumeStatus
from setpoint.workload.runtime import Machine

FINALIZER = FINALIZERS["ContainerVolume"]
# The delays before the next attempt: after a failure, and for a volume that is still in use.
_AGAIN_SECONDS = 5.0
_IN_USE_SECONDS = 1.0


class _VolumeStatus(NamedTuple):
    state: ContainerVolumeState
    reason: str
    message: str


class ContainerVolumes:
    """The controller of ContainerVolumes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("volumes")
        # By object, the name in the engine of volumes that we remove; empty for the others.
        self._states: dict[str, str] = {}
        self.controller = Controller(
            "containervolume",
            self._reconcile,
            kind=ContainerVolume,
            clock=machine.clock,
            ids=machine.ids,
            watches=(self._channel,),
            concurrency=8,
        )
        machine.engines.subscribe(self._on_engine_event)

    def _on_engine_event(self, event: Told | None) -> None:
        if not isinstance(event, Event) or (event.kind == "volume" and event.action == "destroy"):
            for name in self._states:
                self._channel.send(Request(name))

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: ContainerVolume | None = await ctx.object()
        if obj is None:
            self._states.pop(request.name, None)
            return None
        self._states.setdefault(request.name, "")
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj)):
            self._states.pop(request.name, None)
            return None
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            self._report(ctx, _VolumeStatus("RuntimeUnhealthy" if engine else "Pending", *problem_condition(engine)))
            return None
        try:
            volume = await self._ensure(engine, obj)
        except EngineLost as error:
            self._report(ctx, _VolumeStatus("RuntimeUnhealthy", "EngineLost", error_text(error)))
            return Result(requeue_after=_AGAIN_SECONDS)
        except EngineError as error:
            self._report(ctx, _VolumeStatus("Pending", "CreateFailed", error_text(error)))
            return Result(requeue_after=_AGAIN_SECONDS)
        # A user's own volume is used and not removed; the label marks volumes that a control plane created.
        self._states[request.name] = volume.name if labels.UID in volume.labels else ""
        self._report(ctx, _VolumeStatus("Ready", "Ready", _difference(obj, volume)))
        return None

    async def _ensure(self, engine: Engine, obj: ContainerVolume) -> Volume:
        spec = obj.spec
        found = await engine.volumes.find(spec.name)
        if found is not None:
            return found
        if spec.existing:
            message = f"volume {spec.name} does not exist, and is declared as external: create the volume"
            raise EngineNotFound(404, message)
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        ours = {
            **labels.resource_labels(group_version=f"{GROUP}/{VERSION}", name=name, uid=uid),
            **{each.key: each.value for each in spec.labels},
            **self._machine.engines.made_by_us(persistent=spec.persistent),
            **({labels.WORKLOAD: self._machine.workload_id} if self._machine.workload_id else {}),
        }
        try:
            driver, options = spec.driver or "local", dict(spec.options)
            return await engine.volumes.create(spec.name, driver=driver, options=options, labels=ours)
        except NameTaken:
            return await engine.volumes.inspect(spec.name)

    async def _clean_up(self, ctx: Context, obj: ContainerVolume) -> None:
        """Removes the volume once no container uses the volume."""
        requested = (obj.metadata.annotations or {}).get(REMOVE_VOLUME) == "true" and not obj.spec.existing
        if not requested and (obj.spec.persistent or not self._states.get(obj.metadata.name or "")):
            # A volume that was not reconciled yet, or that existed before, is not ours to remove.
            return
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            self._report(ctx, _VolumeStatus("RuntimeUnhealthy", *problem_condition(engine)))
            raise Requeue(_AGAIN_SECONDS, "no container engine is available to remove the volume")
        try:
            await engine.volumes.remove(obj.spec.name)
        except InUse as error:
            self._report(
                ctx,
                _VolumeStatus("Pending", "InUse", f"the volume is removed when no container uses it: {error.message}"),
            )
            raise Requeue(_IN_USE_SECONDS, "a container uses the volume") from None
        except EngineError as error:
            self._report(ctx, _VolumeStatus("Pending", "RemoveFailed", error_text(error)))
            raise Requeue(_AGAIN_SECONDS, error.message) from None

    def _report(self, ctx: Context, state: _VolumeStatus) -> None:
        is_ready = state.state == "Ready"
        ctx.status.put(ContainerVolumeStatus(state=state.state, message="" if is_ready else state.message))
        ctx.status.condition("Ready", is_ready, state.reason, state.message)


def _difference(obj: ContainerVolume, volume: Volume) -> str:
    """Returns a message about differences between the spec and an existing volume."""
    if obj.spec.driver and obj.spec.driver != volume.driver:
        return f"the volume already exists with the driver {volume.driver}: remove it to use {obj.spec.driver}"
    return f"volume {volume.name}"
