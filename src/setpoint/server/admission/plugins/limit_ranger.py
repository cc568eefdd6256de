"""LimitRanger: applies default requests and limits of a namespace, and enforces its minimum and maximum amounts."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import all_of, forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.kinds.core.pod.resources import total
from setpoint.server.registry.kinds.validation.values import amount
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_ANNOTATION = "kubernetes.io/limit-ranger"
# Upstream does not compare larger amounts in thousandths.
_MAX_MILLI = (1 << 63) // 1000

Amounts = Mapping[str, Quantity]


class _Limit(NamedTuple):
    """One entry of a LimitRange."""

    type: str
    min: Amounts
    max: Amounts
    ratio: Amounts


class LimitRange(NamedTuple):
    """A LimitRange: the defaults for containers, and the enforced limits."""

    default_limits: Mapping[str, str]
    default_requests: Mapping[str, str]
    limits: Sequence[_Limit]


def read(tree: Object) -> LimitRange:
    limits = (tree.get("spec") or {}).get("limits") or []
    of_containers = [limit for limit in limits if limit.get("type") == "Container"]
    return LimitRange(
        {name: value for limit in of_containers for name, value in (limit.get("default") or {}).items()},
        {name: value for limit in of_containers for name, value in (limit.get("defaultRequest") or {}).items()},
        [_Limit(limit.get("type") or "", *(_amounts(limit.get(field)) for field in _BOUNDS)) for limit in limits],
    )


_BOUNDS = ("min", "max", "maxLimitRequestRatio")


def _amounts(resources: Mapping[str, object] | None) -> Amounts:
    return {name: amount(value) for name, value in sorted((resources or {}).items())}


class LimitRanger(Plugin):
    """Fills in the defaults of containers, and refuses objects outside the limits of any LimitRange of the
    namespace."""

    name = "LimitRanger"

    def __init__(self) -> None:
        self._ranges = Lookup("", "v1", "limitranges", read)

    def concerns(self, resource: Resource, verb: str) -> bool:
        is_claims = resource.resource == "persistentvolumeclaims" and not resource.group
        return (is_pods(resource) or is_claims) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.object is not None and is_pods(operation.resource) and _can_change_requests(operation):
            for limit_range in (await self._ranges.all(context.services, operation.namespace)).values():
                fill_in(operation.object, limit_range)

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.object is None or not _can_change_requests(operation):
            return
        problems_of = pod_problems if is_pods(operation.resource) else claim_problems
        for limit_range in (await self._ranges.all(context.services, operation.namespace)).values():
            problems = [found for limit in limit_range.limits for found in problems_of(operation.object, limit)]
            if problems:
                raise forbidden(operation, all_of(problems))


def _can_change_requests(operation: Operation) -> bool:
    """Returns True if the write can change requested resources: for pods, only creation and resizing can."""
    if operation.old is not None and meta.is_being_deleted(operation.old):
        return False
    if is_pods(operation.resource) and operation.verb == UPDATE:
        return operation.subresource == "resize"
    return not operation.subresource


def fill_in(pod: Object, limit_range: LimitRange) -> None:
    """Applies the defaults to the containers of a pod and lists them in an annotation."""
    done: list[str] = []
    for field, called in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field) or ():
            resources = container.setdefault("resources", {})
            for kind, word, defaults in (
                ("requests", "request", limit_range.default_requests),
                ("limits", "limit", limit_range.default_limits),
            ):
                missing = sorted(defaults.keys() - (resources.get(kind) or {}).keys())
                if missing:
                    resources[kind] = {**(resources.get(kind) or {}), **{name: defaults[name] for name in missing}}
                    done.append(f"{', '.join(missing)} {word} for {called} {container.get('name') or ''}")
    if done:
        pod["metadata"].setdefault("annotations", {})[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(done)}"


def pod_problems(pod: Object, limit: _Limit) -> list[str]:
    """Returns the violations of one limit by a pod."""
    spec = pod["spec"]
    if limit.type == "Container":
        found = []
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                found += _problems(limit, _amounts(resources.get("requests")), _amounts(resources.get("limits")))
        return found
    if limit.type == "Pod":
        return _problems(limit, _of_pod(spec, "requests"), _of_pod(spec, "limits"))
    return []


def _of_pod(spec: Object, kind: str) -> Amounts:
    """Returns the total resources of a pod. CPU and memory at pod level take precedence over the containers."""
    own = (spec.get("resources") or {}).get(kind) or {}
    return total(spec, lambda container: (container.get("resources") or {}).get(kind) or {}) | {
        name: amount(value) for name, value in own.items() if name in ("cpu", "memory")
    }


def claim_problems(claim: Object, limit: _Limit) -> list[str]:
    """Returns the violations of one limit by the requests of a PersistentVolumeClaim."""
    if limit.type != "PersistentVolumeClaim":
        return []
    requests = _amounts((claim["spec"].get("resources") or {}).get("requests"))
    found = [problem for name in limit.min if (problem := _too_little(limit.type, name, limit.min[name], requests, {}))]
    for name, most in limit.max.items():
        asked = requests.get(name)
        text = f"maximum {name} usage per {limit.type} is {most}"
        if asked is None:
            found.append(f"{text}.  No request is specified")
        elif _compare(asked, most) > 0:
            found.append(f"{text}, but request is {asked}")
    return found


_Rule = Callable[[str, str, Quantity, Amounts, Amounts], str]


def _problems(limit: _Limit, requests: Amounts, limits: Amounts) -> list[str]:
    rules: Sequence[tuple[Amounts, _Rule]] = (
        (limit.min, _too_little),
        (limit.max, _too_much),
        (limit.ratio, _too_far_apart),
    )
    return [
        problem
        for bounds, rule in rules
        for name, bound in bounds.items()
        if (problem := rule(limit.type, name, bound, requests, limits))
    ]


def _too_little(kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"minimum {name} usage per {kind} is {least}"
    if request is None:
        return f"{text}.  No request is specified"
    if _compare(request, least) < 0:
        return f"{text}, but request is {request}"
    if limit is not None and _compare(limit, least) < 0:
        return f"{text}, but limit is {limit}"
    return ""


def _too_much(kind: str, name: str, most: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"maximum {name} usage per {kind} is {most}"
    if limit is None:
        return f"{text}.  No limit is specified"
    if _compare(limit, most) > 0:
        return f"{text}, but limit is {limit}"
    if request is not None and _compare(request, most) > 0:
        return f"{text}, but request is {request}"
    return ""


def _too_far_apart(kind: str, name: str, most: Quantity, requests: Amounts, limits: Amounts) -> str:
    request, limit = requests.get(name), limits.get(name)
    text = f"{name} max limit to request ratio per {kind} is {most}"
    if request is None or not request.sign:
        return f"{text}, but no request is specified or request is 0"
    if limit is None or not limit.sign:
        return f"{text}, but no limit is specified or limit is 0"
    ratio = _milli(limit) / _milli(request)
    if ratio * 1000 > _milli(most):
        return f"{text}, but provided ratio is {ratio:f}"
    return ""


def _compare(one: Quantity, other: Quantity) -> int:
    mine, its = _milli(one), _milli(other)
    return (mine > its) - (mine < its)


def _milli(quantity: Quantity) -> int:
    """Returns the amount in thousandths. Like kube-apiserver, rounds very large amounts to whole units."""
    return quantity.value(-3) if abs(quantity.value()) <= _MAX_MILLI else quantity.value() * 1000
