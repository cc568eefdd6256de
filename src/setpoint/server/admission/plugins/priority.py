"""Priority: computes the priority of a pod from its PriorityClass, or from the default class."""

from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_NOT_BOTH = "must not be provided in pod spec; priority admission controller computed"


class _Class(NamedTuple):
    name: str
    value: int
    preemption: str
    is_default: bool


_NO_CLASS = _Class("", 0, "PreemptLowerPriority", False)


def _read(tree: Object) -> _Class:
    preemption = tree.get("preemptionPolicy") or ""
    return _Class(meta.name(tree), tree.get("value") or 0, preemption, bool(tree.get("globalDefault")))


class Priority(Plugin):
    """Sets the priority of new pods, keeps that of existing pods, and refuses a second default class."""

    name = "Priority"

    def __init__(self) -> None:
        self._classes = Lookup("scheduling.k8s.io", "v1", "priorityclasses", _read)

    def concerns(self, resource: Resource, verb: str) -> bool:
        is_class = resource.resource == "priorityclasses" and resource.group == "scheduling.k8s.io"
        return (is_pods(resource) or is_class) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None or not is_pods(operation.resource):
            return
        spec = operation.object["spec"]
        if operation.old is not None:
            stored = operation.old["spec"]
            for name in ("priority", "preemptionPolicy"):
                if name not in spec and name in stored:
                    spec[name] = stored[name]
            return
        found = await self._class(context, operation, spec.get("priorityClassName") or "")
        given = spec.get("priority")
        if given is not None and given != found.value:
            why = f"the integer value of priority ({given}) {_NOT_BOTH} {found.value} from the given PriorityClass name"
            raise forbidden(operation, why)
        policy = spec.get("preemptionPolicy")
        if policy is not None and found.preemption and policy != found.preemption:
            text = f"the string value of PreemptionPolicy ({policy})"
            raise forbidden(operation, f"{text} {_NOT_BOTH} {found.preemption} from the given PriorityClass name")
        if found.name:
            spec["priorityClassName"] = found.name
        spec["priority"] = found.value
        if found.preemption:
            spec["preemptionPolicy"] = found.preemption

    async def _class(self, context: Context, operation: Operation, name: str) -> _Class:
        if not name:
            return await self._default(context) or _NO_CLASS
        found = await self._classes.get(context.services, name)
        if found is None:
            raise forbidden(operation, f"no PriorityClass with name {name} was found")
        return found

    async def _default(self, context: Context) -> _Class | None:
        """Returns the default class. If two were created concurrently, returns the one with the lower value."""
        defaults = [found for found in (await self._classes.all(context.services)).values() if found.is_default]
        return min(defaults, key=lambda found: found.value, default=None)

    async def validate(self, context: Context, operation: Operation) -> None:
        tree = operation.object
        if operation.subresource or tree is None or not tree.get("globalDefault") or is_pods(operation.resource):
            return
        default = await self._default(context)
        if default is not None and (operation.verb == CREATE or default.name != operation.name):
            why = f"PriorityClass {default.name} is already marked as default. Only one default can exist"
            raise forbidden(operation, why)
