"""How a rule refuses: in the words that every rule of the real server uses."""

from setpoint.objects import meta
from setpoint.objects.errors import Forbidden
from setpoint.server.ports import Operation


def forbidden(operation: Operation, why: str) -> Forbidden:
    """The refusal of a write. An object that is yet to get its name is called by what that will begin with."""
    tree = operation.object or {}
    name = operation.name or meta.name(tree) or tree.get("metadata", {}).get("generateName") or "Unknown"
    return Forbidden.of(operation.resource.group_resource, name, why)


def all_of(problems: list[str]) -> str:
    """Several problems as one: each once, in brackets where there is more than one."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
