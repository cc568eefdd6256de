"""Validation of the volume sources that pods and PersistentVolumes share."""

import re
from collections.abc import Callable, Mapping

from setpoint.objects.field import FieldError, child, invalid, key, not_supported, required, too_long
from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import (
    descending_path,
    in_range,
    label,
    no_backsteps,
    subdomain,
    wrong,
)

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISKS = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK = ("/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",)
_BLOB_DISK = ("https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",)
_QUOBYTE = "must be a host:port pair or multiple pairs separated by commas"
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[a-zA-Z0-9]++(?:[-.][a-zA-Z0-9]++)*+\.?(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"eui.[a-fA-F0-9]{16}\Z"),
    "naa": re.compile(r"naa.[a-fA-F0-9]{32}\Z"),
}

# Sources whose only rule is that these fields are required.
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "glusterfs": ("endpoints", "path"),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
}


def validate_source(name: str, source: Object, path: str, persistent: bool) -> list[FieldError]:
    """Returns the errors of the source `name`, of a PersistentVolume or of a pod's volume."""
    found = [required(child(path, field)) for field in _REQUIRED.get(name, ()) if not source.get(field)]
    rule = _RULES.get(name)
    return found + rule(source, path, persistent) if rule is not None else found


def _partition(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    return in_range(source.get("partition", 0), child(path, "partition"), 0, 255)


def _host_path(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    if not source.get("path"):
        return [required(child(path, "path"))]
    kind = source.get("type")
    found = no_backsteps(source["path"], child(path, "path"))
    if kind is not None and kind not in _HOST_PATH_TYPES:
        found.append(not_supported(child(path, "type"), kind, _HOST_PATH_TYPES))
    return found


def _nfs(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    found = [required(child(path, name)) for name in ("server", "path") if not source.get(name)]
    if not (source.get("path") or "").startswith("/"):
        found.append(invalid(child(path, "path"), source.get("path") or "", "must be an absolute path"))
    return found


def _glusterfs(source: Object, path: str, persistent: bool) -> list[FieldError]:
    namespace = source.get("endpointsNamespace")
    if not persistent or namespace is None:
        return []
    why = ("if the endpointnamespace is set, it must be a valid namespace name",)
    return wrong(child(path, "endpointsNamespace"), namespace, dns1123_label(namespace) if namespace else why)


def _secret_reference(source: Object, path: str, persistent: bool) -> list[FieldError]:
    reference = source.get("secretRef")
    needed = ("name", "namespace") if persistent else ("name",)
    if reference is None:
        return []
    return [required(child(child(path, "secretRef"), name)) for name in needed if not reference.get(name)]


def _flex_volume(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    found: list[FieldError] = []
    for option in source.get("options") or ():
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(invalid(key(child(path, "options"), option), option, why))
    return found


def _azure_file(source: Object, path: str, persistent: bool) -> list[FieldError]:
    return [required(child(path, "secretNamespace"))] if persistent and source.get("secretNamespace") == "" else []


def _azure_disk(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    found = [required(child(path, name)) for name in ("diskName", "diskURI") if not source.get(name)]
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _CACHING:
        found.append(not_supported(child(path, "cachingMode"), caching, _CACHING))
    if kind is not None and kind not in _DISKS:
        found.append(not_supported(child(path, "kind"), kind, _DISKS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        found.append(not_supported(child(path, "diskURI"), uri, _MANAGED_DISK))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        found.append(not_supported(child(path, "diskURI"), uri, _BLOB_DISK))
    return found


def _quobyte(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    found: list[FieldError] = []
    registry = source.get("registry") or ""
    if not registry:
        found.append(required(child(path, "registry"), _QUOBYTE))
    elif len(source.get("tenant") or "") >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        found.append(required(child(path, "tenant"), why))
    else:
        bad = [pair for pair in registry.split(",") if pair.count(":") != 1]
        found += [invalid(child(path, "registry"), registry, _QUOBYTE) for _ in bad]
    return found if source.get("volume") else [*found, required(child(path, "volume"))]


def _flocker(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    found: list[FieldError] = []
    if not name and not uuid:
        found.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(invalid(path, "resource", why))
    if "/" in name:
        found.append(invalid(child(path, "datasetName"), name, "must not contain '/'"))
    return found


def _storage_os(source: Object, path: str, persistent: bool) -> list[FieldError]:
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    place = child(path, "volumeName")
    found = label(name, place) if name else [required(place)]
    found += label(namespace, child(path, "volumeNamespace")) if namespace else []
    return found + _secret_reference(source, path, persistent)


def _fc(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    names, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    place = child(path, "targetWWNs")
    found: list[FieldError] = []
    if not names and not ids:
        found.append(required(place, "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        found.append(invalid(place, names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and lun is None:
        found.append(required(child(path, "lun"), "lun is required if targetWWNs is specified"))
    elif names and lun is not None:
        found += in_range(lun, child(path, "lun"), 0, 255)
    return found


def _iscsi(source: Object, path: str, persistent: bool) -> list[FieldError]:
    found = [] if source.get("targetPortal") else [required(child(path, "targetPortal"))]
    name = source.get("iqn") or ""
    place = child(path, "iqn")
    found += _initiator(name, place, persistent) if name else [required(place)]
    found += in_range(source.get("lun", 0), child(path, "lun"), 0, 255)
    secured = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if secured and source.get("secretRef") is None:
        found.append(required(child(path, "secretRef")))
    if persistent and source.get("secretRef") is not None and not source["secretRef"].get("name"):
        found.append(required(child(child(path, "secretRef"), "name")))
    if source.get("initiatorName") is not None:
        found += _initiator(source["initiatorName"], child(path, "initiatorname"), persistent)
    return found


def _initiator(name: str, path: str, persistent: bool) -> list[FieldError]:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        more = "" if persistent else " starting with iqn, eui, or naa"
        return [invalid(path, name, f"must be valid format{more}")]
    return [] if pattern.match(name) else [invalid(path, name, "must be valid format")]


def validate_csi_driver(name: str, path: str) -> list[FieldError]:
    """Validates the name of a CSI driver."""
    if not name:
        return [required(path)]
    found = [too_long(path, 63)] if len(name) > 63 else []
    return found + wrong(path, name, dns1123_subdomain(name.lower()))


_CSI_SECRETS = (
    *("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"),
)


def _csi(source: Object, path: str, persistent: bool) -> list[FieldError]:
    found = validate_csi_driver(source.get("driver") or "", child(path, "driver"))
    if not persistent:
        reference = source.get("nodePublishSecretRef")
        if reference is None:
            return found
        name = reference.get("name") or ""
        place = child(child(path, "nodePublishSecretRef"), "name")
        return found + (wrong(child(path, "name"), name, dns1123_subdomain(name)) if name else [required(place)])
    if not source.get("volumeHandle"):
        found.append(required(child(path, "volumeHandle")))
    for secret in _CSI_SECRETS:
        if secret in source:
            place = child(path, secret)
            for field, rule in (("name", subdomain), ("namespace", label)):
                value = source[secret].get(field) or ""
                found += rule(value, child(place, field)) if value else [required(child(place, field))]
    return found


def _local(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    file = source.get("path") or ""
    return no_backsteps(file, child(path, "path")) if file else [required(child(path, "path"))]


def _git_repo(source: Object, path: str, _persistent: bool) -> list[FieldError]:
    found = [] if source.get("repository") else [required(child(path, "repository"))]
    return found + descending_path(source.get("directory") or "", child(path, "directory"))


_RULES: Mapping[str, Callable[[Object, str, bool], list[FieldError]]] = {
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _partition,
    "awsElasticBlockStore": _partition,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _glusterfs,
    "cinder": _secret_reference,
    "flocker": _flocker,
    "fc": _fc,
    "flexVolume": _flex_volume,
    "azureFile": _azure_file,
    "azureDisk": _azure_disk,
    "quobyte": _quobyte,
    "storageos": _storage_os,
    "csi": _csi,
    "local": _local,
}
