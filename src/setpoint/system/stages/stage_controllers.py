"""Controllers for stages: one for each kind of objects other than pods, and one for the Stage objects of the API."""

from collections.abc import Callable
from typing import Any

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost
from setpoint.system.stages.stage import read_stage
from setpoint.system.stages.stage_account import StageAccount
from setpoint.system.stages.stage_kind import STAGE, definition
from setpoint.system.stages.stage_player import StagePlayer
from setpoint.system.stages.stage_set import StageSet
from setpoint.system.stages.stage_sources import StageSources
from setpoint.system.stages.stage_steps import EventRecorder
from setpoint.system.stages.stage_templates import Addresses, NoAddresses

COMPONENT = "kwok_controller"
_POD, _NODE = "v1/Pod", "v1/Node"
_DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"
_CONCURRENCY = 4
# The time after which the rights for a refused Stage are examined again.
_RIGHTS_SECONDS = 15.0


class Stages:
    """The stages of a plane with simulated nodes. `pods` plays those of pods; other kinds have controllers here."""

    def __init__(self, host: ControllerHost, addresses: Addresses, has_node: Callable[[str], bool]) -> None:
        self._host, self._addresses, self._has_node = host, addresses, has_node
        self._sources = StageSources(host.clock, host.ids)
        self._recorder: EventRecorder = host.recorder(COMPONENT)
        self._account = StageAccount(host)
        self._set = StageSet(read_stage(each, self._sources) for each in host.nodes.stages)
        self._controlled: set[str] = set()
        self.pods = self._player(_POD)

    def _player(self, kind: str) -> StagePlayer:
        addresses = self._addresses if kind in (_POD, _NODE) else NoAddresses()
        return StagePlayer(kind, self._set, self._sources, addresses, self._recorder, self._account.client)

    async def start(self) -> None:
        """Starts the controllers of all kinds with stages; with Stage objects, creates their definition and the
        role of their steps."""
        await self._control_kinds()
        if self._host.nodes.has_stage_objects:
            try:
                await self._host.client.get(_DEFINITION, definition()["metadata"]["name"])
            except NotFound:
                await self._host.client.install(definition())
            await self._account.register()
            name = f"{self._host.name}-stages"
            await self._host.control(Controller(name, self._read, clock=self._host.clock, kind=STAGE, keep_runs=64))

    async def _control_kinds(self) -> None:
        for kind in sorted(self._set.kinds() - self._controlled - {_POD}):
            self._controlled.add(kind)
            player = self._player(kind)
            await self._host.control(self._controller(kind, player))

    def _controller(self, kind: str, player: StagePlayer) -> Controller:
        async def reconcile(ctx: Context[Any], request: Request) -> Result | None:
            try:
                obj: Object = await ctx.client.get(kind, request.name, request.namespace)
            except NotFound:
                return None
            turn = await player.turn(ctx.api, obj)
            return None if turn.wait is None else Result(requeue_after=turn.wait)

        def concerns(change: Any) -> bool:
            if change.new is None:
                player.forget(change.held.object["metadata"]["uid"])
                return False
            return kind != _NODE or self._has_node(change.new.object["metadata"]["name"])

        watch = Watch(kind, predicates=(Predicate(concerns, "has stages"),), optional=True)
        return Controller(
            f"{self._host.name}-stages-{kind.replace('/', '-').lower()}",
            reconcile,
            clock=self._host.clock,
            kind=watch,
            concurrency=_CONCURRENCY,
            keep_runs=64,
        )

    async def _read(self, ctx: Context[Any], request: Request) -> Result | None:
        """Reads a Stage object, and reports a mistake or a missing right in its status."""
        try:
            tree: Object = thaw(await ctx.client.get(STAGE, request.name))
        except NotFound:
            self._set.remove(request.name)
            return None
        known = (tree.get("status") or {}).get("conditions") or []
        reason = "Accepted"
        try:
            stage = read_stage(tree, self._sources, is_object=True)
            problem = await self._account.missing_right(stage.kind)
        except ValueError as error:
            reason, problem = "Invalid", str(error)
        else:
            if problem:
                reason = "Forbidden"
            else:
                self._set.put(stage)
        if problem:
            self._set.remove(request.name)
        await self._control_kinds()
        # A right can be granted at any time, without a change of the Stage.
        again = Result(requeue_after=_RIGHTS_SECONDS) if reason == "Forbidden" else None
        status = "False" if problem else "True"
        if [(each["status"], each.get("message", "")) for each in known] == [(status, problem)]:
            return again
        moment = format_time(self._host.clock.now())
        condition = {"type": "Accepted", "status": status, "reason": reason, "message": problem}
        patch = merge({"status": {"conditions": [{**condition, "lastTransitionTime": moment}]}})
        await ctx.api.patch_status(STAGE, patch, request.name)
        return again
