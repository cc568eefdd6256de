"""The rules for `metadata` of every kind, on create and on update, with their exact field errors.

The functions take metadata that `objectmeta.coerce` has normalized. A valid object costs one check per label and key.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from setpoint.objects import names
from setpoint.objects.field import (
    FieldError,
    child,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from setpoint.objects.gotext import RawJson, byte_length, quote
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Json, Object

MAX_ANNOTATIONS = 256 * 1024
MAX_FIELD_MANAGER = 128
MAX_SUBRESOURCE = 256

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
# Finalizers that need no domain: the two of the garbage collector, and that of namespaces.
STANDARD_FINALIZERS = frozenset({ORPHAN, FOREGROUND, "kubernetes"})

# Longer kinds and apiVersions of owners are not cached.
_REMEMBERED = 512
_IMMUTABLE = "field is immutable"
_EVENT = GroupVersionKind("", "v1", "Event")


def validate_create(
    meta: Object,
    *,
    namespaced: bool,
    name_rule: names.NameRule = names.dns1123_subdomain,
    path: str = "metadata",
    needs_domains: bool = False,
) -> list[FieldError]:
    """Returns the faults of a new object's metadata, after the name was generated.

    `needs_domains` adds the rule of most built-in kinds that a finalizer has a domain.
    """
    errors = validate_name(meta, name_rule, path=path)
    namespace = meta.get("namespace")
    if not namespaced:
        if namespace:
            errors.append(forbidden(child(path, "namespace"), "not allowed on this type"))
    elif namespace:
        if messages := names.dns1123_label(namespace):
            errors += [invalid(child(path, "namespace"), namespace, message) for message in messages]
    else:
        errors.append(required(child(path, "namespace")))
    if "generation" in meta:
        errors += _validate_generation(meta, path)
    errors += _validate_entries(meta, path)
    if finalizers := meta.get("finalizers"):
        errors += validate_finalizers(finalizers, f"{path}.finalizers")
    if managed := meta.get("managedFields"):
        errors += validate_managed_fields(managed, f"{path}.managedFields")
    if needs_domains and finalizers:
        errors += validate_domains(finalizers, f"{path}.finalizers")
    return errors


def validate_update(new: Object, old: Object, *, path: str = "metadata") -> list[FieldError]:
    """Returns the faults of updated metadata compared to the stored metadata, by the rules that all kinds share.

    The API validates the metadata first like that of a new object, then as a change. Its custom resources repeat the
    second part, see `validate_change_again`.
    """
    errors: list[FieldError] = []
    if base := new.get("generateName"):
        errors += [invalid(child(path, "generateName"), base, message) for message in names.path_segment(base, True)]
    errors += _validate_entries(new, path)
    if finalizers := new.get("finalizers"):
        errors += validate_finalizers(finalizers, f"{path}.finalizers")
    if managed := new.get("managedFields"):
        errors += validate_managed_fields(managed, f"{path}.managedFields")
    return errors + _validate_change(new, old, path)


def validate_change_again(new: Object, old: Object, *, path: str = "metadata") -> list[FieldError]:
    """Returns the faults of a change that a kind without declared rules reports again."""
    entries = validate_entries_again(new, path=path)
    changes = _validate_change(new, old, path)
    return entries + changes + entries


def validate_entries_again(new: Object, *, path: str = "metadata") -> list[FieldError]:
    """Returns the faults of labels, annotations, owners and managers, which the validation of a change repeats."""
    entries = _validate_entries(new, path)
    if managed := new.get("managedFields"):
        entries += validate_managed_fields(managed, f"{path}.managedFields")
    return entries


def validate_name(meta: Object, name_rule: names.NameRule, *, path: str = "metadata") -> list[FieldError]:
    """Returns the faults of the name, and of the prefix of a generated name, by the rule of a kind."""
    errors: list[FieldError] = []
    if base := meta.get("generateName"):
        errors += [invalid(child(path, "generateName"), base, message) for message in name_rule(base, True)]
    if name := meta.get("name"):
        if messages := name_rule(name, False):
            errors += [invalid(child(path, "name"), name, message) for message in messages]
    else:
        errors.append(required(child(path, "name"), "name or generateName is required"))
    return errors


def _validate_entries(meta: Object, path: str) -> list[FieldError]:
    """Returns the faults of the labels, annotations and owner references."""
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors += validate_labels(labels, f"{path}.labels")
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, f"{path}.annotations")
    if owners := meta.get("ownerReferences"):
        errors += validate_owner_references(owners, f"{path}.ownerReferences")
    return errors


def _validate_change(new: Object, old: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        errors += _validate_no_new_finalizers(new, old, f"{path}.finalizers")
    if not new.get("resourceVersion"):
        errors.append(invalid(child(path, "resourceVersion"), "", "must be specified for an update"))
    if "generation" in new or "generation" in old:
        errors += _validate_generation(new, path)
        if new.get("generation", 0) < old.get("generation", 0):
            errors.append(invalid(child(path, "generation"), new.get("generation", 0), "must not be decremented"))
    if list(map(new.get, _UNCHANGING)) != list(map(old.get, _UNCHANGING)):
        for name, absent in _UNCHANGING.items():
            if (value := new.get(name, absent)) != old.get(name, absent):
                errors.append(invalid(child(path, name), value, _IMMUTABLE))
    return errors


# The immutable fields, and the value that represents a missing one in messages.
_UNCHANGING: dict[str, Json] = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}


def _validate_generation(meta: Object, path: str) -> list[FieldError]:
    generation = meta.get("generation", 0)
    if generation >= 0:
        return []
    return [invalid(child(path, "generation"), generation, "must be greater than or equal to 0")]


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Returns the faults of labels, all with the path of the labels."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        if messages := names.qualified_name(key):
            errors += [invalid(path, key, message) for message in messages]
        if messages := names.label_value(value):
            errors += [invalid(path, value, message) for message in messages]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Returns the faults of annotations: their keys, which may be in any case, and their total size."""
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        if messages := names.qualified_name(key.lower()):
            errors += [invalid(path, key, message) for message in messages]
        size += byte_length(key) + byte_length(value)
    if size > MAX_ANNOTATIONS:
        errors.append(too_long(path, MAX_ANNOTATIONS))
    return errors


def validate_finalizers(finalizers: list[str], path: str) -> list[FieldError]:
    """Returns the faults of finalizers: invalid names, and both finalizers of the garbage collector together."""
    errors = [
        invalid(path, finalizer, message) for finalizer in finalizers for message in names.qualified_name(finalizer)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return errors


def validate_domains(finalizers: list[str], path: str) -> list[FieldError]:
    """Returns the faults of finalizers that have no domain."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(index(path, at), finalizer, text)
        for at, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def _validate_no_new_finalizers(new: Object, old: Object, path: str) -> list[FieldError]:
    extra = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
    if not extra:
        return []
    text = "no new finalizers can be added if the object is being deleted, found new finalizers"
    return [forbidden(path, f"{text} []string{{{', '.join(map(quote, extra))}}}")]


def finalizer_warnings(meta: Object, old: Object | None = None) -> list[str]:
    """Returns the warnings about new finalizers of a custom resource: invalid names, and names without a domain."""
    known = set(old.get("finalizers", ())) if old else set()
    warnings = []
    for finalizer in sorted(set(meta.get("finalizers", ())) - known):
        where = f"metadata.finalizers: {quote(finalizer)}:"
        warnings += [f"{where} {message}" for message in names.qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in finalizer else ""
            why = "to avoid accidental conflicts with other finalizer writers"
            warnings.append(f"{where} prefer a domain-qualified finalizer name{path} {why}")
    return warnings


def validate_owner_references(references: list[Object], path: str) -> list[FieldError]:
    """Returns the faults of owner references: of each reference, and more than one controller."""
    errors: list[FieldError] = []
    controller = ""
    for at, reference in enumerate(references):
        kind, version = reference.get("kind", ""), reference.get("apiVersion", "")
        fits = len(kind) + len(version) <= _REMEMBERED and _may_own(version, kind)
        if not fits or not reference.get("name") or not reference.get("uid"):
            errors += _validate_owner_reference(reference, index(path, at))
        if reference.get("controller"):
            name = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                found = f'Found "true" in references for {controller} and {name}'
                shown = RawJson(f"[{','.join(map(_shown, references))}]")
                errors.append(invalid(path, shown, f"Only one reference can have Controller set to true. {found}"))
            else:
                controller = name
    return errors


@lru_cache(maxsize=1024)
def _may_own(api_version: str, kind: str) -> bool:
    """Returns True if an apiVersion and a kind are valid for an owner."""
    try:
        version = GroupVersion.parse(api_version)
    except ValueError:
        return False
    return bool(kind and version.version) and version.with_kind(kind) != _EVENT


def _validate_owner_reference(reference: Object, path: str) -> list[FieldError]:
    errors = []
    api_version = reference.get("apiVersion", "")
    try:
        version = GroupVersion.parse(api_version)
    except ValueError:
        version = GroupVersion("", "")
    if not api_version:
        errors.append(required(child(path, "apiVersion"), "must not be empty"))
    elif not version.version:
        errors.append(invalid(child(path, "apiVersion"), api_version, "must be <group>/<version> or <version>"))
    errors += [
        required(child(path, name), "must not be empty") for name in ("kind", "name", "uid") if not reference.get(name)
    ]
    if version.with_kind(reference.get("kind", "")) == _EVENT:
        errors.append(invalid(path, RawJson(_shown(reference)), f"{_EVENT} is disallowed from being an owner"))
    return errors


def _shown(reference: Object) -> str:
    """Formats an owner reference for messages: its fields in the order of the type."""
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return msgspec.json.encode({name: reference[name] for name in order if name in reference}).decode()


def validate_managed_fields(entries: list[Object], path: str) -> list[FieldError]:
    """Returns the faults of the entries of `managedFields`, except those of their field sets."""
    errors: list[FieldError] = []
    for at, entry in enumerate(entries):
        if _is_usual(entry):
            continue
        place = index(path, at)
        operation = entry.get("operation")
        if not operation:
            errors.append(required(child(place, "operation"), "must not be empty"))
        elif operation not in ("Apply", "Update"):
            errors.append(not_supported(child(place, "operation"), operation, ("Apply", "Update")))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors.append(invalid(child(place, "fieldsType"), entry["fieldsType"], "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager", ""), child(place, "manager"))
        if byte_length(entry.get("subresource", "")) > MAX_SUBRESOURCE:
            errors.append(too_long(child(place, "subresource"), MAX_SUBRESOURCE))
    return errors


def _is_usual(entry: Object) -> bool:
    """Returns True for an ordinary valid entry, which needs no further check and no path."""
    manager: str = entry.get("manager", "")
    return (
        entry.get("operation") in ("Apply", "Update")
        and entry.get("fieldsType") == "FieldsV1"
        and len(manager) <= MAX_FIELD_MANAGER
        and manager.isascii()
        and manager.isprintable()
        and len(entry.get("subresource", "")) <= MAX_SUBRESOURCE // 4  # a character has at most four bytes
    )


def validate_field_manager(manager: str, path: str) -> list[FieldError]:
    """Returns the faults of the name of a field manager: at most 128 bytes, all printable."""
    errors = [too_long(path, MAX_FIELD_MANAGER)] if byte_length(manager) > MAX_FIELD_MANAGER else []
    if not manager.isprintable():
        position = 0
        for char in manager:
            if not char.isprintable():
                why = f"invalid character U+{ord(char):04X} (at position {position})"
                errors.append(invalid(path, manager, why))
            position += byte_length(char)
    return errors
