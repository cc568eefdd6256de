"""The environment of a container: variables and their sources."""

from collections.abc import Collection

from setpoint.objects.field import FieldError, child, index, invalid, not_found, not_supported, required
from setpoint.objects.names import config_key, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import amount, env_name, label, no_backsteps, qualified, wrong

_FIELD_LABELS = {
    *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"),
    *("spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName"),
    *("status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
}
_ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_RESOURCES = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_ONE_OF = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_MANY = "may not have more than one field specified at a time"


def validate_env(variables: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, variable in enumerate(variables):
        place = index(path, position)
        name = variable.get("name") or ""
        found += env_name(name, child(place, "name")) if name else [required(child(place, "name"))]
        source = variable.get("valueFrom")
        if source is not None:
            found += _validate_value_from(source, variable.get("value") or "", child(place, "valueFrom"))
    return found


def _validate_value_from(source: Object, value: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if "fieldRef" in source:
        found += validate_field_reference(source["fieldRef"], child(path, "fieldRef"), _ENV_FIELDS)
    if "resourceFieldRef" in source:
        found += validate_resource_reference(source["resourceFieldRef"], child(path, "resourceFieldRef"), False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            found += _validate_key_reference(source[name], child(path, name))
    if "fileKeyRef" in source:
        found += _validate_file_reference(source["fileKeyRef"], child(path, "fileKeyRef"))
    if not source:
        found.append(invalid(path, "", _ONE_OF))
    elif value:
        found.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        found.append(invalid(path, "", _MANY))
    return found


def validate_field_reference(reference: Object, path: str, known: Collection[str]) -> list[FieldError]:
    """Validates a reference to a field of the pod itself."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        return [required(child(path, "apiVersion"))]
    place = child(path, "fieldPath")
    if not field:
        return [required(place)]
    base, subscript = _subscript(field)
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif subscript is not None:
        if base not in ("metadata.annotations", "metadata.labels"):
            problem = f"field label does not support subscript: {field}"
    elif field != "spec.host" and field not in _FIELD_LABELS:
        problem = f"field label not supported: {field}"
    if problem:
        return [invalid(place, field, f"error converting fieldPath: {problem}")]
    if subscript is not None:
        return qualified(subscript.lower() if base == "metadata.annotations" else subscript, path)
    base = "spec.nodeName" if base == "spec.host" else base
    return [] if base in known else [not_supported(place, base, known)]


def _subscript(field: str) -> tuple[str, str | None]:
    """Returns the parts of `metadata.labels['key']`."""
    if field.endswith("']"):
        base, bracket, subscript = field[:-2].partition("['")
        if bracket and base:
            return base, subscript
    return field, None


def validate_resource_reference(reference: Object, path: str, in_volume: bool) -> list[FieldError]:
    """Validates a reference to the requests or limits of a container."""
    resource = reference.get("resource") or ""
    found: list[FieldError] = []
    if in_volume and not reference.get("containerName"):
        found.append(required(child(path, "containerName")))
    elif not resource:
        found.append(required(child(path, "resource")))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        found.append(not_supported(child(path, "resource"), resource, _RESOURCES))
    divisor = amount(reference.get("divisor") or "0")
    if divisor.sign:
        name = resource.partition(".")[2]
        name = "hugepages" if name.startswith("hugepages-") else name
        allowed = _CPU_DIVISORS if name == "cpu" else _DIVISORS
        if name in ("cpu", "memory", "ephemeral-storage", "hugepages") and str(divisor) not in allowed:
            said = "1m and 1" if name == "cpu" else ", ".join(_DIVISORS)
            subject = "local ephemeral storage" if name == "ephemeral-storage" else f"{name}"
            why = f"only divisor's values {said} are supported with the {subject} resource"
            found.append(invalid(child(path, "divisor"), resource, why))
    return found


def _validate_key_reference(reference: Object, path: str) -> list[FieldError]:
    name, key = reference.get("name") or "", reference.get("key") or ""
    found = wrong(child(path, "name"), name, dns1123_subdomain(name))
    place = child(path, "key")
    return found + (wrong(place, key, config_key(key)) if key else [required(place)])


def _validate_file_reference(reference: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name, rule in (("key", env_name), ("volumeName", label), ("path", no_backsteps)):
        value = reference.get(name) or ""
        found += rule(value, child(path, name)) if value else [required(child(path, name))]
    return found


def validate_env_from(sources: list[Object], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, source in enumerate(sources):
        place = index(path, position)
        if source.get("prefix"):
            found += env_name(source["prefix"], child(place, "prefix"))
        named = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in named:
            value = source[name].get("name") or ""
            where = child(child(place, name), "name")
            found += wrong(where, value, dns1123_subdomain(value, True)) if value else [required(where)]
        if not named:
            found.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(named) > 1:
            found.append(invalid(path, "", _MANY))
    return found


def validate_file_volumes(containers: list[tuple[Object, str]], volumes: dict[str, Object]) -> list[FieldError]:
    """Validates that variables from files refer to `emptyDir` volumes only."""
    found: list[FieldError] = []
    for container, path in containers:
        for position, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName") or ""
            place = f"{path}.env[{position}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                found.append(not_found(place, name))
            elif "emptyDir" not in volumes[name]:
                found.append(invalid(place, name, "referenced volume must be of type emptyDir"))
    return found
