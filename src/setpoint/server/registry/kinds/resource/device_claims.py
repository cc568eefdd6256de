"""Validation of claims of devices: their requests, constraints and configuration, and their allocation."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from setpoint.objects.field import FieldError, duplicate, forbidden, index, invalid, required, too_long, too_many
from setpoint.objects.gotext import RawJson
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.base_strategy import struct_text
from setpoint.server.registry.kinds.core.pod.scheduling import validate_node_selector
from setpoint.server.registry.kinds.resource.values import (
    declared_driver,
    declared_pool,
    repeated,
    validate_attribute_name,
    validate_binding_conditions,
    validate_configuration,
    validate_driver,
    validate_json,
    validate_list,
    validate_pool,
    validate_toleration,
)
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.values import enum, label, subdomain

_MOST, _MAX_ALTERNATIVES, _MAX_EXPRESSION, _MAX_RESERVED = 32, 8, 10 * 1024, 256
_MODES = ("All", "ExactCount")
_NOT_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"
_ATTRIBUTES = ("matchAttribute", "distinctAttribute")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID_WRONG = "must be a lowercase UUID in 8-4-4-4-12 format"

# The rules of a claim that the API declares with its types, below `{}`.
_DECLARED = (
    "requests TooMany",
    "requests[*] Duplicate",
    *(
        f"requests[*].{place}.{rule}"
        for place in ("exactly", "firstAvailable[*]")
        for rule in (
            *(
                "deviceClassName Required",
                "deviceClassName Invalid",
                "selectors TooMany",
                "allocationMode NotSupported",
            ),
            *("tolerations[*].key Invalid", "tolerations[*].operator Required", "tolerations[*].operator NotSupported"),
            "tolerations[*].effect NotSupported",
        )
        if place != "exactly" or not rule.startswith("deviceClassName")
    ),
    "requests[*].firstAvailable TooMany",
    "requests[*].firstAvailable[*] Duplicate",
    "constraints TooMany",
    "constraints[*].requests TooMany",
    "constraints[*].requests[*] Duplicate",
    "constraints[*].matchAttribute TooLong",
    "constraints[*].matchAttribute Invalid",
    "constraints[*].distinctAttribute TooLong",
    "constraints[*].distinctAttribute Invalid",
    "config TooMany",
    "config[*].requests TooMany",
    "config[*].requests[*] Duplicate",
    "config[*].opaque.driver Required",
    "config[*].opaque.driver Invalid",
    "config[*].opaque.driver TooLong",
)


def declared_rules(path: str) -> Sequence[str]:
    """Returns the declared rules of the devices of a claim at a path."""
    return tuple(f"{path}.{rule}" for rule in _DECLARED)


def validate_devices(devices: Object, path: str) -> list[FieldError]:
    requests = devices.get("requests") or []
    known = request_names(devices)
    found = validate_list(requests, f"{path}.requests", _MOST, _validate_request)
    if len(requests) <= _MOST:
        found += _repeated_objects(requests, f"{path}.requests", _REQUEST_ORDER)
    found += validate_list(
        devices.get("constraints") or [],
        f"{path}.constraints",
        _MOST,
        lambda constraint, place: _validate_constraint(constraint, place, known),
    )
    return found + validate_list(
        devices.get("config") or [],
        f"{path}.config",
        _MOST,
        lambda config, place: _validate_references(config, place, known) + validate_configuration(config, place),
    )


def request_names(devices: Object) -> Mapping[str, frozenset[str]]:
    """Returns the names of the requests, each with the names of its alternatives."""
    return {
        request.get("name") or "": frozenset(one.get("name") or "" for one in request.get("firstAvailable") or ())
        for request in devices.get("requests") or ()
    }


def _repeated_objects(items: list[Object], path: str, order: Sequence[str]) -> list[FieldError]:
    """Returns an error for each object with the name of an earlier one; the error shows the object in Go's order."""
    names: set[str] = set()
    found = []
    for position, item in enumerate(items):
        name = item.get("name") or ""
        if name in names:
            shown = msgspec.json.encode(_in_order(item, order)).decode()
            found.append(duplicate(index(path, position), RawJson(shown)))
        names.add(name)
    return found


_ASKED = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
_REQUEST_ORDER = ("name", "exactly", "firstAvailable", *_ASKED)


def _in_order(value: Json, order: Sequence[str]) -> Json:
    if isinstance(value, list):
        return [_in_order(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    names = [*(name for name in order if name in value), *(name for name in value if name not in order)]
    return {name: _in_order(value[name], order) for name in names}


def _validate_request(request: Object, path: str) -> list[FieldError]:
    exact, several = request.get("exactly"), request.get("firstAvailable") or []
    found = label(request.get("name") or "", f"{path}.name")
    if exact is None and not several:
        return [*found, required(path, _ONE_OF)]
    if exact is not None and several:
        found.append(invalid(path, None, f"{_ONE_OF}, but multiple fields are set"))
        found += _declared_parts(exact, f"{path}.exactly")
        for position, asked in enumerate(several):
            place = index(f"{path}.firstAvailable", position)
            name = asked.get("deviceClassName") or ""
            found += subdomain(name, f"{place}.deviceClassName") if name else [required(f"{place}.deviceClassName")]
            found += _declared_parts(asked, place)
        return found
    if exact is not None:
        return found + _validate_asked(exact, f"{path}.exactly")
    place = f"{path}.firstAvailable"
    found += validate_list(several, place, _MAX_ALTERNATIVES, _validate_alternative)
    return found + (_repeated_objects(several, place, _REQUEST_ORDER) if len(several) <= _MAX_ALTERNATIVES else [])


def _declared_parts(asked: Object, path: str) -> list[FieldError]:
    """Returns the errors of declared rules about an alternative that the other rules ignore."""
    mode = asked.get("allocationMode") or ""
    found = enum(mode, f"{path}.allocationMode", _MODES, needed=False)
    for position, toleration in enumerate(asked.get("tolerations") or ()):
        place = index(f"{path}.tolerations", position)
        found += [error for error in validate_toleration(toleration, place) if not error.field.endswith(".value")]
    return found


def _validate_alternative(asked: Object, path: str) -> list[FieldError]:
    return label(asked.get("name") or "", f"{path}.name") + _validate_asked(asked, path)


def _validate_asked(asked: Object, path: str) -> list[FieldError]:
    name, mode, count = asked.get("deviceClassName") or "", asked.get("allocationMode") or "", asked.get("count") or 0
    place = f"{path}.deviceClassName"
    found = subdomain(name, place) if name else [required(place)]
    found += validate_selectors(asked.get("selectors") or [], f"{path}.selectors")
    if mode == "All":
        if count:
            found.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount":
        if count <= 0:
            found.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        found += enum(mode, f"{path}.allocationMode", _MODES, needed=False)
    for position, toleration in enumerate(asked.get("tolerations") or ()):
        found += validate_toleration(toleration, index(f"{path}.tolerations", position))
    return found


def validate_selectors(selectors: list[Object], path: str) -> list[FieldError]:
    """Validates CEL selectors of devices."""
    return validate_list(selectors, path, _MOST, _validate_selector)


def _validate_selector(selector: Object, path: str) -> list[FieldError]:
    # CEL is large, and is imported only if needed.
    from setpoint.server.registry.kinds.resource.expressions import device_problem

    place = f"{path}.cel"
    if selector.get("cel") is None:
        return [required(place)]
    expression = selector["cel"].get("expression") or ""
    if len(expression.encode()) > _MAX_EXPRESSION:
        return [too_long(f"{place}.expression", _MAX_EXPRESSION)]
    problem = device_problem(expression)
    return [invalid(f"{place}.expression", expression, problem)] if problem else []


def _validate_constraint(constraint: Object, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    found = _validate_references(constraint, path, known)
    given = [name for name in _ATTRIBUTES if name in constraint]
    if not given:
        names = " or ".join(f'"{name}"' for name in _ATTRIBUTES)
        found.append(required(path, f"exactly one of {names} is required, but multiple fields are set"))
    for name in given:
        found += validate_attribute_name(constraint[name], f"{path}.{name}", needs_domain=True)
    return found


def _validate_references(tree: Object, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    """Validates the names of requests that a constraint or a configuration is about."""
    names, place = tree.get("requests") or [], f"{path}.requests"
    found = validate_list(names, place, _MOST, lambda name, at: _validate_reference(name, at, known))
    return found + (repeated(names, place) if len(names) <= _MOST else [])


def _validate_reference(name: str, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(path, name, _NOT_A_REQUEST)]
    found = [error for part in parts for error in label(part, path)]
    fits = parts[0] in known and (len(parts) == 1 or parts[1] in known[parts[0]])
    return found if fits else [*found, invalid(path, name, _NOT_A_REQUEST)]


# --- the status ---

STATUS_RULES = (
    "status.allocation Invalid field cannot be modified once set",
    "status.allocation.devices.results TooMany",
    *(
        f"status.allocation.devices.results[*].{rule}"
        for rule in (
            *("driver Required", "driver Invalid", "driver TooLong", "pool Required", "pool Invalid", "pool TooLong"),
            *("tolerations[*].key Invalid", "tolerations[*].operator Required", "tolerations[*].operator NotSupported"),
            *("tolerations[*].effect NotSupported", "bindingConditions TooMany", "bindingFailureConditions TooMany"),
            "shareID Invalid",
        )
    ),
    "status.allocation.devices.config TooMany",
    *(
        f"status.allocation.devices.config[*].{rule}"
        for rule in (
            *("source Required", "source NotSupported", "requests TooMany", "requests[*] Duplicate"),
            *("opaque.driver Required", "opaque.driver Invalid", "opaque.driver TooLong"),
        )
    ),
    "status.reservedFor TooMany",
    "status.reservedFor[*] Duplicate",
    "status.devices[*] Duplicate",
    "status.devices[*].shareID Invalid",
    "status.devices[*].networkData.interfaceName TooLong",
    "status.devices[*].networkData.ips TooMany",
    "status.devices[*].networkData.ips[*] Duplicate",
    "status.devices[*].networkData.hardwareAddress TooLong",
)


def validate_status(tree: Object, old: Object) -> list[FieldError]:
    status, before = tree.get("status") or {}, old.get("status") or {}
    known = request_names((tree.get("spec") or {}).get("devices") or {})
    reserved, allocation = status.get("reservedFor") or [], status.get("allocation")
    found = validate_list(reserved, "status.reservedFor", _MAX_RESERVED, _validate_consumer)
    uids: set[str] = set()
    for position, consumer in enumerate(reserved):
        if (uid := consumer.get("uid") or "") in uids:
            found.append(duplicate(index("status.reservedFor", position), _shown_consumer(consumer)))
        uids.add(uid)
    results = ((allocation or {}).get("devices") or {}).get("results") or []
    allocated = {_identity(result) for result in results}
    devices = status.get("devices") or []
    for position, device in enumerate(devices):
        found += _validate_device_status(device, index("status.devices", position), allocated)
    if reserved and allocation is None:
        why = "may not be specified when `allocated` is not set"
        found.append(forbidden("status.reservedFor", why))
    elif "deletionTimestamp" in tree["metadata"]:
        kept = before.get("reservedFor") or []
        if any(consumer not in kept for consumer in reserved):
            why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            found.append(forbidden("status.reservedFor", why))
    if allocation is not None and before.get("allocation") is not None:
        if allocation == before["allocation"]:
            return found
        return [*found, invalid("status.allocation", None, "field cannot be modified once set")]
    return found if allocation is None else found + _validate_allocation(allocation, "status.allocation", known)


def _shown_consumer(consumer: Object) -> RawJson:
    names = ("apiGroup", "resource", "name", "uid")
    shown = {name: consumer.get(name) or "" for name in names if name != "apiGroup" or consumer.get(name)}
    return RawJson(msgspec.json.encode(shown).decode())


def _validate_consumer(consumer: Object, path: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not consumer.get(name)]


def _identity(device: Object) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def _validate_device_status(device: Object, path: str, allocated: set[tuple[str, ...]]) -> list[FieldError]:
    found = validate_driver(device.get("driver") or "", f"{path}.driver")
    found += validate_pool(device.get("pool") or "", f"{path}.pool")
    found += label(device.get("device") or "", f"{path}.device")
    found += _validate_share(device, path)
    identity = _identity(device)
    if identity not in allocated:
        driver, pool, name, share = identity
        shown = struct_text(Driver=driver, Pool=pool, Device=name, ShareID=share)
        found.append(invalid(path, shown, "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > 8:
        found.append(too_many(f"{path}.conditions", len(conditions), 8))
    found += validate_conditions(conditions, f"{path}.conditions")
    if device.get("data") is not None:
        found += validate_json(device["data"], f"{path}.data")
    return found + _validate_network(device.get("networkData") or {}, f"{path}.networkData")


def _validate_network(data: Object, path: str) -> list[FieldError]:
    found = []
    for name, most in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len((data.get(name) or "").encode()) > most:
            found.append(too_long(f"{path}.{name}", most))
    return found


def _validate_share(device: Object, path: str) -> list[FieldError]:
    share = device.get("shareID")
    return [] if share is None or _UUID.fullmatch(share) else [invalid(f"{path}.shareID", share, _UUID_WRONG)]


def _validate_allocation(allocation: Object, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    devices = allocation.get("devices") or {}
    found = validate_list(
        devices.get("results") or [],
        f"{path}.devices.results",
        _MOST,
        lambda result, place: _validate_result(result, place, known),
    )
    found += validate_list(
        devices.get("config") or [],
        f"{path}.devices.config",
        2 * _MOST,
        lambda config, place: _validate_allocated_config(config, place, known),
    )
    selector = allocation.get("nodeSelector")
    return found if selector is None else found + validate_node_selector(selector, f"{path}.nodeSelector")


def _validate_result(result: Object, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    found = _validate_reference(result.get("request") or "", f"{path}.request", known)
    found += declared_driver(result.get("driver") or "", f"{path}.driver")
    found += declared_pool(result.get("pool") or "", f"{path}.pool")
    found += label(result.get("device") or "", f"{path}.device")
    found += validate_binding_conditions(result, path)
    for position, toleration in enumerate(result.get("tolerations") or ()):
        found += validate_toleration(toleration, index(f"{path}.tolerations", position))
    return found + _validate_share(result, path)


def _validate_allocated_config(config: Object, path: str, known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    found = enum(config.get("source") or "", f"{path}.source", ("FromClaim", "FromClass"))
    return found + _validate_references(config, path, known) + validate_configuration(config, path)
