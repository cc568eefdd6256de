"""PodSecurity: enforces the Pod Security Standard that the labels of a namespace select.

Pods that violate the enforced level are refused. Workloads such as Deployments are admitted with a warning, because
only their pods will be refused. When the enforced level of a namespace becomes stricter, the client is warned about
existing pods that violate the new level.
"""

from collections.abc import Collection, Sequence
from typing import Any

from setpoint.objects import meta
from setpoint.objects.errors import Invalid
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import is_pods, makes_pods, pod_in
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.admission.podsecurity.evaluate import violations, violations_text
from setpoint.server.admission.podsecurity.pod_security_levels import PREFIX, PodSecurityLevels, Standard, policy_of
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_NAMESPACES = GroupResource("", "namespaces")
_HARMLESS = frozenset(("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"))
_MOST_PODS = 3000


class PodSecurity(Plugin):
    """The plugin, with the default policy for namespaces without labels, and with exemptions."""

    name = "PodSecurity"

    def __init__(
        self,
        default: PodSecurityLevels = PodSecurityLevels(),  # noqa: B008 - immutable
        *,
        exempt_namespaces: Collection[str] = (),
        exempt_usernames: Collection[str] = (),
        exempt_runtime_classes: Collection[str] = (),
    ) -> None:
        self._default = default
        self._exempt_namespaces = frozenset(exempt_namespaces)
        self._exempt_usernames = frozenset(exempt_usernames)
        self._exempt_runtime_classes = frozenset(exempt_runtime_classes)

    def concerns(self, resource: Resource, verb: str) -> bool:
        found = resource.group_resource
        return verb in (CREATE, UPDATE) and (found == _NAMESPACES or makes_pods(resource))

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.object is None:
            return
        if operation.resource.group_resource == _NAMESPACES:
            if not operation.subresource:
                await self._validate_namespace(context, operation, operation.object)
            return
        is_pod = is_pods(operation.resource)
        if operation.subresource in _HARMLESS or (operation.subresource and not is_pod):
            return
        policy = await self._policy(context, operation.namespace)
        if policy.allows_all or (not is_pod and policy.warn.allows_all and policy.audit.allows_all):
            return
        if operation.namespace in self._exempt_namespaces or context.user.name in self._exempt_usernames:
            return
        pod = pod_in(operation.resource, operation.object)
        if pod is None or (is_pod and operation.old is not None and not _has_new_images(pod, operation.old)):
            return
        self._judge(context, operation, policy, pod, enforced=is_pod)

    async def _policy(self, context: Context, namespace: str) -> PodSecurityLevels:
        """Returns the policy of a namespace. Invalid labels select a safe level."""
        namespaces = context.registry.resource("", "v1", "namespaces")
        item = None
        if namespaces is not None:
            item = await context.services.store.get(namespaces.storage.key("", namespace))
        if namespaces is None or item is None or PREFIX.encode() not in item.value:
            return self._default
        return policy_of(meta.labels(namespaces.item(item)), self._default)[0]

    def _judge(
        self, context: Context, operation: Operation, policy: PodSecurityLevels, pod: Object, *, enforced: bool
    ) -> None:
        metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
        if spec.get("runtimeClassName") in self._exempt_runtime_classes:
            return
        if enforced:
            context.annotations[f"{PREFIX}enforce-policy"] = str(policy.enforce)
        audited = violations(policy.audit, metadata, spec)
        if audited:
            text = f'would violate PodSecurity "{policy.audit}": {violations_text(audited)}'
            context.annotations[f"{PREFIX}audit-violations"] = text
        if enforced:
            found = violations(policy.enforce, metadata, spec)
            if found:
                raise forbidden(operation, f'violates PodSecurity "{policy.enforce}": {violations_text(found)}')
        warned = audited if policy.warn == policy.audit else violations(policy.warn, metadata, spec)
        if warned:
            context.warn(f'would violate PodSecurity "{policy.warn}": {violations_text(warned)}')

    async def _validate_namespace(self, context: Context, operation: Operation, tree: Object) -> None:
        labels, name = meta.labels(tree), meta.name(tree)
        new, errors = policy_of(labels, self._default)
        if operation.old is None:
            if errors:
                raise Invalid.of(operation.resource.group_kind, name, errors)
            self._warn_of_exemption(context, name, new, labels)
            return
        old, known = policy_of(meta.labels(operation.old), self._default)
        if errors and errors != known:
            raise Invalid.of(operation.resource.group_kind, name, errors)
        before, after = old.enforce, new.enforce
        is_relaxed = after.version == before.version and after.strictness <= before.strictness
        if after == before or after.allows_all or is_relaxed:
            return
        if name in self._exempt_namespaces:
            self._warn_of_exemption(context, name, new, labels)
            return
        for warning in await self._existing(context, name, after):
            context.warn(warning)

    def _warn_of_exemption(
        self, context: Context, name: str, policy: PodSecurityLevels, labels: dict[str, str]
    ) -> None:
        if name not in self._exempt_namespaces or policy.allows_all or policy.is_equivalent(self._default):
            return
        messages = [
            f"{mode}={standard}"
            for mode, standard in zip(PodSecurityLevels._fields, policy, strict=True)
            if not standard.allows_all and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
        ]
        text = f'namespace "{name}" is exempt from Pod Security, and the policy'
        context.warn(f"{text} ({', '.join(messages)}) will be ignored")

    async def _existing(self, context: Context, namespace: str, standard: Standard) -> list[str]:
        """Returns warnings about existing pods of a namespace that violate a standard. One pod of each controller is
        checked before the others."""
        pods = context.registry.resource("", "v1", "pods")
        if pods is None:
            return []
        page = await context.services.store.range(pods.storage.scope(namespace))
        first: list[Object] = []
        others: list[Object] = []
        controllers: set[Any] = set()
        for pod in map(pods.item, page.items):
            if pod["spec"].get("runtimeClassName") in self._exempt_runtime_classes:
                continue
            owner = next((found.get("uid") for found in meta.owner_references(pod) if found.get("controller")), None)
            (others if owner in controllers else first).append(pod)
            if owner is not None:
                controllers.add(owner)
        everybody = [*first, *others]
        problems: dict[str, list[str]] = {}
        for pod in everybody[:_MOST_PODS]:
            found = violations(standard, pod["metadata"], pod["spec"])
            if found:
                problems.setdefault(", ".join(violation.reason for violation in found), []).append(meta.name(pod))
        warnings = []
        if len(everybody) > _MOST_PODS:
            checked = f"the first {_MOST_PODS} of {len(everybody)} existing pods"
            warnings.append(f"new PodSecurity enforce level only checked against {checked}")
        if problems:
            text = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level'
            warnings.append(f'{text} "{standard}"')
        return warnings + sorted(f"{_named(names)}: {problem}" for problem, names in problems.items())


def _has_new_images(new: Object, old: Object) -> bool:
    """Returns True if an update changes images or adds containers, so that the pod must be checked again."""
    spec, stored = new["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        if _images(spec, field) != _images(stored, field):
            return True
    known = {(found.get("name"), found.get("image")) for found in stored.get("ephemeralContainers") or ()}
    return any((found.get("name"), found.get("image")) not in known for found in spec.get("ephemeralContainers") or ())


def _images(spec: Object, field: str) -> list[str]:
    return [container.get("image") or "" for container in spec.get(field) or ()]


def _named(names: Sequence[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other pod{'' if others == 1 else 's'})"
