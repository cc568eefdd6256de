"""The resources of containers and pods: names, amounts, and the quality of service class."""

from collections.abc import Callable, Collection, Mapping

from setpoint.objects.field import (
    FieldError,
    FieldErrorType,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    key,
    not_supported,
    required,
)
from setpoint.objects.names import qualified_name
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.validation.values import amount, label, wrong

HUGE_PAGES = "hugepages-"
_REQUESTS = "requests."
_DOMAIN = "kubernetes.io/"

_CONTAINER_RESOURCES = {"cpu", "memory", "ephemeral-storage"}
_STANDARD_RESOURCES = {
    *_CONTAINER_RESOURCES,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER_RESOURCES),
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    *("persistentvolumeclaims", "storage", "requests.storage"),
    *("services.nodeports", "services.loadbalancers"),
}
QUOTA_RESOURCES = _STANDARD_RESOURCES - {"storage"}
# Resources that are counted in whole numbers.
_INTEGER_RESOURCES = {
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
}
# Resources that a pod may have as a whole, apart from huge pages.
COMPUTE = ("cpu", "memory")
_NOT_INTEGER = "must be an integer"
_NameRule = Callable[[str, str], list[FieldError]]


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Returns True if the resource has a name of Kubernetes itself."""
    return "/" not in name or _DOMAIN in name


def is_extended(name: str) -> bool:
    """Returns True if the resource is an extended resource, of a device plugin or an administrator."""
    if is_native(name) or name.startswith(_REQUESTS):
        return False
    return not qualified_name(f"{_REQUESTS}{name}")


def resource_name(name: str, path: str) -> list[FieldError]:
    found = wrong(path, name, qualified_name(name))
    standard = name in _STANDARD_RESOURCES or is_huge_pages(name) or name.startswith("requests." + HUGE_PAGES)
    if not found and "/" not in name and not standard:
        found.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return found


def container_resource_name(name: str, path: str) -> list[FieldError]:
    found = resource_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not is_huge_pages(name):
            found.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return found


def _pod_resource_name(name: str, path: str) -> list[FieldError]:
    found = resource_name(name, path)
    if not found and name not in ("cpu", "memory") and not is_huge_pages(name):
        found.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return found


def resource_amount(name: str, value: Json, path: str) -> list[FieldError]:
    """Validates an amount of a resource: not negative, and whole for countable resources."""
    quantity = amount(value)
    found = [invalid(path, str(quantity), "must be greater than or equal to 0")] if quantity.sign < 0 else []
    if (name in _INTEGER_RESOURCES or is_extended(name)) and quantity.value(-3) % 1000:
        found.append(invalid(path, str(quantity), _NOT_INTEGER))
    return found


def _may_be_overcommitted(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def validate_resources(resources: Object, path: str, claims: Collection[str] = ()) -> list[FieldError]:
    """Validates the limits, requests and claims of a container."""
    found = _validate_amounts(resources, path, container_resource_name)
    return found + _validate_claims(resources.get("claims") or [], child(path, "claims"), claims)


def validate_pod_resources(spec: Object, path: str, claims: Collection[str]) -> list[FieldError]:
    """Validates the limits and requests of a whole pod, which must cover those of its containers."""
    resources = spec.get("resources")
    if resources is None:
        return []
    place = child(path, "resources")
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(place, "may not be set for a windows pod")]
    found: list[FieldError] = []
    if resources.get("claims") is not None:
        found.append(forbidden(child(place, "claims"), "claims may not be set for Resources at pod-level"))
    found += _validate_amounts(resources, place, _pod_resource_name)
    found += _validate_claims(resources.get("claims") or [], child(place, "claims"), claims)
    asked_by_all = total_requests(spec)
    for name, asked in (resources.get("requests") or {}).items():
        if name in asked_by_all and asked_by_all[name] > amount(asked):
            why = f"must be greater than or equal to aggregate container requests of {asked_by_all[name]}"
            found.append(invalid(key(child(place, "requests"), name), asked, why))
    limits = resources.get("limits") or {}
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount(limit) > amount(limits[name]):
                place_of = child(key(index(child(place, "containers"), position), name), "limits")
                found.append(invalid(place_of, limit, f"must be less than or equal to pod limits of {limits[name]}"))
    return found


def total(spec: Object, of: Callable[[Object], Mapping[str, Json]]) -> dict[str, Quantity]:
    """Returns the total resources of the containers of a pod, given by `of`: the sum of all that run concurrently, or
    the maximum of the init containers if that is higher."""
    found: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        add_amounts(found, of(container))
    peak: dict[str, Quantity] = {}
    sidecars: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            add_amounts(found, of(container))
            add_amounts(sidecars, of(container))
            step = dict(sidecars)
        else:
            step = dict(sidecars)
            add_amounts(step, of(container))
        for name, quantity in step.items():
            peak[name] = max(peak.get(name, quantity), quantity)
    for name, quantity in peak.items():
        found[name] = max(found.get(name, quantity), quantity)
    return found


def total_requests(spec: Object) -> dict[str, Quantity]:
    """Returns the total requests of the containers of a pod."""
    return total(spec, lambda container: (container.get("resources") or {}).get("requests") or {})


def default_pod_resources(spec: Object) -> None:
    """Completes the requests and limits of a pod that has some of its own, in place, by those of its containers."""
    resources = spec.get("resources") or {}
    requests: dict[str, Json] = {**(resources.get("requests") or {})}
    limits: dict[str, Json] = {**(resources.get("limits") or {})}
    if not requests and not limits:
        return
    allowed = total(spec, lambda container: (container.get("resources") or {}).get("limits") or {})
    limits |= {
        name: str(quantity)
        for name, quantity in allowed.items()
        if is_huge_pages(name) and name not in requests and name not in limits
    }
    asked = {name: str(quantity) for name, quantity in total_requests(spec).items() if name in COMPUTE}
    shared = {name: limit for name, limit in limits.items() if name in COMPUTE or is_huge_pages(name)}
    requests = {**shared, **asked, **requests}
    for name in _limited(spec):
        if name in requests and name not in limits and name in allowed:
            limits[name] = str(max(allowed[name], amount(requests[name])))
    resources["requests"] = requests
    if limits:
        resources["limits"] = limits


def _limited(spec: Object) -> set[str]:
    """Returns the resources that all containers of a pod limit, and that a pod may limit."""
    kinds = ("containers", "initContainers", "ephemeralContainers")
    holders = [container for kind in kinds for container in spec.get(kind) or ()]
    found = [set((container.get("resources") or {}).get("limits") or ()) for container in holders]
    return {name for name in set.intersection(*found) if name in COMPUTE or is_huge_pages(name)} if found else set()


def add_amounts(total: dict[str, Quantity], amounts: Mapping[str, Json]) -> None:
    """Adds amounts to a total, in place."""
    for name, value in amounts.items():
        quantity = amount(value)
        total[name] = total[name] + quantity if name in total else quantity


def _validate_amounts(resources: Object, path: str, name_rule: _NameRule) -> list[FieldError]:
    found: list[FieldError] = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    limits_path, requests_path = child(path, "limits"), child(path, "requests")
    for name, limit in limits.items():
        found += _validate_amount(name, limit, key(limits_path, name), name_rule)
    for name, request in requests.items():
        found += _validate_amount(name, request, key(requests_path, name), name_rule)
        if name in limits:
            asked, limit = amount(request), amount(limits[name])
            if asked != limit and not _may_be_overcommitted(name):
                found.append(invalid(requests_path, str(asked), f"must be equal to {name} limit of {limit}"))
            elif asked > limit:
                why = f"must be less than or equal to {name} limit of {limit}"
                found.append(invalid(requests_path, str(asked), why))
        elif not _may_be_overcommitted(name):
            found.append(required(limits_path, "Limit must be set for non overcommitable resources"))
    names = {*limits, *requests}
    if any(map(is_huge_pages, names)) and not names & {"cpu", "memory"}:
        found.append(forbidden(path, "HugePages require cpu or memory"))
    return found


def _validate_amount(name: str, value: Json, path: str, name_rule: _NameRule) -> list[FieldError]:
    found = name_rule(name, path) + resource_amount(name, value, path)
    if is_huge_pages(name) and not _is_divisible(name, amount(value)):
        found.append(invalid(path, value, f"{value} is not positive integer multiple of {name}"))
    return found


def _is_divisible(name: str, quantity: Quantity) -> bool:
    try:
        page = Quantity.parse(name.removeprefix(HUGE_PAGES)).value()
    except ValueError:
        return False
    return page > 0 and quantity.value(-3) % (page * 1000) == 0


def _validate_claims(entries: list[Object], path: str, claims: Collection[str]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, entry in enumerate(entries):
        place = index(path, position)
        name, request = entry.get("name") or "", entry.get("request") or ""
        if not name:
            found.append(required(place))
            continue
        whole = f"{name}/{request}" if request else name
        if name in seen:
            found.append(duplicate(place, name))
        elif whole in seen:
            found.append(duplicate(place, whole))
        elif not request and any(other.startswith(f"{name}/") for other in seen):
            found.append(duplicate(place, name))
        if request:
            found += label(request, child(place, "request"))
        seen.add(whole)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{known}"
            found.append(FieldError(FieldErrorType.NOT_FOUND, place, name, why))
    return found


# --- quality of service ---


def quality_of_service(spec: Object) -> str:
    """Returns `Guaranteed`, `Burstable` or `BestEffort`, from the requests and limits of the containers."""
    holders = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if spec.get("resources"):
        holders = [spec]
    asked: set[str] = set()
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources") or {}
        requests, limits = _compute(resources.get("requests")), _compute(resources.get("limits"))
        asked |= requests.keys() | limits.keys()
        wanted = {**limits, **requests}
        guaranteed = guaranteed and limits.keys() == {"cpu", "memory"} and wanted == limits
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(amounts: Mapping[str, Json] | None) -> dict[str, Quantity]:
    """Returns the positive amounts of cpu and memory."""
    found = {name: amount(value) for name, value in (amounts or {}).items() if name in ("cpu", "memory")}
    return {name: quantity for name, quantity in found.items() if quantity.sign > 0}
