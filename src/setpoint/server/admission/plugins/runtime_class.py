"""RuntimeClass: applies the overhead and scheduling constraints of a RuntimeClass to pods."""

from setpoint.objects.tree import Object, copy
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.kinds.validation.values import amount
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_UNFOUNDED = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass(Plugin):
    """Sets the overhead, the node selector and the tolerations that the class of a new pod defines."""

    name = "RuntimeClass"

    def __init__(self) -> None:
        self._classes = Lookup("node.k8s.io", "v1", "runtimeclasses", lambda tree: tree)

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        spec = operation.object["spec"]
        found = await self._class(context, operation, spec)
        overhead = (found or {}).get("overhead")
        if overhead is not None:
            fixed = overhead.get("podFixed") or {}
            if spec.get("overhead") and not _same(fixed, spec["overhead"]):
                raise forbidden(operation, _MISMATCH)
            spec["overhead"] = {**fixed}
        scheduling = (found or {}).get("scheduling")
        if scheduling is not None:
            _schedule(operation, spec, scheduling)

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        spec = operation.object["spec"]
        overhead = (await self._class(context, operation, spec) or {}).get("overhead")
        if overhead is not None:
            if not _same(overhead.get("podFixed") or {}, spec.get("overhead") or {}):
                raise forbidden(operation, _MISMATCH)
        elif spec.get("overhead") is not None:
            raise forbidden(operation, _UNFOUNDED)

    async def _class(self, context: Context, operation: Operation, spec: Object) -> Object | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        found = await self._classes.get(context.services, name)
        if found is None:
            raise forbidden(operation, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _same(one: Object, other: Object) -> bool:
    return one.keys() == other.keys() and all(amount(one[name]) == amount(other[name]) for name in one)


def _schedule(operation: Operation, spec: Object, scheduling: Object) -> None:
    selector = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        own = selector.get(key, value)
        if own != value:
            text = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise forbidden(operation, f"{text}; pod.spec.nodeSelector[{key}] = {own}")
        selector = {**selector, key: value}
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merge_tolerations(spec.get("tolerations") or [], copy(scheduling.get("tolerations") or []))
    if tolerations:
        spec["tolerations"] = tolerations


def merge_tolerations(first: list[Object], second: list[Object]) -> list[Object]:
    """Merges two lists of tolerations without those that another toleration includes. Of two equal ones the first is
    kept."""
    everything = [*first, *second]
    merged: list[Object] = []
    for position, toleration in enumerate(everything):
        if any(_includes(other, toleration) for other in merged):
            continue
        later = everything[position + 1 :]
        if not any(other != toleration and _includes(other, toleration) for other in later):
            merged.append(toleration)
    return merged


def _includes(wide: Object, narrow: Object) -> bool:
    """Returns True if `wide` tolerates all taints that `narrow` tolerates."""
    if wide == narrow:
        return True
    operator = wide.get("operator") or "Equal"
    if (narrow.get("key") or "") != (wide.get("key") or "") and (wide.get("key") or operator != "Exists"):
        return False
    effect = wide.get("effect") or ""
    if effect and effect != (narrow.get("effect") or ""):
        return False
    seconds = wide.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None:
        granted = narrow.get("tolerationSeconds")
        if granted is None or granted > seconds:
            return False
    if operator == "Exists":
        return True
    return (
        operator == "Equal"
        and narrow.get("operator") == "Equal"
        and (narrow.get("value") or "") == (wide.get("value") or "")
    )
