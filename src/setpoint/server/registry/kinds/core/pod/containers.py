"""The containers of a pod: regular, init and ephemeral containers."""

from collections.abc import Collection
from typing import NamedTuple

from setpoint.objects.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.pod.environment import validate_env, validate_env_from
from setpoint.server.registry.kinds.core.pod.handlers import forbid_handlers, validate_handlers
from setpoint.server.registry.kinds.core.pod.mounts import validate_mounts
from setpoint.server.registry.kinds.core.pod.resources import validate_resources
from setpoint.server.registry.kinds.core.pod.security import validate_security_context
from setpoint.server.registry.kinds.validation.values import PROTOCOLS, enum, label, port, port_name, wrong

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_EPHEMERAL = "cannot be set for an Ephemeral Container"
# In the order of the fields of a container.
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


class PodContext(NamedTuple):
    """The parts of a pod that the rules of its containers need."""

    volumes: dict[str, Object]
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    system: str
    host_users: bool


def validate_containers(containers: list[Object], path: str, pod_context: PodContext) -> list[FieldError]:
    """Validates the regular containers."""
    if not containers:
        return [required(path)]
    found: list[FieldError] = []
    names: set[str] = set()
    for position, container in enumerate(containers):
        place = index(path, position)
        found += _validate_container(container, place, pod_context)
        name = container.get("name") or ""
        if name in names:
            found.append(duplicate(child(place, "name"), name))
        names.add(name)
        found += validate_handlers(container, place, pod_context.grace, pod_context.system)
        found += _validate_restart_policy(container, place)
    return found + _validate_host_ports(containers, path)


def validate_init_containers(
    containers: list[Object], regular: list[Object], path: str, pod_context: PodContext
) -> list[FieldError]:
    """Validates the init containers, which run one after the other before the regular ones, or (sidecars) beside
    them."""
    found: list[FieldError] = []
    names = {container.get("name") or "" for container in regular}
    for position, container in enumerate(containers):
        place = index(path, position)
        found += _validate_container(container, place, pod_context)
        found += _validate_restart_policy(container, place)
        name = container.get("name") or ""
        if name in names:
            found.append(duplicate(child(place, "name"), name))
        elif name:
            names.add(name)
        found += _validate_host_ports([container], path)
        is_sidecar = container.get("restartPolicy") == "Always"
        if is_sidecar:
            found += validate_handlers(container, place, pod_context.grace, pod_context.system)
            continue
        found += forbid_handlers(container, place)
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                where = child(index(child(place, "resizePolicy"), number), "restartPolicy")
                found.append(invalid(where, "RestartContainer", why))
    return found


def validate_ephemeral_containers(
    containers: list[Object], others: list[Object], path: str, pod_context: PodContext
) -> list[FieldError]:
    """Validates the ephemeral containers, which are added to a running pod."""
    found: list[FieldError] = []
    permanent = {container.get("name") or "" for container in others}
    names = set(permanent)
    for position, container in enumerate(containers):
        place = index(path, position)
        found += _validate_container(container, place, pod_context)
        found += validate_image_spacing(container, place)
        name = container.get("name") or ""
        if name in names:
            found.append(duplicate(child(place, "name"), name))
        names.add(name)
        target = container.get("targetContainerName") or ""
        if target and target not in permanent:
            found.append(not_found(child(place, "targetContainerName"), target))
        found += [
            forbidden(child(place, field), _EPHEMERAL)
            for field in _NOT_EPHEMERAL
            if container.get(field) not in (None, {}, "")
        ]
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    where = child(index(child(place, "volumeMounts"), number), field)
                    found.append(forbidden(where, _EPHEMERAL))
    return found


def validate_image_spacing(container: Object, path: str) -> list[FieldError]:
    """Validates the whitespace of image names; applies to pods, not to templates."""
    image = container.get("image") or ""
    if image == image.strip():
        return []
    return [invalid(child(path, "image"), image, "must not have leading or trailing whitespace")]


def _validate_container(container: Object, path: str, pod_context: PodContext) -> list[FieldError]:
    """Validates the rules that apply to every container."""
    name = container.get("name") or ""
    place = child(path, "name")
    found = label(name, place) if name else [required(place)]
    if not container.get("image"):
        found.append(required(child(path, "image")))
    found += enum(
        container.get("terminationMessagePolicy") or "", child(path, "terminationMessagePolicy"), _MESSAGE_POLICIES
    )
    if "ports" in container:
        found += _validate_ports(container["ports"], child(path, "ports"))
    if "env" in container:
        found += validate_env(container["env"], child(path, "env"))
    if "envFrom" in container:
        found += validate_env_from(container["envFrom"], child(path, "envFrom"))
    if "volumeMounts" in container or "volumeDevices" in container:
        found += validate_mounts(container, path, pod_context.volumes)
    found += enum(container.get("imagePullPolicy") or "", child(path, "imagePullPolicy"), PULL_POLICIES)
    if container.get("resources"):
        found += validate_resources(container["resources"], child(path, "resources"), pod_context.claims)
    if "resizePolicy" in container:
        found += _validate_resize_policy(container["resizePolicy"], child(path, "resizePolicy"), pod_context)
    if "securityContext" in container:
        context = container["securityContext"]
        found += validate_security_context(context, child(path, "securityContext"), pod_context.host_users)
    return found


def _validate_ports(ports: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    names: set[str] = set()
    for position, entry in enumerate(ports):
        place = index(path, position)
        name = entry.get("name") or ""
        if name:
            if messages := port_name(name):
                found += wrong(child(place, "name"), name, messages)
            elif name in names:
                found.append(duplicate(child(place, "name"), name))
            names.add(name)
        where = child(place, "containerPort")
        found += port(entry["containerPort"], where) if entry.get("containerPort") else [required(where)]
        if entry.get("hostPort"):
            found += port(entry["hostPort"], child(place, "hostPort"))
        found += enum(entry.get("protocol") or "", child(place, "protocol"), PROTOCOLS)
    return found


def _validate_host_ports(containers: list[Object], path: str) -> list[FieldError]:
    """Validates that host ports are unique."""
    found: list[FieldError] = []
    taken: set[str] = set()
    for position, container in enumerate(containers):
        for number, entry in enumerate(container.get("ports") or ()):
            if entry.get("hostPort"):
                said = f"{entry.get('protocol') or ''}/{entry.get('hostIP') or ''}/{entry['hostPort']}"
                if said in taken:
                    found.append(duplicate(f"{path}[{position}].ports[{number}].hostPort", said))
                taken.add(said)
    return found


def _validate_resize_policy(policies: list[Object], path: str, pod_context: PodContext) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            found.append(duplicate(index(path, position), resource))
        seen.add(resource)
        found += enum(resource, path, _RESIZED)
        found += enum(restart, path, _RESIZE_POLICIES)
        if pod_context.restart_policy == "Never" and restart != "NotRequired":
            found.append(invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return found


def _validate_restart_policy(container: Object, path: str) -> list[FieldError]:
    """Validates the restart policy of a single container."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    place = child(path, "restartPolicy")
    found: list[FieldError] = []
    if policy is None:
        if not rules:
            return []
        found.append(required(place, "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        found.append(not_supported(place, policy, _RESTART_POLICIES))
    where = child(path, "restartPolicyRules")
    if len(rules) > 20:
        found.append(too_many(where, len(rules), 20))
    for position, rule in enumerate(rules):
        at = index(where, position)
        actions = ("Restart", "RestartAllContainers")
        if rule.get("action") not in actions:
            found.append(not_supported(child(at, "action"), rule.get("action") or "", actions))
        codes = rule.get("exitCodes")
        if codes is None:
            found.append(required(child(at, "exitCodes"), "must be specified"))
            continue
        if codes.get("operator") not in ("In", "NotIn"):
            where_operator = child(child(at, "exitCodes"), "operator")
            found.append(not_supported(where_operator, codes.get("operator") or "", ("In", "NotIn")))
        if len(codes.get("values") or ()) > 255:
            found.append(too_many(child(child(at, "exitCodes"), "values"), len(codes["values"]), 255))
    return found
