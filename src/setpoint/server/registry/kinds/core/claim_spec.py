"""The spec of a storage claim, as in PersistentVolumeClaims and in the templates inside pods and StatefulSets."""

from setpoint.objects import labels
from setpoint.objects.field import FieldError, child, forbidden, invalid, key, not_supported, required
from setpoint.objects.metavalidation import validate_annotations, validate_labels
from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import positive_amount, wrong

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_OTHER_METADATA = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"),
)


def validate_claim_spec(spec: Object, path: str) -> list[FieldError]:
    found = validate_access_modes(spec.get("accessModes") or [], path, "at least 1 access mode is required")
    found += labels.validate_object(spec.get("selector"), child(path, "selector"))
    place = key(child(path, "resources"), "storage")
    requests = (spec.get("resources") or {}).get("requests") or {}
    found += positive_amount(requests["storage"], place) if "storage" in requests else [required(place)]
    found += _validate_class(spec, "storageClassName", path)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported(child(path, "volumeMode"), mode, VOLUME_MODES))
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        found += _validate_data_source(source, child(path, "dataSource"))
    if reference is not None:
        found += _validate_data_source(reference, child(path, "dataSourceRef"))
        namespace = reference.get("namespace") or ""
        if namespace:
            found += wrong(child(child(path, "dataSourceRef"), "namespace"), namespace, dns1123_label(namespace))
        if source is not None and namespace:
            why = "may not be specified when dataSourceRef.namespace is specified"
            found.append(invalid(path, {}, why))
        elif source is not None and any(source.get(name) != reference.get(name) for name in _REFERENCE):
            # The API shows a path instead of the value, and a path has no public fields.
            found.append(invalid(path, {}, "must match dataSourceRef"))
    return found + _validate_class(spec, "volumeAttributesClassName", path)


def _validate_class(spec: Object, name: str, path: str) -> list[FieldError]:
    return wrong(child(path, name), spec[name], dns1123_subdomain(spec[name])) if spec.get(name) else []


_REFERENCE = ("apiGroup", "kind", "name")


def validate_access_modes(modes: list[str], path: str, missing: str = "") -> list[FieldError]:
    """Validates access modes; ReadWriteOncePod excludes all others."""
    place = child(path, "accessModes")
    found = [] if modes else [required(place, missing)]
    found += [not_supported(place, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        found.append(forbidden(place, "may not use ReadWriteOncePod with other access modes"))
    return found


def _validate_data_source(source: Object, path: str) -> list[FieldError]:
    found = [required(child(path, name)) for name in ("name", "kind") if not source.get(name)]
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(invalid(path, kind, why))
    return found + wrong(child(path, "apiGroup"), group, dns1123_subdomain(group)) if group else found


def validate_template_metadata(metadata: Object, path: str) -> list[FieldError]:
    """Validates the metadata of a template: annotations and labels. Errors about others have the order and the names
    of the fields in Go."""
    found = validate_annotations(metadata.get("annotations") or {}, child(path, "annotations"))
    found += validate_labels(metadata.get("labels") or {}, child(path, "labels"))
    return found + [
        forbidden(child(path, "uID" if name == "uid" else name), "cannot be set")
        for name in _OTHER_METADATA
        if name in metadata
    ]


def validate_claim_template(template: Object, path: str) -> list[FieldError]:
    """Validates a claim template: its metadata may have only labels and annotations."""
    found = validate_template_metadata(template.get("metadata") or {}, child(path, "metadata"))
    return found + validate_claim_spec(template.get("spec") or {}, child(path, "spec"))
