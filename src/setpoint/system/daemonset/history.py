"""The revisions of a daemon set: ControllerRevisions with the pod templates so far."""

from collections.abc import Sequence
from typing import Any

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.request import Requeue
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.daemonset.placement import HASH_LABEL
from setpoint.system.deployment.revisions import template_hash
from setpoint.system.pods.state import POD
from setpoint.system.turns import in_turns

REVISION = "apps/v1/ControllerRevision"
DAEMON_SET = "apps/v1/DaemonSet"
_DEFAULT_LIMIT = 10


def hash_of(revision: Object) -> str:
    """Returns the hash that the pods of a revision have as label."""
    labels = revision["metadata"].get("labels") or {}
    found: str = labels.get(HASH_LABEL) or revision["metadata"]["name"]
    return found


def data_of(daemon_set: Object) -> Object:
    """Returns the data of a revision: a patch that replaces the pod template."""
    return {"spec": {"template": {**thaw(daemon_set["spec"]["template"]), "$patch": "replace"}}}


class History:
    """The revisions of a daemon set in one reconcile."""

    def __init__(self, ctx: Context[Any], daemon_set: Object, known: Sequence[Object]) -> None:
        self._ctx = ctx
        self._set = daemon_set
        data = data_of(daemon_set)
        self._same = sorted((each for each in known if each["data"] == data), key=_number)
        self._old = sorted((each for each in known if each["data"] != data), key=_number)
        self._data = data

    async def current(self, pods: Sequence[Object]) -> Object:
        """Returns the revision of the present template, which becomes the newest one. Raises APIError and Requeue."""
        number = max(map(_number, self._old), default=0) + 1
        if not self._same:
            return await self._create(number)
        *duplicates, kept = self._same
        for each in duplicates:
            await self._replace(each, kept, pods)
        if kept["revision"] < number:
            kept = await self._ctx.client.update({**kept, "revision": number})
        return kept

    async def _replace(self, duplicate: Object, kept: Object, pods: Sequence[Object]) -> None:
        """Deletes a second revision with the same template, after giving its pods the label of the first one."""
        patch = merge({"metadata": {"labels": {HASH_LABEL: hash_of(kept)}}})
        async for pod in in_turns(self._ctx, pods):
            metadata = pod["metadata"]
            if (metadata.get("labels") or {}).get(HASH_LABEL) == hash_of(duplicate):
                await self._ctx.api.patch(POD, patch, metadata["name"], metadata["namespace"])
        await self._delete(duplicate)

    async def _create(self, number: int) -> Object:
        """Creates a revision. Its name is determined by the template, so that a second creation after a crash finds
        the first one."""
        metadata, status = self._set["metadata"], self._set.get("status") or {}
        template = self._set["spec"]["template"]
        label = template_hash(template, status.get("collisionCount"))
        wanted: Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{metadata['name']}-{label}",
                "namespace": metadata["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: label},
                "ownerReferences": [controller_reference(self._set)],
            },
            "data": self._data,
            "revision": number,
        }
        if metadata.get("annotations"):
            wanted["metadata"]["annotations"] = dict(metadata["annotations"])
        try:
            made: Object = await self._ctx.api.create(wanted)
        except AlreadyExists:
            made = await self._ctx.api.get(REVISION, wanted["metadata"]["name"], metadata["namespace"])
            if made["data"] != self._data:
                await self._count_collision()
        return made

    async def _count_collision(self) -> None:
        """Counts a collision of hashes, which leads to another name. Raises Requeue."""
        status = dict(self._set.get("status") or {})
        status["collisionCount"] = (status.get("collisionCount") or 0) + 1
        await self._ctx.client.update({**self._set, "status": status}, subresource="status")
        raise Requeue(None, f"another revision has the name for the template of {self._set['metadata']['name']}")

    async def truncate(self, pods: Sequence[Object]) -> None:
        """Deletes the oldest revisions without pods beyond the limit of the history."""
        limit = self._set["spec"].get("revisionHistoryLimit")
        superfluous = len(self._old) - (_DEFAULT_LIMIT if limit is None else limit)
        if superfluous <= 0:
            return
        live = {(pod["metadata"].get("labels") or {}).get(HASH_LABEL) async for pod in in_turns(self._ctx, pods)}
        for each in [each for each in self._old if hash_of(each) not in live][:superfluous]:
            await self._delete(each)

    async def _delete(self, revision: Object) -> None:
        metadata = revision["metadata"]
        try:
            await self._ctx.api.delete(REVISION, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except NotFound:
            return


def _number(revision: Object) -> int:
    found: int = revision["revision"]
    return found
