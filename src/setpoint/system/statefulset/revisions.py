"""The revisions of a stateful set: ControllerRevisions with the pod templates so far.

The data of a revision, its hash and its name are those of kube-controller-manager, byte by byte.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from setpoint.controller.context import Context
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object

REVISION = "apps/v1/ControllerRevision"
HASH = "controller.kubernetes.io/hash"
_LONGEST_PREFIX = 223
# The characters of names that form no words.
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
# The characters that Go's JSON escapes in addition.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Revisions:
    """The current and the new revision of a set in one reconcile, and the earlier ones."""

    def __init__(self, ctx: Context[Any], stateful_set: Object, known: Sequence[Object]) -> None:
        self._ctx = ctx
        self._set = stateful_set
        self._known = sorted(known, key=_age)
        self.collisions: int = (stateful_set.get("status") or {}).get("collisionCount") or 0
        self.update: Object = {}
        self.current: Object = {}

    async def find(self) -> None:
        """Finds or creates both revisions. A template of an earlier revision makes that one the newest again. Raises
        APIError."""
        data, number = revision_data(self._set), self._known[-1]["revision"] + 1 if self._known else 1
        equal = [each for each in self._known if each["data"] == data]
        if not equal:
            self.update = await self._create(data, number)
        elif equal[-1] is self._known[-1]:
            self.update = equal[-1]
        else:
            self.update = await self._ctx.api.update({**equal[-1], "revision": number})
        name = (self._set.get("status") or {}).get("currentRevision")
        found = (each for each in self._known if each["metadata"]["name"] == name)
        self.current = next(found, self.update)

    async def _create(self, data: Object, number: int) -> Object:
        """Creates a revision. After a collision of hashes the next name is another one."""
        while True:
            wanted = new_revision(self._set, data, number, self.collisions)
            try:
                made: Object = await self._ctx.api.create(wanted)
            except AlreadyExists:
                metadata = wanted["metadata"]
                made = await self._ctx.api.get(REVISION, metadata["name"], metadata["namespace"])
                if made["data"] != data:
                    self.collisions += 1
                    continue
            return made

    async def truncate(self, in_use: set[str]) -> None:
        """Deletes the oldest revisions without pods beyond the limit of the history."""
        names = {*in_use, self.current["metadata"]["name"], self.update["metadata"]["name"]}
        unused = [each for each in self._known if each["metadata"]["name"] not in names]
        limit = self._set["spec"].get("revisionHistoryLimit")
        for each in unused[: max(len(unused) - (10 if limit is None else limit), 0)]:
            metadata = each["metadata"]
            try:
                await self._ctx.api.delete(REVISION, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except NotFound:
                continue


def _age(revision: Object) -> tuple[int, str, str]:
    metadata = revision["metadata"]
    return revision["revision"], metadata["creationTimestamp"], metadata["name"]


def revision_data(stateful_set: Object) -> Object:
    """Returns the data of a revision: a patch that replaces the pod template."""
    return {"spec": {"template": {**thaw(stateful_set["spec"]["template"]), "$patch": "replace"}}}


def template_of(revision: Object) -> Object:
    """Returns the pod template of a revision."""
    template = revision["data"]["spec"]["template"]
    return {name: value for name, value in template.items() if name != "$patch"}


def new_revision(stateful_set: Object, data: Object, number: int, collisions: int) -> Object:
    """Returns a new revision. Its name is determined by the data, so that a second creation after a crash fails."""
    metadata, digest = stateful_set["metadata"], revision_hash(data, collisions)
    labels = (stateful_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    found: Object = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{metadata['name'][:_LONGEST_PREFIX]}-{digest}",
            "namespace": metadata["namespace"],
            "labels": {**labels, HASH: digest},
            "ownerReferences": [controller_reference(stateful_set)],
        },
        "data": data,
        "revision": number,
    }
    if metadata.get("annotations"):
        found["metadata"]["annotations"] = dict(metadata["annotations"])
    return found


def revision_hash(data: Object, collisions: int) -> str:
    """Returns the hash of a revision, as a part of a name: FNV-1 over the JSON of Go and the number of collisions."""
    text = msgspec.json.encode(data, order="sorted").decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    value = 0x811C9DC5
    for byte in f"{text}{collisions}".encode():
        value = (value * 0x01000193 & 0xFFFFFFFF) ^ byte
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(value))
