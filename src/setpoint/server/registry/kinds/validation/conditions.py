"""Validation of status conditions of newer kinds."""

import re

from setpoint.objects.field import FieldError, duplicate, index, invalid, not_supported, required, too_long
from setpoint.objects.names import qualified_name
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.validation.values import wrong

_STATUSES = ("False", "True", "Unknown")
_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_PATTERN = re.compile(_REASON + r"\Z")
_REASON_WRONG = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)
_MAX_REASON, _MAX_MESSAGE = 1024, 32 * 1024


def validate_conditions(conditions: list[Object], path: str) -> list[FieldError]:
    """Validates that each type occurs once and that each condition is complete."""
    found: list[FieldError] = []
    types: set[str] = set()
    for position, condition in enumerate(conditions):
        place, kind = index(path, position), condition.get("type") or ""
        if kind in types:
            found.append(duplicate(place, kind))
        types.add(kind)
        found += _validate_condition(condition, place)
    return found


def _validate_condition(condition: Object, path: str) -> list[FieldError]:
    kind, status = condition.get("type") or "", condition.get("status") or ""
    found = wrong(f"{path}.type", kind, qualified_name(kind)) if kind else [required(f"{path}.type", "is required")]
    if not status:
        found.append(required(f"{path}.status"))
    elif status not in _STATUSES:
        found.append(not_supported(f"{path}.status", status, _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        found.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{path}.lastTransitionTime"))
    reason = condition.get("reason") or ""
    if not reason:
        found.append(required(f"{path}.reason"))
    else:
        if not _REASON_PATTERN.match(reason):
            found.append(invalid(f"{path}.reason", reason, _REASON_WRONG))
        if len(reason) > _MAX_REASON:
            found.append(too_long(f"{path}.reason", _MAX_REASON))
    if len(condition.get("message") or "") > _MAX_MESSAGE:
        found.append(too_long(f"{path}.message", _MAX_MESSAGE))
    return found
