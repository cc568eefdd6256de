"""PodNodeSelector: restricts the pods of a namespace to the nodes that the namespace's annotation selects."""

from collections.abc import Mapping

from setpoint.objects import labels, meta
from setpoint.objects.errors import InternalError
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"


class PodNodeSelector(Plugin):
    """Adds the selector of the namespace, or `default`, to new pods. `allowed` maps namespaces to the labels that pods
    may select. Both are written `a=b,c=d`."""

    name = "PodNodeSelector"

    def __init__(self, default: str = "", allowed: Mapping[str, str] | None = None) -> None:
        self._default = labels_of(default)
        self._allowed = {namespace: labels_of(text) for namespace, text in (allowed or {}).items()}

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        spec = operation.object["spec"]
        wanted = await self._wanted(context, operation)
        self._check(operation, wanted, spec.get("nodeSelector") or {})
        if wanted:
            spec["nodeSelector"] = {**wanted, **(spec.get("nodeSelector") or {})}
        self._check(operation, wanted, spec.get("nodeSelector") or {})

    async def validate(self, context: Context, operation: Operation) -> None:
        if not operation.subresource and operation.object is not None:
            selector = operation.object["spec"].get("nodeSelector") or {}
            self._check(operation, await self._wanted(context, operation), selector)

    async def _wanted(self, context: Context, operation: Operation) -> Mapping[str, str]:
        namespaces = context.registry.resource("", "v1", "namespaces")
        item = None
        if namespaces is not None:
            item = await context.services.store.get(namespaces.storage.key("", operation.namespace))
        if namespaces is None or item is None or _ANNOTATION.encode() not in item.value:
            return self._default
        text = meta.annotations(namespaces.item(item)).get(_ANNOTATION)
        if text is None:
            return self._default
        try:
            return labels_of(text)
        except ValueError as error:
            raise InternalError.of(str(error)) from None

    def _check(self, operation: Operation, wanted: Mapping[str, str], selector: Mapping[str, str]) -> None:
        if any(selector.get(name, value) != value for name, value in wanted.items()):
            raise forbidden(operation, "pod node label selector conflicts with its namespace node label selector")
        allowed = self._allowed.get(operation.namespace)
        if allowed and not selector.items() <= allowed.items():
            raise forbidden(operation, "pod node label selector labels conflict with its namespace whitelist")


def labels_of(text: str) -> Mapping[str, str]:
    """Parses `a=b,c=d`. Raises ValueError."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or "=" in value:
            raise ValueError(f"invalid selector: [{part}]")
        labels.parse(f"{name.strip()}={value.strip()}")
        found[name.strip()] = value.strip()
    return found
