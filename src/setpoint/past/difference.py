"""The difference of two states of an object, as a unified diff of the YAML, or by field. Secrets are masked. Has no
side effects."""

from difflib import unified_diff

from setpoint.objects import yamltext
from setpoint.objects.tree import Object
from setpoint.past.change import FieldChange, compare
from setpoint.past.secret_mask import masked_change, masked_pair

_RECORDS = ("managedFields", "resourceVersion")


def unified(old: Object, new: Object, before: str, after: str, context: int = 3) -> list[str]:
    """Returns the lines of a unified diff of the YAML, or no lines if the states are equal. `before` and `after` name
    the two sides."""
    first, last = (_yaml(tree).splitlines() for tree in masked_pair(without_records(old), without_records(new)))
    return list(unified_diff(first, last, before, after, lineterm="", n=context))


def fields(old: Object, new: Object) -> tuple[FieldChange, ...]:
    """Returns the changed fields."""
    kinds = {old.get("kind"), new.get("kind")}
    return tuple(masked_change(change, is_secret="Secret" in kinds) for change in compare(old, new))


def without_records(tree: Object) -> Object:
    """Returns an object without managedFields and resourceVersion, which the log has in a better form."""
    if "metadata" not in tree:
        return tree
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _RECORDS}
    return {**tree, "metadata": metadata}


def _yaml(tree: Object) -> str:
    return yamltext.dump(tree) if tree else ""
