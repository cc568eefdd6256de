"""The annotation that client-side `kubectl apply` keeps, and the way from there to server-side apply.

Only for the manager `kubectl`: fields that the annotation shows to be its own, unchanged since, are no conflict; and
where the object has the annotation it is kept up to date, so that an older kubectl finds its way back.
"""

import msgspec

from setpoint.merge import fieldset
from setpoint.merge.conflicts import Conflicts
from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.merge.typed.node import Mismatch, Type, compare
from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Json, Object

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

# All annotations of an object together, names and values.
MAX_ANNOTATIONS_BYTES = 256 * 1024


def not_migrated(conflicts: Conflicts, kind: Type, live: Object, version: str) -> Conflicts | None:
    """The conflicts about fields that client-side apply does not own; None when it owns them all."""
    allowed = _still_as_applied(kind, live, version)
    return conflicts if allowed is None else conflicts.outside(allowed)


def _still_as_applied(kind: Type, live: Object, version: str) -> FieldSet | None:
    """The fields that the annotation sets and the live object has unchanged; None where there is no annotation."""
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
    """The object with its annotation rewritten from the configuration that was just applied, if it has one at all."""
    annotations = _annotations(new)
    if not annotations.get(ANNOTATION):
        return new
    updated = {**annotations, ANNOTATION: _encode(config)}
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in updated.items()) > MAX_ANNOTATIONS_BYTES:
        del updated[ANNOTATION]
    return {**new, "metadata": {**new["metadata"], "annotations": updated}}


def _encode(config: Object) -> str:
    """The configuration as the annotation has it: without the annotation, and on one line that ends."""
    annotations = _annotations(config)
    if ANNOTATION in annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    return compact_json(config) + "\n"


def _annotations(tree: Object) -> dict[str, Json]:
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    return annotations if type(annotations) is dict else {}
