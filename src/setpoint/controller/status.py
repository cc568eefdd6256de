"""The status that a reconcile reports: gathered while it runs, written once at its end, and only if it changed.

    ctx.status["replicas"] = 3
    ctx.status.condition("Ready", True, "AllUp", "3 of 3 replicas are up")

`observedGeneration` is set by itself, where the kind has it. The write is conditional on the version that was read, so
that it is known to be nothing but our own report and does not bring the request back; when somebody else was faster,
what changed is put on top of what they wrote, condition by condition.
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

# How often a report is put on top of what somebody else wrote meanwhile, before the reconcile is repeated.
ATTEMPTS = 5


class Reporting(Protocol):
    """What the report is written with."""

    async def patch_status(self, patch: Patch) -> Object: ...

    async def live(self) -> Object: ...


class Status(MutableMapping[str, Json]):
    """The status of the object of a request, as a mapping that may be changed."""

    def __init__(self, obj: Object, clock: Clock) -> None:
        self._object = obj
        self._clock = clock
        self._before: Object = obj.get("status") or {}
        self._tree: Object = thaw(self._before)
        # Where a kind drops it, it is not sent again.
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
        """Puts a whole status in the place of this one. Conditions that it does not have stay."""
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
        """Sets a condition; whether that changed it. None stands for `Unknown`."""
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
        """Whether a condition is true."""
        return conditions.is_true(self._tree.get("conditions", []), type)

    def observe(self) -> None:
        """Says that this status is about the object as it was read."""
        generation = self._object.get("metadata", {}).get("generation", 0)
        if generation:
            self._observed = True
            self._tree["observedGeneration"] = generation

    def moved_to(self, obj: AnyObject) -> None:
        """The object has been changed by us since, and its status has not."""
        version = meta.resource_version(metadata_of(obj))
        self._object = {**self._object, "metadata": {**self._object.get("metadata", {}), "resourceVersion": version}}

    def tell_flips(self, recorder: Any, regarding: AnyObject, types: Collection[str], *, failed: bool) -> None:
        """Records an event for each of these conditions whose status is another than it was: a warning where it is not
        true because the reconcile `failed`."""
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
        """Writes what changed. Returns whether the kind has kept `observedGeneration`."""
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
                    raise  # another object has its name now
                version = live["metadata"]["resourceVersion"]
                if "conditions" in change:
                    theirs = (live.get("status") or {}).get("conditions") or []
                    change["conditions"] = conditions.rebase(
                        theirs, self._before.get("conditions") or [], self._tree.get("conditions") or []
                    )
                continue
            break
        return not self._observed or "observedGeneration" in (found.get("status") or {})
