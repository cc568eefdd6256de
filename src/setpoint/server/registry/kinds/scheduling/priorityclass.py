"""PriorityClasses."""

from setpoint.objects.field import FieldError, forbidden
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy
from setpoint.server.registry.kinds.printers.cells import field
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, number
from setpoint.server.registry.kinds.validation.values import enum
from setpoint.server.registry.strategy import Column

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(ValidatingStrategy):
    keeps_generation = True
    immutable = ("preemptionPolicy",)
    columns = (
        NAME,
        Column("Value", number("value"), "integer"),
        Column("Global-Default", field("globalDefault", absent=False), "boolean"),
        AGE,
        Column("PreemptionPolicy", field("preemptionPolicy")),
    )

    def default(self, tree: Object) -> None:
        tree.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        return False

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        if old is not None:
            changed = (tree.get("value") or 0) != (old.get("value") or 0)
            return [forbidden("value", "may not be changed in an update.")] if changed else []
        found = []
        name, value = tree["metadata"].get("name") or "", tree.get("value") or 0
        if name.startswith("system-"):
            problem = _system_problem(name, value, bool(tree.get("globalDefault")))
            if problem:
                why = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
                found.append(forbidden("metadata.name", why))
        elif value > _HIGHEST:
            found.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
        if "preemptionPolicy" in tree:
            found += enum(tree["preemptionPolicy"], "preemptionPolicy", _PREEMPTION)
        return found


def _system_problem(name: str, value: int, is_default: bool) -> str:
    """Returns the error of a class with a system name; empty if valid."""
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
