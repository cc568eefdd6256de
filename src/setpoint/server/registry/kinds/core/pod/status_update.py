"""Validation of updates of the status of a pod."""

from collections.abc import Iterator

from setpoint.objects.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    internal,
    invalid,
    not_supported,
    required,
    too_long,
)
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.pod.update import validate_annotations
from setpoint.server.registry.kinds.validation.values import (
    INT32_MAX,
    amount,
    immutable,
    ip,
    label,
    parse_ip,
    qualified,
    subdomain,
    wrong,
)

_TERMINATED = "may not be transitioned to non-terminated state"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_CLAIM = "claim:"
_MESSAGE_BYTES = 1024
_UINT32_MAX = 2**32 - 1
_COUNT = "must be a non-negative integer"
_REQUESTS = "spec.initContainers.resources.requests or spec.containers.resources.requests"


def validate_status_update(tree: Object, old: Object) -> list[FieldError]:
    """Validates an update of the status."""
    spec, stored = tree.get("spec") or {}, old.get("spec") or {}
    status, before = tree.get("status") or {}, old.get("status") or {}
    found = [*validate_annotations(tree, old), *_validate_conditions(status.get("conditions") or [])]
    nominated = status.get("nominatedNodeName") or ""
    if nominated and nominated != before.get("nominatedNodeName"):
        found += wrong("status.nominatedNodeName", nominated, dns1123_subdomain(nominated))
        if stored.get("nodeName"):
            why = "may not be set on pods that are already bound to a node"
            found.append(forbidden("status.nominatedNodeName", why))
    if status.get("observedGeneration", 0) < 0:
        found.append(invalid("status.observedGeneration", status["observedGeneration"], _COUNT))
    found += immutable(status.get("qosClass") or "", before.get("qosClass") or "", "status.qosClass")
    for name in _STATUSES:
        found += _validate_states(status.get(name) or [], before.get(name) or [], name, stored)
    found += _validate_claims(status.get("resourceClaimStatuses") or [], spec.get("resourceClaims") or [])
    extended = status.get("extendedResourceClaimStatus")
    if extended is not None:
        found += _validate_extended_claim(extended, spec, "status.extendedResourceClaimStatus")
    found += _validate_addresses(status, before, "podIP", "podIPs")
    found += _validate_addresses(status, before, "hostIP", "hostIPs")
    for name in _STATUSES:
        found += _validate_users(status.get(name) or [], child("status", name), spec)
    for name in _STATUSES:
        found += _validate_resources(status.get(name) or [], name, spec, extended or {})
    return found


def _validate_conditions(conditions: list[Object]) -> Iterator[FieldError]:
    for position, condition in enumerate(conditions):
        path = index("status.conditions", position)
        if condition.get("observedGeneration", 0) < 0:
            yield invalid(child(path, "observedGeneration"), condition["observedGeneration"], _COUNT)
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            yield from qualified(kind, child(path, "Type"))


def _validate_states(new: list[Object], old: list[Object], name: str, spec: Object) -> list[FieldError]:
    """Validates that a container that has terminated for good does not run again."""
    is_ephemeral = name == "ephemeralContainerStatuses"
    field = "initContainers" if name == "initContainerStatuses" else "containers"
    containers = {} if is_ephemeral else {each.get("name"): each for each in reversed(spec.get(field) or ())}
    if not is_ephemeral and _could_all_restart(spec):
        return []
    found: list[FieldError] = []
    for position, status in enumerate(old):
        terminated = (status.get("state") or {}).get("terminated")
        if terminated is None:
            continue
        runs = [
            each
            for each in new
            if each.get("name") == status.get("name") and "terminated" not in (each.get("state") or {})
        ]
        container = containers.get(status.get("name"))
        if container is not None and _should_restart(container, spec, terminated.get("exitCode") or 0):
            continue
        place = child(index(child("status", name), position), "state")
        found += [forbidden(place, _TERMINATED) for _ in (runs if is_ephemeral else runs[:1])]
    return found


def _could_all_restart(spec: Object) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _should_restart(container: Object, spec: Object, code: int) -> bool:
    """Returns True if a container is restarted after this exit code."""
    own = container.get("restartPolicy")
    if own is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            matches = code in (codes.get("values") or ())
            if codes.get("operator") == ("In" if matches else "NotIn"):
                # The first rule that matches decides; all known actions restart.
                return True
    policy = own if own is not None else spec.get("restartPolicy")
    return code != 0 if policy == "OnFailure" else policy != "Never"


def _validate_claims(statuses: list[Object], claims: list[Object]) -> list[FieldError]:
    known, names = {claim.get("name") for claim in claims}, set()
    found: list[FieldError] = []
    for position, status in enumerate(statuses):
        path, name = index("status.resourceClaimStatuses", position), status.get("name") or ""
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            found.append(invalid(child(path, "name"), name, why))
        if name in names:
            found.append(duplicate(child(path, "name"), name))
        names.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            found += subdomain(claim, child(path, "resourceClaimName"))
    return found


def _validate_extended_claim(status: Object, spec: Object, path: str) -> list[FieldError]:
    containers = {
        container.get("name") or "": container
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
    }
    mappings = status.get("requestMappings") or []
    place = child(path, "requestMappings")
    found = [] if mappings else [required(place, "at least one request mapping is required")]
    seen = set()
    for position, mapping in enumerate(mappings):
        names = [mapping.get(name) or "" for name in ("containerName", "resourceName", "requestName")]
        container, resource, request = names
        where = index(place, position)
        if container not in containers:
            why = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            found.append(invalid(child(where, "containerName"), container, why))
        elif resource not in _requests(containers[container]):
            why = f"must match the extended resource name of an entry in {_REQUESTS}"
            found.append(invalid(child(where, "resourceName"), resource, why))
        found += label(request, child(path, "requestName"))
        if tuple(names) in seen:
            found += [
                duplicate(child(where, name), value)
                for name, value in zip(("containerName", "resourceName", "requestName"), names, strict=True)
            ]
        seen.add(tuple(names))
    claim = status.get("resourceClaimName") or ""
    place = child(path, "resourceClaimName")
    return found + (subdomain(claim, place) if claim else [required(place)])


def _requests(container: Object) -> Object:
    found: Object = (container.get("resources") or {}).get("requests") or {}
    return found


def _validate_addresses(status: Object, before: Object, one: str, several: str) -> list[FieldError]:
    addresses = [entry.get("ip") or "" for entry in status.get(several) or ()]
    known = [entry.get("ip") or "" for entry in before.get(several) or ()]
    path, single = child("status", several), status.get(one) or ""
    shown = None if status.get(several) is None else [{"IP": address} for address in addresses]
    unequal: list[FieldError] = []
    if addresses and single != addresses[0]:
        unequal = [invalid(child(index(path, 0), "ip"), addresses[0], f"must be equal to `{one}`")]
    found = [] if one == "podIP" else unequal
    for position, address in enumerate(addresses):
        if address not in known:
            found += ip(address, index(path, position))
    families = {found_ip.version for address in addresses if (found_ip := parse_ip(address)) is not None}
    if len(addresses) > 1:
        unread = next((at for at, address in enumerate(addresses) if parse_ip(address) is None), None)
        if unread is not None:
            why = f"failed to check for dual stack with error:invalid IP[{unread}]: {addresses[unread]}"
            found.append(internal(path, why))
        if unread is not None or len(families) < 2 or len(addresses) > 2:
            found.append(invalid(path, shown, "may specify no more than one IP for each IP family"))
    if one != "podIP":
        return found
    if bool(single) != bool(addresses):
        why = "podIP and podIPs must either both be set or both be unset"
        return [*found, invalid(path, shown, why)]
    return found + unequal


def _validate_users(statuses: list[Object], path: str, spec: Object) -> list[FieldError]:
    system = (spec.get("os") or {}).get("name", "linux")
    found: list[FieldError] = []
    for position, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        place = child(index(path, position), "user.linux")
        if user is None:
            continue
        if system == "windows":
            found.append(forbidden(place, "cannot be set for a windows pod"))
        elif system == "linux":
            groups = user.get("supplementalGroups") or []
            ids = [("uid", user.get("uid") or 0, _UINT32_MAX), ("gid", user.get("gid") or 0, INT32_MAX)]
            ids += [(index("supplementalGroups", at), group, INT32_MAX) for at, group in enumerate(groups)]
            found += [
                invalid(child(place, name), number, f"must be between 0 and {most}, inclusive")
                for name, number, most in ids
                if not 0 <= number <= most
            ]
    return found


def _validate_resources(statuses: list[Object], name: str, spec: Object, extended: Object) -> list[FieldError]:
    found: list[FieldError] = []
    field = "initContainers" if name == "initContainerStatuses" else "containers"
    containers = {each.get("name"): each for each in reversed(spec.get(field) or ())}
    for position, status in enumerate(statuses):
        path = child(index(child("status", name), position), "allocatedResourcesStatus")
        given = status.get("allocatedResourcesStatus") or []
        if name == "ephemeralContainerStatuses":
            if given:
                found.append(forbidden(path, "must not be specified in container status"))
            continue
        container = containers.get(status.get("name"))
        for at, resource in enumerate(given):
            if container is not None:
                found += _validate_resource_name(resource.get("name") or "", container, extended, index(path, at))
            found += _validate_health(resource.get("resources") or [], child(index(path, at), "resources"))
    return found


def _validate_resource_name(name: str, container: Object, extended: Object, path: str) -> list[FieldError]:
    if not name.startswith(_CLAIM):
        why = "must match one of the container's resource requests"
        return [] if name in _requests(container) else [invalid(child(path, "name"), name, why)]
    claims = {
        "/".join(filter(None, (f"{_CLAIM}{claim.get('name') or ''}", claim.get("request"))))
        for claim in (container.get("resources") or {}).get("claims") or ()
    }
    if name in claims or _is_extended(name, container, extended):
        return []
    why = (
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
        "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
    )
    return [invalid(child(path, "name"), name, why)]


def _is_extended(name: str, container: Object, extended: Object) -> bool:
    claim, _, request = name.removeprefix(_CLAIM).partition("/")
    if not request or claim != (extended.get("resourceClaimName") or ""):
        return False
    requests = _requests(container)
    return any(
        mapping.get("containerName") == container.get("name")
        and mapping.get("requestName") == request
        and amount(requests.get(mapping.get("resourceName"), 0)).value() != 0
        for mapping in extended.get("requestMappings") or ()
    )


def _validate_health(resources: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    known = set()
    for position, resource in enumerate(resources):
        place, health, message = index(path, position), resource.get("health") or "", resource.get("message")
        if health not in _HEALTH:
            found.append(not_supported(child(place, "health"), health, _HEALTH))
        if message == "":
            found.append(required(child(place, "message"), "must be non-empty if specified"))
        elif message is not None and len(message.encode()) > _MESSAGE_BYTES:
            found.append(too_long(child(place, "message"), _MESSAGE_BYTES))
        name = resource.get("resourceID") or ""
        if name in known:
            found.append(duplicate(child(place, "resourceID"), name))
        known.add(name)
    return found
