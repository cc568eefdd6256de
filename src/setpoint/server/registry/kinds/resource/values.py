"""Rules for single values of devices: names of drivers, pools and attributes, taints, tolerations, and parameters."""

from collections.abc import Callable, Iterable, Sequence

from setpoint.objects.field import (
    FieldError,
    duplicate,
    index,
    invalid,
    not_supported,
    required,
    too_long,
    too_long_characters,
    too_many,
)
from setpoint.objects.gotext import compact_json
from setpoint.objects.names import c_identifier, dns1123_subdomain_caseless, label_value, qualified_name
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.core.volume_sources import validate_csi_driver
from setpoint.server.registry.kinds.validation.values import enum, subdomain, wrong

EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")
_MAX_DRIVER, _MAX_POOL, _MAX_IDENTIFIER, _MAX_PARAMETERS, _MAX_CONDITIONS = 63, 253, 32, 10 * 1024, 4

# The name of a driver, by the rule of CSI drivers.
validate_driver = validate_csi_driver


def declared_driver(name: str, path: str) -> list[FieldError]:
    """Validates the name of a driver by the rules that the API declares with its types."""
    if not name:
        return [required(path)]
    found = wrong(path, name, dns1123_subdomain_caseless(name))
    return [*found, too_long_characters(path, _MAX_DRIVER)] if len(name) > _MAX_DRIVER else found


def validate_pool(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    found = [too_long(path, _MAX_POOL)] if len(name.encode()) > _MAX_POOL else []
    for part in name.split("/"):
        found += subdomain(part, path)
    return found


def declared_pool(name: str, path: str) -> list[FieldError]:
    """Validates the name of a pool by the rules that the API declares with its types."""
    if not name:
        return [required(path)]
    found = [too_long(path, _MAX_POOL)] if len(name.encode()) > _MAX_POOL else []
    for position, part in enumerate(name.split("/")):
        if not part:
            found.append(invalid(path, name, f"segment {position}: must not be empty"))
        found += [
            error._replace(detail=f"segment {position}: {error.detail}") for error in subdomain(part, path) if part
        ]
    return found


def validate_attribute_name(name: str, path: str, *, needs_domain: bool = False) -> list[FieldError]:
    """Validates the name of an attribute or a capacity: an identifier, after a domain and a slash if needed."""
    found: list[FieldError] = []
    parts = name.split("/")
    if len(parts) == 1:
        found += _identifier(parts[0], path)
    elif len(parts) == 2:
        found += validate_driver(parts[0], path) if parts[0] else [invalid(path, "", "the domain must not be empty")]
        found += _identifier(parts[1], path) if parts[1] else [invalid(path, "", "the name must not be empty")]
    if needs_domain and "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(invalid(path, name, why))
    return found


def _identifier(name: str, path: str) -> list[FieldError]:
    found = [too_long(path, _MAX_IDENTIFIER)] if len(name.encode()) > _MAX_IDENTIFIER else []
    return found + wrong(path, name, c_identifier(name))


def validate_taint(taint: Object, before: Object | None, path: str) -> list[FieldError]:
    """Validates a taint of a device; the effect of the stored taint (`before`) remains allowed."""
    key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
    found = wrong(f"{path}.key", key, qualified_name(key))
    found += wrong(f"{path}.value", value, label_value(value)) if value else []
    return (
        found
        if before is not None and effect == before.get("effect")
        else found + enum(effect, f"{path}.effect", EFFECTS)
    )


def validate_toleration(toleration: Object, path: str) -> list[FieldError]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    found = wrong(f"{path}.key", key, qualified_name(key)) if key else []
    if operator == "Exists":
        if value:
            found.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found += wrong(f"{path}.value", value, label_value(value))
    else:
        found += enum(operator, f"{path}.operator", _OPERATORS)
    if effect and effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found


def validate_binding_conditions(tree: Object, path: str) -> list[FieldError]:
    """Validates the conditions that a binding awaits: both lists or none, without repeated names."""
    names = ("bindingConditions", "bindingFailureConditions")
    awaited, failures = (tree.get(name) or [] for name in names)
    found: list[FieldError] = []
    for name, conditions in zip(names, (awaited, failures), strict=True):
        place = f"{path}.{name}"
        found += validate_list(conditions, place, _MAX_CONDITIONS, lambda one, at: wrong(at, one, qualified_name(one)))
    found += repeated(awaited, f"{path}.{names[0]}")
    for position, condition in enumerate(failures):
        place = index(f"{path}.{names[1]}", position)
        if condition in failures[:position]:
            found.append(duplicate(place, condition))
        if condition in awaited:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            found.append(invalid(place, condition, why))
    for position, (missing, given) in enumerate(((awaited, failures), (failures, awaited))):
        if given and not missing:
            absent, other = names[position], names[1 - position]
            found.append(invalid(f"{path}.{absent}", None, f"{absent} are required to use {other}"))
    return found


def validate_configuration(tree: Object, path: str) -> list[FieldError]:
    """Validates the configuration of a device, which has one form only: parameters for a driver."""
    opaque = tree.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    found = validate_json(opaque.get("parameters"), f"{path}.opaque.parameters")
    return found + declared_driver(opaque.get("driver") or "", f"{path}.opaque.driver")


def validate_json(value: Json, path: str) -> list[FieldError]:
    """Validates free data, which must be an object."""
    if value is None:
        return [required(path)]
    if len(compact_json(value).encode()) > _MAX_PARAMETERS:
        return [too_long(path, _MAX_PARAMETERS)]
    return [] if isinstance(value, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]


def validate_list(
    items: Sequence[Json], path: str, most: int, validate: Callable[[Json, str], Iterable[FieldError]]
) -> list[FieldError]:
    """Validates the items of a list. Of a list that is too long, the items are not validated."""
    if len(items) > most:
        return [too_many(path, len(items), most)]
    return [error for position, item in enumerate(items) for error in validate(item, index(path, position))]


def repeated(names: Sequence[str], path: str) -> list[FieldError]:
    """Returns an error for each name that appears before."""
    return [duplicate(index(path, position), name) for position, name in enumerate(names) if name in names[:position]]
