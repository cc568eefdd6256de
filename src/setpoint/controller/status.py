"""The status that a reconcile reports: collected during the run, written once at the end, and only if changed.

    ctx.status["replicas"] = 3
    ctx.status.condition("Ready", True, "AllUp", "3 of 3 replicas are up")

`observedGeneration` is set automatically if the kind has the field. The write is conditional on the version that was
read, so that the controller recognizes its own status write and does not reconcile again. After a conflict, the changes
are applied on top of the other client's version, condition by condition.
"""

from collections.abc import Collection, Iterator, MutableMapping
from typing import Any, Protocol

from setpoint.client.kinds import AnyObject, metadata_of
from setpoint.client.patches import Patch, merge
from setpoint.merge import mergepatch
from setpoint.objects import conditions, meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object
from setpoint.schema.types.model import Model

# The number of attempts to apply the changes on top of newer versions, before the reconcile is repeated.
ATTEMPTS = 5


class Reporting(Protocol):
    """The client that writes the status."""

    async def patch_status(self, patch: Patch) -> Object: ...

    async def live(self) -> Object: ...


class Status(MutableMapping[str, Json]):
    """The status of the object of a request, as a mutable mapping.

    ctx.status["replicas"] = 3
    ctx.status.condition("Ready", True, "AllUp", "3 of 3 replicas are up")
    """

    def __init__(self, obj: Object, clock: Clock) -> None:
        self._object = obj
        self._clock = clock
        self._before: Object = obj.get("status") or {}
        self._tree: Object = thaw(self._before)
        # True if `observedGeneration` was set.
        self._observed = False

    def __getitem__(self, field: str) -> Json:
        return self._tree[field]

    def __setitem__(self, field: str, value: Any) -> None:
        self._tree[field] = value.to_json() if isinstance(value, Model) else value

    def __delitem__(self, field: str) -> None:
        del self._tree[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def put(self, status: Model | Object) -> None:
        """Replaces the whole status. Keeps conditions and `observedGeneration` if the new status has none."""
        tree = status.to_json() if isinstance(status, Model) else thaw(status)
        kept: Object = {name: self._tree[name] for name in ("conditions", "observedGeneration") if name in self._tree}
        self._tree = {**kept, **tree}

    def condition(
        self,
        type: str,  # noqa: A002 - the field's own name
        status: bool | str | None,
        reason: str,
        message: str = "",
    ) -> bool:
        """Sets a condition, and returns True if the condition changed. None stands for `Unknown`."""
        if not isinstance(status, str):
            status = conditions.UNKNOWN if status is None else conditions.TRUE if status else conditions.FALSE
        return conditions.set_condition(
            self._tree.setdefault("conditions", []),
            self._clock,
            type=type,
            status=status,
            reason=reason,
            message=message,
            observed_generation=self._object.get("metadata", {}).get("generation", 0),
        )

    def is_true(self, type: str) -> bool:  # noqa: A002 - the field's own name
        """Returns True if a condition is true."""
        return conditions.is_true(self._tree.get("conditions", []), type)

    def observe(self) -> None:
        """Sets `observedGeneration` to the generation of the object as read."""
        generation = self._object.get("metadata", {}).get("generation", 0)
        if generation:
            self._observed = True
            self._tree["observedGeneration"] = generation

    def update_version(self, obj: AnyObject) -> None:
        """Records a newer version of the object after a write of this process that did not touch the status."""
        version = meta.resource_version(metadata_of(obj))
        self._object = {**self._object, "metadata": {**self._object.get("metadata", {}), "resourceVersion": version}}

    def record_transitions(self, recorder: Any, regarding: AnyObject, types: Collection[str], *, failed: bool) -> None:
        """Records an event for each of these conditions with a changed status.

        The event is a warning if the condition is not true and the reconcile `failed`.
        """
        was = {each.get("type"): each.get("status") for each in self._before.get("conditions") or ()}
        for each in self._tree.get("conditions") or ():
            kind, now = each.get("type"), each.get("status")
            if kind in types and now != was.get(kind):
                record = recorder.warning if failed and now != conditions.TRUE else recorder.normal
                record(regarding, each.get("reason") or kind, each.get("message") or f"{kind} is {now}")

    @property
    def changed(self) -> bool:
        return self._tree != self._before

    async def write(self, through: Reporting) -> bool:
        """Writes the changes. Returns True unless the kind dropped `observedGeneration`."""
        if not self.changed:
            return True
        change = mergepatch.diff(self._before, self._tree)
        version = self._object.get("metadata", {}).get("resourceVersion", "")
        for attempt in range(ATTEMPTS):
            body = {"metadata": {"resourceVersion": version}, "status": change}
            try:
                found = await through.patch_status(merge(body))
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                live = await through.live()
                if live["metadata"].get("uid") != self._object.get("metadata", {}).get("uid"):
                    raise  # another object with the same name
                version = live["metadata"]["resourceVersion"]
                if "conditions" in change:
                    theirs = (live.get("status") or {}).get("conditions") or []
                    change["conditions"] = conditions.rebase(
                        theirs, self._before.get("conditions") or [], self._tree.get("conditions") or []
                    )
                continue
            break
        return not self._observed or "observedGeneration" in (found.get("status") or {})
