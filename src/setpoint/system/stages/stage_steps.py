"""The steps of a stage: writes to the API and events."""

from collections.abc import Sequence
from typing import Any, Protocol

from setpoint.client.client import Client
from setpoint.client.patches import Patch, json_patch, merge, strategic
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.system.stages.stage_kind import StageApply, StageEvent, StageFinalizers, StagePatch, StageStep
from setpoint.system.stages.stage_templates import TemplateScene, rendered

FIELD_MANAGER = "kwok"
_STRATEGIC_KINDS = ("v1/Pod", "v1/Node")


class EventRecorder(Protocol):
    """Records events: `controller.recorder.Recorder`."""

    def normal(self, regarding: Any, reason: str, note: str) -> None: ...

    def warning(self, regarding: Any, reason: str, note: str) -> None: ...


class StepRunner:
    """Takes the steps of a stage for one object."""

    def __init__(self, client: Client, kind: str, tree: Object, scene: TemplateScene, recorder: EventRecorder) -> None:
        self._client, self._kind, self._scene, self._recorder = client, kind, scene, recorder
        # As in KWOK, templates and finalizers are those of the object at the beginning.
        self._tree = tree
        self._place = tree["metadata"]["name"], tree["metadata"].get("namespace", "")
        self.done = 0
        self.latest: Object | None = tree

    async def run(self, steps: Sequence[StageStep]) -> None:
        """Takes the steps after the first `done`. Raises APIError, TransportError, or ValueError."""
        for step in steps[self.done :]:
            if step.event is not None:
                self._record(step.event)
            if self.latest is not None:
                await self._write(step)
            self.done += 1

    async def _write(self, step: StageStep) -> None:
        if step.finalizers is not None:
            operations = finalizer_changes(self._tree["metadata"].get("finalizers") or [], step.finalizers)
            if operations:
                await self._send(json_patch(operations), "", self._client)
        if step.delete:
            uid = self._tree["metadata"]["uid"]
            await self._client.delete(self._kind, *self._place, grace_period=0, uid=uid)
            self.latest = None
            return
        if step.patch is not None:
            await self._patch(step.patch)
        if step.apply is not None:
            await self._apply(step.apply)

    def _record(self, event: StageEvent) -> None:
        record = self._recorder.warning if event.type == "Warning" else self._recorder.normal
        record(self._tree, event.reason, event.message)

    async def _send(self, patch: Patch, subresource: str, client: Client) -> None:
        found = await client.patch(
            self._kind, patch, *self._place, subresource=subresource, field_manager=FIELD_MANAGER
        )
        self.latest = thaw(found)

    def _client_as(self, given: StagePatch | StageApply) -> Client:
        return self._client if given.impersonation is None else self._client.as_(given.impersonation.username)

    async def _patch(self, given: StagePatch) -> None:
        content = rendered(given.template, self._kind, self._tree, self._scene)
        type_ = given.type or ("strategic" if self._kind in _STRATEGIC_KINDS else "merge")
        if type_ == "json":
            patch = json_patch(_operations(content, given.root))
        else:
            tree = {given.root: content} if given.root else content
            if not isinstance(tree, dict):
                raise ValueError("the template of a merge patch must render to fields")
            patch = (strategic if type_ == "strategic" else merge)(tree)
        await self._send(patch, given.subresource, self._client_as(given))

    async def _apply(self, given: StageApply) -> None:
        tree = rendered(given.template, self._kind, self._tree, self._scene)
        if not isinstance(tree, dict) or not (tree.get("apiVersion") and tree.get("kind")):
            raise ValueError("the template of apply must render to an object with apiVersion and kind")
        client, metadata = self._client_as(given), dict(tree.get("metadata") or {})
        kind = GroupVersionKind.of(tree)
        if (await client.mapper.resource(kind)).namespaced:
            metadata.setdefault("namespace", self._place[1])
        tree = {**tree, "metadata": metadata}
        if not given.subresource:
            try:
                await client.create(tree, field_manager=FIELD_MANAGER)
            except AlreadyExists:
                if not metadata.get("name"):
                    raise
            else:
                return
        if (given.type or "apply") == "apply":
            await client.apply(tree, force=True, subresource=given.subresource, field_manager=FIELD_MANAGER)
            return
        patch = (strategic if given.type == "strategic" else merge)(tree)
        where = metadata.get("name", ""), metadata.get("namespace", "")
        await client.patch(kind, patch, *where, subresource=given.subresource, field_manager=FIELD_MANAGER)


def _operations(content: Json, root: str) -> list[Object]:
    if not isinstance(content, list) or not all(isinstance(each, dict) and "path" in each for each in content):
        raise ValueError("the template of a JSON patch must render to a list of operations with op and path")
    prefix = f"/{root}" if root else ""
    return [{**each, "path": prefix + each["path"]} for each in content if isinstance(each, dict)]


def finalizer_changes(known: Sequence[str], wanted: StageFinalizers) -> list[Object]:
    """Returns the operations that change the finalizers of an object."""
    removed = {each.value for each in wanted.remove}
    gone = [place for place, each in enumerate(known) if wanted.empty or each in removed]
    found: list[Object] = []
    if gone and len(gone) == len(known):
        found.append({"op": "remove", "path": "/metadata/finalizers"})
        known = ()
    else:
        found += [{"op": "remove", "path": f"/metadata/finalizers/{place}"} for place in reversed(gone)]
    added = [each.value for each in wanted.add]
    if added and not known:
        found.append({"op": "add", "path": "/metadata/finalizers", "value": added})
    elif added:
        found += [{"op": "add", "path": "/metadata/finalizers/-", "value": each} for each in added if each not in known]
    return found
