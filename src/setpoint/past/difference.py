"""The difference of two states of an object, as YAML with `-` and `+`, or field by field. Secrets are masked. Pure."""

from difflib import unified_diff

from setpoint.objects import yamltext
from setpoint.objects.tree import Object
from setpoint.past.change import FieldChange, compare
from setpoint.past.secret_mask import masked_change, masked_pair

_RECORDS = ("managedFields", "resourceVersion")


def unified(old: Object, new: Object, before: str, after: str, context: int = 3) -> list[str]:
    """The lines of a unified diff of the YAML; none where nothing differs. `before` and `after` name the two sides."""
    first, last = (_yaml(tree).splitlines() for tree in masked_pair(without_records(old), without_records(new)))
    return list(unified_diff(first, last, before, after, lineterm="", n=context))


def fields(old: Object, new: Object) -> tuple[FieldChange, ...]:
    """The fields that differ."""
    kinds = {old.get("kind"), new.get("kind")}
    return tuple(masked_change(change, is_secret="Secret" in kinds) for change in compare(old, new))


def without_records(tree: Object) -> Object:
    """An object without what the log says better: who manages its fields, and which revision it is."""
    if "metadata" not in tree:
        return tree
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _RECORDS}
    return {**tree, "metadata": metadata}


def _yaml(tree: Object) -> str:
    return yamltext.dump(tree) if tree else ""
