"""Failure and success policies of Jobs; and lists of indexes such as `1-3,7`."""

from setpoint.objects.field import (
    OMITTED,
    FieldError,
    duplicate,
    index,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.validation.values import non_negative, qualified

_MAX_RULES, _MAX_CODES, _MAX_PATTERNS = 20, 255, 20
_MAX_INDEXES_TEXT = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_OPERATORS = ("In", "NotIn")


def _valid(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"


def default_failure_policy(spec: Object) -> None:
    for rule in lookup(spec, "podFailurePolicy", "rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"


def validate_failure_policy(spec: Object, path: str) -> list[FieldError]:
    rules, place = lookup(spec, "podFailurePolicy", "rules") or [], f"{path}.rules"
    found = [too_many(place, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    pod = lookup(spec, "template", "spec") or {}
    names = {item.get("name") for kind in ("containers", "initContainers") for item in pod.get(kind) or ()}
    for position, rule in enumerate(rules):
        found += _validate_failure_rule(rule, spec, names, index(place, position))
    return found


def _validate_failure_rule(rule: Object, spec: Object, names: set[str | None], path: str) -> list[FieldError]:
    action, codes, patterns = rule.get("action") or "", rule.get("onExitCodes"), rule.get("onPodConditions") or []
    found = []
    if not action:
        found.append(required(f"{path}.action", _valid(_ACTIONS)))
    elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
        found.append(invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        found.append(not_supported(f"{path}.action", action, _ACTIONS))
    if codes is not None:
        found += _validate_exit_codes(codes, names, f"{path}.onExitCodes")
    found += _validate_patterns(patterns, f"{path}.onPodConditions")
    if codes is not None and patterns:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(invalid(path, OMITTED, why))
    if codes is None and not patterns:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(invalid(path, OMITTED, why))
    return found


def _validate_patterns(patterns: list[Object], path: str) -> list[FieldError]:
    found = [too_many(path, len(patterns), _MAX_PATTERNS)] if len(patterns) > _MAX_PATTERNS else []
    for position, pattern in enumerate(patterns):
        place, status = index(path, position), pattern.get("status") or ""
        found += qualified(pattern.get("type") or "", f"{place}.type")
        if not status:
            found.append(required(f"{place}.status", _valid(_STATUSES)))
        elif status not in _STATUSES:
            found.append(not_supported(f"{place}.status", status, _STATUSES))
    return found


def _validate_exit_codes(codes: Object, names: set[str | None], path: str) -> list[FieldError]:
    operator, values, name = codes.get("operator") or "", codes.get("values") or [], codes.get("containerName")
    place = f"{path}.values"
    found = []
    if not operator:
        found.append(required(f"{path}.operator", _valid(_OPERATORS)))
    elif operator not in _OPERATORS:
        found.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if name is not None and name not in names:
        why = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{path}.containerName", name, why))
    if not values:
        found.append(invalid(place, values, "at least one value is required"))
    elif len(values) > _MAX_CODES:
        found.append(too_many(place, len(values), _MAX_CODES))
    known: set[int] = set()
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            found.append(invalid(index(place, position), value, "must not be 0 for the In operator"))
        if value in known:
            found.append(duplicate(index(place, position), value))
        known.add(value)
    return found if values == sorted(values) else [*found, invalid(place, values, "must be ordered")]


def validate_success_policy(spec: Object, path: str) -> list[FieldError]:
    rules, place = lookup(spec, "successPolicy", "rules") or [], f"{path}.rules"
    found = []
    if not rules:
        found.append(required(place, "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > _MAX_RULES:
        found.append(too_many(place, len(rules), _MAX_RULES))
    for position, rule in enumerate(rules):
        found += _validate_success_rule(rule, spec.get("completions") or 0, index(place, position))
    return found


def _validate_success_rule(rule: Object, completions: int, path: str) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    found: list[FieldError] = []
    if count is None and indexes is None:
        found.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        place = f"{path}.succeededIndexes"
        if len(indexes) > _MAX_INDEXES_TEXT:
            found.append(too_long(place, _MAX_INDEXES_TEXT))
        try:
            total = sum(last - first + 1 for first, last in read_indexes(indexes, completions))
        except ValueError as error:
            found.append(invalid(place, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        place, most = f"{path}.succeededCount", "must be less than or equal to"
        found += non_negative(count, place)
        if count > completions:
            found.append(invalid(place, count, f"{most} {completions} (the number of specified completions)"))
        if indexes is not None and count > total:
            why = f"{most} {total} (the number of indexes in the specified succeededIndexes field)"
            found.append(invalid(place, count, why))
    return found


def read_indexes(text: str, completions: int) -> list[tuple[int, int]]:
    """Parses the intervals of a list of indexes, which must increase. Raises ValueError with the API's message."""
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            raise ValueError(
                f"the fragment {quote(part)} violates the requirement that an index interval can have at most two "
                "parts separated by '-'"
            )
        first = _read_index(limits[0], completions)
        last = _read_index(limits[1], completions) if len(limits) > 1 else first
        if len(limits) > 1 and first >= last:
            raise ValueError(f"non-increasing order, previous: {first}, current: {last}")
        if found and found[-1][1] >= first:
            raise ValueError(f"non-increasing order, previous: {found[-1][1]}, current: {first}")
        found.append((first, last))
    return found


def _read_index(text: str, completions: int) -> int:
    figures = text.removeprefix("+")
    if not (figures.isascii() and figures.isdigit()) or len(figures) > 18:
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    if int(figures) >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return int(figures)
