"""The status that a reconcile reports: collected during the run, written once at the end, and only if changed.

    ctx.status.replicas = 3
    ctx.condition("Ready", True, "AllUp", "3 of 3 replicas are up")

The status of a class has the fields of that class as attributes; an untyped status is a mapping
(`ctx.status["replicas"] = 3`). `observedGeneration` is set automatically if the kind has the field. The write is
conditional on the version that was read, so that the controller recognizes its own status write and does not reconcile
again. After a conflict, the changes are applied on top of the other client's version, condition by condition.

The generation, the version and the former status are those of one object: the one that the reconcile read first. A
status never claims to have observed a generation that came later.
"""

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from setpoint.client.kinds import AnyObject
from setpoint.client.patches import Patch, merge
from setpoint.controller.typed_fields import TypedFields, missing_field
from setpoint.merge import mergepatch
from setpoint.objects import conditions
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


class StatusReport:
    """The collected status of the object of a request, and its write."""

    def __init__(
        self,
        obj: Object,
        clock: Clock,
        model: type[Model] | None,
        # The generation that was reconciled.
        generation: int,
        # The versions after writes of this reconcile that did not touch the status, by the version before.
        own_writes: Mapping[str, str],
    ) -> None:
        self._object = obj
        self._clock = clock
        self._generation = generation
        self._own_writes = own_writes
        # The class of the status; None for an untyped status.
        self.model = model
        self._before: Object = obj.get("status") or {}
        # True if `observedGeneration` was set.
        self._observed = False
        self._set_tree(thaw(self._before))
        # The status as authors see it.
        self.view: Status = (Status if model is None else _class_of(model))(self)

    def _set_tree(self, tree: Object) -> None:
        self._tree = tree
        self.fields = None if self.model is None else TypedFields(self.model, tree)

    @property
    def tree(self) -> Object:
        """The status so far; may be changed."""
        if self.fields is not None:
            self.fields.flush()
        return self._tree

    def put(self, status: Model | Object) -> None:
        """Replaces the whole status. Keeps conditions and `observedGeneration` if the new status has none."""
        if self.model is not None and isinstance(status, Model) and not isinstance(status, self.model):
            raise TypeError(f"the status is a {self.model.__name__}, not a {type(status).__name__}")
        tree = status.to_json() if isinstance(status, Model) else thaw(status)
        known = self.tree
        kept: Object = {name: known[name] for name in ("conditions", "observedGeneration") if name in known}
        self._set_tree({**kept, **tree})

    def condition(self, kind: str, status: bool | str | None, reason: str, message: str) -> bool:
        """Sets a condition, and returns True if the condition changed. None stands for `Unknown`."""
        if not isinstance(status, str):
            status = conditions.UNKNOWN if status is None else conditions.TRUE if status else conditions.FALSE
        return conditions.set_condition(
            self.tree.setdefault("conditions", []),
            self._clock,
            type=kind,
            status=status,
            reason=reason,
            message=message,
            observed_generation=self._generation,
        )

    def observe(self) -> None:
        """Sets `observedGeneration` to the generation that was reconciled."""
        if self._generation:
            self._observed = True
            self.tree["observedGeneration"] = self._generation

    @property
    def _version(self) -> str:
        """The version of the object after this reconcile's own writes."""
        version: str = self._object.get("metadata", {}).get("resourceVersion", "")
        while version in self._own_writes:
            version = self._own_writes[version]
        return version

    def record_transitions(self, recorder: Any, regarding: AnyObject, types: Collection[str], *, failed: bool) -> None:
        """Records an event for each of these conditions with a changed status.

        The event is a warning if the condition is not true and the reconcile `failed`.
        """
        was = {each.get("type"): each.get("status") for each in self._before.get("conditions") or ()}
        for each in self.tree.get("conditions") or ():
            kind, now = each.get("type"), each.get("status")
            if kind in types and now != was.get(kind):
                record = recorder.warning if failed and now != conditions.TRUE else recorder.normal
                record(regarding, each.get("reason") or kind, each.get("message") or f"{kind} is {now}")

    @property
    def changed(self) -> bool:
        return self.tree != self._before

    async def write(self, through: Reporting) -> bool:
        """Writes the changes. Returns True unless the kind dropped `observedGeneration`."""
        if not self.changed:
            return True
        change = mergepatch.diff(self._before, self._tree)
        version = self._version
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


class Status(MutableMapping[str, Json]):
    """The status of the object of a request: a mapping by the names in JSON, and for a typed kind an object with the
    fields of its status class.

    ctx.status["replicas"] = 3
    ctx.status.condition("Ready", True, "AllUp", "3 of 3 replicas are up")
    """

    __slots__ = ("_report",)
    _report: StatusReport

    def __init__(self, report: StatusReport) -> None:
        object.__setattr__(self, "_report", report)

    def __getitem__(self, field: str) -> Json:
        return self._report.tree[field]

    def __setitem__(self, field: str, value: Any) -> None:
        self._report.tree[field] = value.to_json() if isinstance(value, Model) else value

    def __delitem__(self, field: str) -> None:
        del self._report.tree[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._report.tree)

    def __len__(self) -> int:
        return len(self._report.tree)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._report.tree!r})"

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            raise self._missing(name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in type(self).__dict__:
                raise self._missing(name)
            object.__setattr__(self, name, value)

    def _missing(self, name: str) -> AttributeError:
        model = self._report.model
        if model is not None:
            return missing_field(model, name)
        return AttributeError(f"the status has no class with a field {name}: use ctx.status[{name!r}]")

    def put(self, status: Model | Object) -> None:
        """Replaces the whole status. Keeps conditions and `observedGeneration` if the new status has none."""
        self._report.put(status)

    def condition(
        self,
        type: str,  # noqa: A002 - the field's own name
        status: bool | str | None,
        reason: str,
        message: str = "",
    ) -> bool:
        """Sets a condition, and returns True if the condition changed. None stands for `Unknown`."""
        return self._report.condition(type, status, reason, message)

    def is_true(self, type: str) -> bool:  # noqa: A002 - the field's own name
        """Returns True if a condition is true."""
        return conditions.is_true(self._report.tree.get("conditions", []), type)


def _field(name: str) -> property:
    def read(self: Status) -> Any:
        fields = self._report.fields
        assert fields is not None
        return fields.read(name)

    def write(self: Status, value: Any) -> None:
        fields = self._report.fields
        assert fields is not None
        fields.write(name, value)

    return property(read, write)


@lru_cache(maxsize=1024)
def _class_of(model: type[Model]) -> type[Status]:
    """Returns the class of the statuses of a kind. A field hides a method of `Status` with the same name."""
    fields = {name: _field(name) for name in model.__struct_fields__}
    return type(model.__name__, (Status,), {"__slots__": (), **fields})
