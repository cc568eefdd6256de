"""The errors of admission plugins, in kube-apiserver's format."""

from setpoint.objects import meta
from setpoint.objects.errors import Forbidden
from setpoint.server.ports import Operation


def forbidden(operation: Operation, why: str) -> Forbidden:
    """Returns the error for a refused write. An object without a name is referred to by its generateName."""
    tree = operation.object or {}
    name = operation.name or meta.name(tree) or tree.get("metadata", {}).get("generateName") or "Unknown"
    return Forbidden.of(operation.resource.group_resource, name, why)


def all_of(problems: list[str]) -> str:
    """Joins distinct problems into one text, in brackets if there is more than one."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
