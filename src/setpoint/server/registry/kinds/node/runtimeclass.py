"""RuntimeClasses: the runtimes of containers."""

from setpoint.objects.field import FieldError, duplicate, index, required
from setpoint.objects.metavalidation import validate_labels
from setpoint.objects.names import dns1123_label
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, struct_text
from setpoint.server.registry.kinds.core.pod.resources import validate_resources
from setpoint.server.registry.kinds.core.pod.scheduling import validate_tolerations
from setpoint.server.registry.kinds.printers.cells import field
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import wrong
from setpoint.server.registry.strategy import Column

_TOLERATION = ("key", "operator", "value", "effect")


class RuntimeClassStrategy(ValidatingStrategy):
    without_domains = ("",)
    name_on_update = "before"
    allows_create_on_update = True
    allows_unconditional_update = False
    immutable_unshown = ("handler",)
    declared_rules = ("handler Invalid field is immutable", "handler Required")
    declared_of_new = ("handler Invalid",)
    columns = (NAME, Column("Handler", field("handler")), AGE)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        handler = tree.get("handler") or ""
        found = wrong("handler", handler, dns1123_label(handler)) if handler else [required("handler")]
        overhead, scheduling = tree.get("overhead"), tree.get("scheduling")
        if overhead is not None:
            found += validate_resources({"limits": overhead.get("podFixed")}, "overhead")
        if scheduling is not None:
            found += validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
            found += _validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")
        return found


def _validate_tolerations(tolerations: list[Object], path: str) -> list[FieldError]:
    found = validate_tolerations(tolerations, path)
    known: set[tuple[str, ...]] = set()
    for position, toleration in enumerate(tolerations):
        identity = tuple(str(toleration.get(name) or "") for name in _TOLERATION)
        if identity in known:
            fields = dict(zip(("Key", "Operator", "Value", "Effect"), identity, strict=True))
            shown = struct_text(**fields, TolerationSeconds=toleration.get("tolerationSeconds"))
            found.append(duplicate(index(path, position), shown))
        known.add(identity)
    return found
