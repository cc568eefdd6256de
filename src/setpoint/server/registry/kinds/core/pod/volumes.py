"""The volumes of a pod: their names, their single sources, and the sources that only pods have."""

from setpoint.objects import labels
from setpoint.objects.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from setpoint.objects.gotext import quote
from setpoint.objects.metavalidation import MAX_ANNOTATIONS
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.claim_spec import validate_claim_template
from setpoint.server.registry.kinds.core.pod.environment import (
    VOLUME_FIELDS,
    validate_field_reference,
    validate_resource_reference,
)
from setpoint.server.registry.kinds.core.volume_sources import validate_source
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.validation.references import domain_prefixed_key
from setpoint.server.registry.kinds.validation.values import (
    INT32_MAX,
    amount,
    enum,
    file_mode,
    in_range,
    label,
    local_path,
)

# In the order in which the API checks them: the first one counts, the others are errors.
_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume"),
    *("azureDisk", "storageos", "scaleIO", "projected", "csi", "ephemeral", "image"),
)
# The names of further sources in errors, where the API has other ones, a misspelled one among them.
_PLACES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_DUPLICATE = "conflicting duplicate paths"


def validate_volumes(
    volumes: list[Object], path: str, pod_name: str = ""
) -> tuple[dict[str, Object], list[FieldError]]:
    """Returns the valid volumes by name, and the errors of the others. The claim of an ephemeral volume is named after
    the pod."""
    sound: dict[str, Object] = {}
    found: list[FieldError] = []
    created = {f"{pod_name}-{volume.get('name')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for position, volume in enumerate(volumes):
        place = index(path, position)
        name = volume.get("name") or ""
        errors = _validate_volume(volume, name, place, pod_name)
        errors += label(name, child(place, "name")) if name else [required(child(place, "name"))]
        if name in sound:
            errors.append(duplicate(child(place, "name"), name))
        if not errors:
            sound[name] = volume
        found += errors
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if claim in created:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{place}.persistentVolumeClaim.claimName", claim, why))
    return sound, found


def _validate_volume(volume: Object, name: str, path: str, pod_name: str) -> list[FieldError]:
    given = [source for source in _SOURCES if source in volume]
    if not given:
        return [required(path, "must specify a volume type")]
    first, *others = given
    source = volume[first]
    place = child(path, "persistentDisk" if first == "gcePersistentDisk" else first)
    rule = _RULES.get(first)
    found = rule(source, place) if rule is not None else validate_source(first, source, place, persistent=False)
    places = [child(path, _PLACES.get(other, other)) for other in others]
    found += [forbidden(other, "may not specify more than 1 volume type") for other in places]
    if first == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        for message in dns1123_subdomain(claim):
            found.append(invalid(child(path, "name"), name, f"PVC name {quote(claim)}: {message}"))
    return found


def _empty_dir(source: Object, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and amount(limit).sign < 0:
        return [forbidden(child(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity")]
    return []


def _secret(source: Object, path: str) -> list[FieldError]:
    found = [] if source.get("secretName") else [required(child(path, "secretName"))]
    return found + _validate_items(source, path)


def _config_map(source: Object, path: str) -> list[FieldError]:
    found = [] if source.get("name") else [required(child(path, "name"))]
    return found + _validate_items(source, path)


def _validate_items(source: Object, path: str) -> list[FieldError]:
    found = file_mode(source, path) + _user(source, path, "defaultUser")
    for position, item in enumerate(source.get("items") or ()):
        found += _validate_item(item, index(child(path, "items"), position))
    return found


def _validate_item(item: Object, path: str) -> list[FieldError]:
    found = [required(child(path, name)) for name in ("key", "path") if not item.get(name)]
    found += local_path(item.get("path") or "", child(path, "path"))
    return found + file_mode(item, path, "mode") + _user(item, path, "user")


def _user(tree: Object, path: str, name: str) -> list[FieldError]:
    user = tree.get(name)
    return [] if user is None else in_range(user, child(path, name), 0, INT32_MAX)


def _claim(source: Object, path: str) -> list[FieldError]:
    return [] if source.get("claimName") else [required(child(path, "claimName"))]


def _downward_api(source: Object, path: str) -> list[FieldError]:
    found = file_mode(source, path) + _user(source, path, "defaultUser")
    for item in source.get("items") or ():
        found += _validate_file(item, path)
    return found


def _validate_file(file: Object, path: str) -> list[FieldError]:
    """Validates a file of a downward API volume."""
    found = [] if file.get("path") else [required(child(path, "path"))]
    found += local_path(file.get("path") or "", child(path, "path"))
    if "fieldRef" in file:
        found += validate_field_reference(file["fieldRef"], child(path, "fieldRef"), VOLUME_FIELDS)
        if "resourceFieldRef" in file:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid(path, "resource", why))
    elif "resourceFieldRef" in file:
        found += validate_resource_reference(file["resourceFieldRef"], child(path, "resourceFieldRef"), True)
    else:
        found.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return found + file_mode(file, path, "mode") + _user(file, path, "user")


def _ephemeral(source: Object, path: str) -> list[FieldError]:
    place = child(path, "volumeClaimTemplate")
    template = source.get("volumeClaimTemplate")
    return [required(place)] if template is None else validate_claim_template(template, place)


def _image(source: Object, path: str) -> list[FieldError]:
    found = [] if source.get("reference") else [required(child(path, "reference"))]
    return found + enum(source.get("pullPolicy") or "", child(path, "pullPolicy"), _PULL_POLICIES)


# --- projected volumes ---


class _Paths:
    """The paths that the sources of a projected volume use."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.used: set[str] = set()

    def add(self, file: str, shown: str) -> list[FieldError]:
        if file in self.used:
            return [invalid(self.path, shown, _DUPLICATE)]
        self.used.add(file)
        return []


def _projected(source: Object, path: str) -> list[FieldError]:
    found = file_mode(source, path) + _user(source, path, "defaultUser")
    paths = _Paths(path)
    for position, part in enumerate(source.get("sources") or ()):
        place = index(child(path, "sources"), position)
        for name in ("secret", "configMap"):
            if name in part:
                found += _project_keys(part[name], child(place, name), paths)
        if "downwardAPI" in part:
            for file in part["downwardAPI"].get("items") or ():
                found += _validate_file(file, child(place, "downwardAPI"))
                if file.get("path"):
                    found += paths.add(file["path"], file["path"])
        if "serviceAccountToken" in part:
            found += _project_token(part["serviceAccountToken"], child(place, "serviceAccountToken"), path)
        if "clusterTrustBundle" in part:
            found += _project_bundle(part["clusterTrustBundle"], child(place, "clusterTrustBundle"), paths)
        if "podCertificate" in part:
            found += _project_certificate(part["podCertificate"], child(place, "podCertificate"), paths)
        if len(part) > 1:
            found.append(forbidden(place, "may not specify more than 1 volume type per source"))
    return found


def _project_keys(part: Object, path: str, paths: _Paths) -> list[FieldError]:
    name = part.get("name") or ""
    found = [] if name else [required(child(path, "name"))]
    for position, item in enumerate(part.get("items") or ()):
        found += _validate_item(item, index(child(path, "items"), position))
        if item.get("path"):
            found += paths.add(item["path"], name)
    return found


def _project_token(token: Object, path: str, volume: str) -> list[FieldError]:
    seconds, file = token.get("expirationSeconds"), token.get("path") or ""
    place = child(path, "expirationSeconds")
    found: list[FieldError] = []
    if seconds is None:
        found.append(required(place))
    elif seconds < 600:
        found.append(invalid(place, seconds, "may not specify a duration less than 10 minutes"))
    elif seconds > 1 << 32:
        found.append(invalid(place, seconds, "may not specify a duration larger than 2^32 seconds"))
    where = child(volume, "path")
    found += local_path(file, where) if file else [required(where)]
    return found + _user(token, path, "user")


def _project_bundle(bundle: Object, path: str, paths: _Paths) -> list[FieldError]:
    name, signer, file = bundle.get("name"), bundle.get("signerName"), bundle.get("path") or ""
    found: list[FieldError] = []
    if name is not None and signer is not None:
        shown = struct_value("ClusterTrustBundleProjection", bundle)
        found.append(invalid(path, shown, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            found.append(required(child(path, "name"), "must be a valid object name"))
        if "labelSelector" in bundle:
            why = "labelSelector must be unset if name is specified"
            found.append(invalid(child(path, "labelSelector"), bundle["labelSelector"], why))
    elif signer is not None:
        if not signer:
            found.append(required(child(path, "signerName"), "must be a valid signer name"))
        found += labels.validate_object(bundle.get("labelSelector"), child(path, "labelSelector"))
    else:
        found.append(required(path, "either name or signerName must be specified"))
    if not file:
        found.append(required(child(path, "path")))
    return found + local_path(file, child(path, "path")) + paths.add(file, file)


# Seconds: 91 days, and a day for the signers of Kubernetes.
_MOST_EXPIRATION, _KUBERNETES_EXPIRATION = 91 * 86400, 86400


def _project_certificate(certificate: Object, path: str, paths: _Paths) -> list[FieldError]:
    # Imported with the first such volume: the rules of certificates need a large library.
    from setpoint.server.registry.kinds.certificates.signing_request import validate_signer_name

    kind, signer = certificate.get("keyType") or "", certificate.get("signerName") or ""
    found = validate_signer_name(signer, child(path, "signerName"))
    found += _user_annotations(certificate.get("userAnnotations") or {}, child(path, "userAnnotations"))
    if kind not in _KEY_TYPES:
        found.append(not_supported(child(path, "keyType"), kind, _KEY_TYPES))
    seconds = certificate.get("maxExpirationSeconds")
    if seconds is not None and seconds < 3600:
        why = "if provided, maxExpirationSeconds must be >= 3600"
        found.append(invalid(child(path, "maxExpirationSeconds"), seconds, why))
    most = _KUBERNETES_EXPIRATION if signer.startswith("kubernetes.io/") else _MOST_EXPIRATION
    if seconds is not None and seconds > most:
        why = f"if provided, maxExpirationSeconds must be <= {most}"
        found.append(invalid(child(path, "maxExpirationSeconds"), seconds, why))
    files = {
        name: certificate[name]
        for name in ("credentialBundlePath", "keyPath", "certificateChainPath")
        if certificate.get(name)
    }
    for name, file in files.items():
        found += local_path(file, child(path, name)) + paths.add(file, file)
    if not files:
        why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        found.append(required(path, why))
    return found


def _user_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in annotations:
        found += domain_prefixed_key(key.lower(), path)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    return [*found, too_long(path, MAX_ANNOTATIONS)] if size > MAX_ANNOTATIONS else found


_RULES = {
    "emptyDir": _empty_dir,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward_api,
    "projected": _projected,
    "ephemeral": _ephemeral,
    "image": _image,
}
