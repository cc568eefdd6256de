"""The volume mounts and volume devices of a container."""

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
)
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import descending_path, no_backsteps, repeats

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_BIND_OPTIONS = ("nodev", "noexec", "nosuid")


def validate_mounts(container: Object, path: str, volumes: dict[str, Object]) -> list[FieldError]:
    mounts, devices = container.get("volumeMounts") or [], container.get("volumeDevices") or []
    found = _validate_mounts(mounts, devices, child(path, "volumeMounts"), volumes, _is_privileged(container))
    return found + _validate_devices(devices, mounts, child(path, "volumeDevices"), volumes)


def _is_privileged(container: Object) -> bool:
    return bool((container.get("securityContext") or {}).get("privileged"))


def _validate_mounts(
    mounts: list[Object], devices: list[Object], path: str, volumes: dict[str, Object], privileged: bool
) -> list[FieldError]:
    found: list[FieldError] = []
    device_names = {device.get("name") or "" for device in devices}
    device_paths = {device.get("devicePath") or "" for device in devices}
    points: set[str] = set()
    for position, mount in enumerate(mounts):
        place = index(path, position)
        name, point = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            found.append(required(child(place, "name")))
        if name not in volumes:
            found.append(not_found(child(place, "name"), name))
        if not point:
            found.append(required(child(place, "mountPath")))
        if point in points:
            found.append(invalid(child(place, "mountPath"), point, "must be unique"))
        points.add(point)
        if name in device_names:
            found.append(invalid(child(place, "name"), name, "must not already exist in volumeDevices"))
        if point in device_paths:
            why = "must not already exist as a path in volumeDevices"
            found.append(invalid(child(place, "mountPath"), point, why))
        found += _validate_sub_path(mount, path, place)
        found += _validate_propagation(mount, path, privileged)
        found += _validate_bind_options(mount.get("bindMountOptions") or [], child(place, "bindMountOptions"))
    return found


def _validate_sub_path(mount: Object, path: str, place: str) -> list[FieldError]:
    sub_path, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    found = descending_path(sub_path, child(path, "subPath")) if sub_path else []
    if expression:
        if sub_path:
            why = "subPathExpr and subPath are mutually exclusive"
            found.append(invalid(child(place, "subPathExpr"), expression, why))
        found += descending_path(expression, child(path, "subPathExpr"))
    return found


def _validate_propagation(mount: Object, path: str, privileged: bool) -> list[FieldError]:
    found: list[FieldError] = []
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    place = child(path, "mountPropagation")
    if propagation is not None and propagation not in _PROPAGATIONS:
        found.append(not_supported(place, propagation, _PROPAGATIONS))
    if propagation == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(place, why))
    place = child(path, "recursiveReadOnly")
    if recursive is not None and recursive not in _RECURSIVE:
        found.append(not_supported(place, recursive, _RECURSIVE))
    elif recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            found.append(forbidden(place, "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            found.append(forbidden(place, why))
    return found


def _validate_bind_options(options: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for position, (option, again) in enumerate(zip(options, repeats(options), strict=True)):
        if option not in _BIND_OPTIONS:
            found.append(not_supported(index(path, position), option, _BIND_OPTIONS))
        if again:
            found.append(duplicate(index(path, position), option))
    return found


def _validate_devices(
    devices: list[Object], mounts: list[Object], path: str, volumes: dict[str, Object]
) -> list[FieldError]:
    found: list[FieldError] = []
    mount_names = {mount.get("name") or "" for mount in mounts}
    mount_paths = {mount.get("mountPath") or "" for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for position, device in enumerate(devices):
        place = index(path, position)
        name, file = device.get("name") or "", device.get("devicePath") or ""
        where, at = child(place, "name"), child(place, "devicePath")
        volume = volumes.get(name)
        if not name:
            found.append(required(where))
        if name in names:
            found.append(invalid(where, name, "must be unique"))
        if volume is None:
            found.append(not_found(where, name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            found.append(invalid(where, name, why))
        if not file:
            found.append(required(at))
        if file in paths:
            found.append(invalid(at, file, "must be unique"))
        if file and no_backsteps(file, at):
            found.append(invalid(at, file, "can not contain backsteps ('..')"))
        else:
            paths.add(file)
        if name in mount_names:
            found.append(invalid(where, name, "must not already exist in volumeMounts"))
        if file in mount_paths:
            found.append(invalid(at, file, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
    return found
