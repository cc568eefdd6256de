"""Validation of pod specs, in Pods and in templates, and of Pods."""

from setpoint.objects.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    key,
    required,
    too_long,
)
from setpoint.objects.gotext import parse_int
from setpoint.objects.metavalidation import validate_annotations, validate_labels
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.pod.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_spacing,
    validate_init_containers,
)
from setpoint.server.registry.kinds.core.pod.environment import validate_file_volumes
from setpoint.server.registry.kinds.core.pod.resources import validate_pod_resources, validate_resources
from setpoint.server.registry.kinds.core.pod.scheduling import (
    validate_affinity,
    validate_gates,
    validate_spreading,
    validate_tolerations,
)
from setpoint.server.registry.kinds.core.pod.security import (
    validate_host_process,
    validate_pod_security_context,
    validate_system,
)
from setpoint.server.registry.kinds.core.pod.volumes import validate_volumes
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.validation.values import (
    INT32_MAX,
    enum,
    in_range,
    ip,
    label,
    non_negative,
    qualified,
    subdomain,
    underscored_subdomain,
)

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def validate_pod_template(template: Object, path: str) -> list[FieldError]:
    """Validates a pod template, as in Deployments, Jobs and the like."""
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    found = validate_labels(metadata.get("labels") or {}, child(path, "labels"))
    found += validate_annotations(metadata.get("annotations") or {}, child(path, "annotations"))
    found += _validate_pod_annotations(metadata.get("annotations") or {}, spec, child(path, "annotations"))
    found += validate_pod_spec(spec, child(path, "spec"))
    if spec.get("ephemeralContainers"):
        where = child(child(path, "spec"), "ephemeralContainers")
        found.append(forbidden(where, "ephemeral containers not allowed in pod template"))
    return found


def validate_pod(tree: Object) -> list[FieldError]:
    """Validates a Pod, on create and on every update."""
    metadata, spec = tree.get("metadata") or {}, tree.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    found = _validate_pod_annotations(annotations, spec, "metadata.annotations")
    found += validate_pod_spec(spec, "spec", metadata)
    if not spec.get("serviceAccountName"):
        for position, volume in enumerate(spec.get("volumes") or ()):
            for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if "serviceAccountToken" in source:
                    place = f"spec.volumes[{position}].projected.sources[{number}].serviceAccountToken"
                    found.append(forbidden(place, "must not be specified when serviceAccountName is not set"))
    period = spec.get("terminationGracePeriodSeconds")
    if period is not None:
        found += non_negative(period, "spec.terminationGracePeriodSeconds")
    for name in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(name) or ()):
            found += validate_image_spacing(container, f"spec.{name}[{position}]")
    return found


def validate_new_pod(tree: Object) -> list[FieldError]:
    """Validates a new Pod."""
    found = validate_pod(tree)
    spec = tree.get("spec") or {}
    if spec.get("ephemeralContainers"):
        found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        found.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return found


def validate_pod_spec(spec: Object, path: str, metadata: Object | None = None) -> list[FieldError]:
    """Validates a pod spec. `metadata` is that of the Pod, None for a template."""
    found: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        found.append(required(child(path, "terminationGracePeriodSeconds")))
    pod_name = (metadata or {}).get("name") or ""
    volumes, errors = validate_volumes(spec.get("volumes") or [], child(path, "volumes"), pod_name)
    found += errors
    claims = {claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name")}
    found += _validate_resource_claims(spec.get("resourceClaims") or [], child(path, "resourceClaims"))
    around = PodContext(
        volumes=volumes,
        claims=claims,
        grace=grace,
        restart_policy=spec.get("restartPolicy") or "",
        system=(spec.get("os") or {}).get("name") or "",
        host_users=spec.get("hostUsers") is not False,
    )
    regular, first = spec.get("containers") or [], spec.get("initContainers") or []
    found += validate_containers(regular, child(path, "containers"), around)
    found += validate_init_containers(first, regular, child(path, "initContainers"), around)
    found += validate_ephemeral_containers(
        spec.get("ephemeralContainers") or [], [*regular, *first], child(path, "ephemeralContainers"), around
    )
    found += validate_pod_resources(spec, path, claims)
    found += _validate_host_network(spec, path, is_pod=metadata is not None)
    found += enum(around.restart_policy, child(path, "restartPolicy"), _RESTART_POLICIES)
    found += enum(spec.get("dnsPolicy") or "", child(path, "dnsPolicy"), _DNS_POLICIES)
    found += validate_labels(spec.get("nodeSelector") or {}, child(path, "nodeSelector"))
    found += validate_pod_security_context(spec.get("securityContext") or {}, spec, child(path, "securityContext"))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(child(path, "shareProcessNamespace"), True, why))
    if "affinity" in spec:
        found += validate_affinity(spec["affinity"], child(path, "affinity"))
    found += _validate_dns(spec, child(path, "dnsConfig"))
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        where = child(index(child(path, "readinessGates"), position), "conditionType")
        found += qualified(gate.get("conditionType") or "", where)
    found += validate_gates(spec.get("schedulingGates") or [], child(path, "schedulingGates"))
    if "topologySpreadConstraints" in spec:
        found += validate_spreading(spec["topologySpreadConstraints"], child(path, "topologySpreadConstraints"))
    places = containers_with_paths(spec, path)
    found += validate_host_process(spec, path, places)
    found += _validate_host_users(spec, path, places)
    found += _validate_names(spec, path)
    found += validate_tolerations(spec.get("tolerations") or [], child(path, "tolerations"))
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        where = index(child(path, "hostAliases"), position)
        found += ip(alias.get("ip") or "", child(where, "ip"))
        for number, name in enumerate(alias.get("hostnames") or ()):
            found += subdomain(name, index(child(where, "hostnames"), number))
    if spec.get("preemptionPolicy") is not None:
        found += enum(spec["preemptionPolicy"], child(path, "preemptionPolicy"), _PREEMPTION)
    if "overhead" in spec:
        found += validate_resources({"limits": spec["overhead"]}, child(path, "overhead"))
    if "os" in spec:
        found += validate_system(spec, path, places)
    sources = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    return found + validate_file_volumes(places, sources)


def containers_with_paths(spec: Object, path: str) -> list[tuple[Object, str]]:
    """Returns all containers of a pod with their paths, init containers first."""
    return [
        (container, index(child(path, name), position))
        for name in ("initContainers", "containers", "ephemeralContainers")
        for position, container in enumerate(spec.get(name) or ())
    ]


def _validate_names(spec: Object, path: str) -> list[FieldError]:
    """Validates the host names of a pod, and other fields with names, and the deadline."""
    found: list[FieldError] = []
    override = spec.get("hostnameOverride")
    if override is not None:
        place = child(path, "hostnameOverride")
        against = [name for name in ("setHostnameAsFQDN", "hostNetwork") if spec.get(name)]
        found += [forbidden(place, f"may not be specified when {name} is true") for name in against]
        if len(override) > 64:
            found.append(too_long(place, 64))
        found += subdomain(override, place)
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            found += [invalid(child(path, name), spec[name], text) for text in dns1123_subdomain(spec[name])]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        found += in_range(deadline, child(path, "activeDeadlineSeconds"), 1, INT32_MAX)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            found += label(spec[name], child(path, name))
    for name in ("priorityClassName", "runtimeClassName"):
        if spec.get(name) or (name == "runtimeClassName" and name in spec):
            found += subdomain(spec[name], child(path, name))
    return found


def _validate_resource_claims(claims: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        place = index(path, position)
        name = claim.get("name") or ""
        if not name:
            found.append(required(child(place, "name")))
        elif name in seen:
            found.append(duplicate(child(place, "name"), name))
        else:
            found += label(name, child(place, "name"))
            seen.add(name)
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        if len(given) > 1:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            found.append(invalid(place, struct_value("PodResourceClaim", claim), why))
        elif not given:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.append(invalid(place, struct_value("PodResourceClaim", claim), why))
        for field in given:
            found += subdomain(claim[field], child(place, field))
    return found


def _validate_host_network(spec: Object, path: str, *, is_pod: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("hostNetwork"):
        for position, container in enumerate(spec.get("containers") or ()):
            for number, port in enumerate(container.get("ports") or ()):
                host = port.get("hostPort", 0)
                if (is_pod or host) and host != port.get("containerPort", 0):
                    why = "must match `containerPort` when `hostNetwork` is true"
                    found.append(invalid(f"{path}.containers[{position}].ports[{number}].hostPort", host, why))
    return found


def _validate_host_users(spec: Object, path: str, places: list[tuple[Object, str]]) -> list[FieldError]:
    if spec.get("hostUsers") is not False:
        return []
    why = "when `hostUsers` is false"
    found = [
        forbidden(child(path, shown), why)
        for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
        if spec.get(name)
    ]
    devices = [place for container, place in places if container.get("volumeDevices")]
    return found + [forbidden(child(place, "volumeDevices"), why) for place in devices]


def _validate_dns(spec: Object, path: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(child(path, "nameservers"), why)]
    if config is None:
        return []
    found: list[FieldError] = []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        found.append(invalid(child(path, "nameservers"), servers, "must not have more than 3 nameservers"))
    for position, server in enumerate(servers):
        found += ip(server, index(child(path, "nameservers"), position))
    place = child(path, "searches")
    if len(searches) > 32:
        found.append(invalid(place, searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        found.append(invalid(place, searches, why))
    for position, search in enumerate(searches):
        if search != ".":
            found += underscored_subdomain(search.removesuffix("."), index(place, position))
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            found.append(required(index(child(path, "options"), position), "must not be empty"))
    return found


def _validate_pod_annotations(annotations: dict[str, str], spec: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if _MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(key(path, _MIRROR), annotations[_MIRROR], why))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        found.append(invalid(key(path, _DELETION_COST), cost, "must be a 32bit integer"))
    return found


def _is_int32(text: str) -> bool:
    if text[:1] == "+" or (text[:1] == "0" and text != "0"):
        return False
    try:
        parse_int(text, 32)
    except ValueError:
        return False
    return True
