"""The annotation of client-side `kubectl apply`, and the migration to server-side apply.

Only for the manager `kubectl`: fields that the annotation sets and that are unchanged since are no conflict; and an
existing annotation is kept up to date, so that an older kubectl can still use client-side apply.
"""

import msgspec

from setpoint.merge import fieldset
from setpoint.merge.conflicts import Conflicts
from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.merge.typed.node import Mismatch, Type, compare
from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Json, Object

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

# The limit for all annotations of an object together, names and values.
MAX_ANNOTATIONS_BYTES = 256 * 1024


def not_migrated(conflicts: Conflicts, kind: Type, live: Object, version: str) -> Conflicts | None:
    """Returns the conflicts about fields that client-side apply does not own; None if it owns them all."""
    allowed = _still_as_applied(kind, live, version)
    return conflicts if allowed is None else conflicts.outside(allowed)


def _still_as_applied(kind: Type, live: Object, version: str) -> FieldSet | None:
    """Returns the fields of the annotation that are unchanged in the live object; None without an annotation."""
    text = _annotations(live).get(ANNOTATION)
    if type(text) is not str or not text:
        return None
    try:
        applied = msgspec.json.decode(text)
        if type(applied) is not dict or applied.get("apiVersion") != version:
            return None
        fields = kind.field_set(applied, True) or EMPTY
        for difference in compare(kind, applied, live):
            fields = fieldset.difference(fields, difference)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError, Mismatch):
        return None
    return fields


def refreshed(new: Object, config: Object) -> Object:
    """Returns the object with its annotation, if present, rewritten from the configuration that was just applied."""
    annotations = _annotations(new)
    if not annotations.get(ANNOTATION):
        return new
    updated = {**annotations, ANNOTATION: _encode(config)}
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in updated.items()) > MAX_ANNOTATIONS_BYTES:
        del updated[ANNOTATION]
    return {**new, "metadata": {**new["metadata"], "annotations": updated}}


def _encode(config: Object) -> str:
    """Encodes the configuration for the annotation: without the annotation itself, on one line with a line end."""
    annotations = _annotations(config)
    if ANNOTATION in annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    return compact_json(config) + "\n"


def _annotations(tree: Object) -> dict[str, Json]:
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    return annotations if type(annotations) is dict else {}
