"""ResourceSlices: the devices of a pool that a driver offers."""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from setpoint.objects.field import FieldError, duplicate, forbidden, index, invalid, key, required, too_long, too_many
from setpoint.objects.gotext import RawJson, ordered_json, quote
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy, drop_disabled, immutable
from setpoint.server.registry.kinds.core.pod.scheduling import validate_node_selector
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import field, lookup, selectable
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.resource.values import (
    validate_attribute_name,
    validate_binding_conditions,
    validate_driver,
    validate_list,
    validate_pool,
    validate_taint,
)
from setpoint.server.registry.kinds.validation.values import label, subdomain
from setpoint.server.registry.strategy import Column

_MAX_DEVICES, _MAX_ADVANCED, _MAX_SETS, _MAX_COUNTERS, _MAX_CONSUMED = 128, 64, 8, 32, 2
_MAX_ENTRIES, _MAX_TAINTS, _MAX_TEXT = 32, 16, 64
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_TRUE = "must be either unset or set to true"
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_PLACE_OF_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_PLACE_OF_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_PART = r"(?:0|[1-9]\d*)"
_EXTRA = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"{_PART}\.{_PART}\.{_PART}(?:-{_EXTRA}(?:\.{_EXTRA})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?", re.ASCII
)
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")


class ResourceSliceStrategy(ValidatingStrategy):
    validates_empty = True
    keeps_generation = True
    returns_deleted_object = True
    status_fields = ()
    declared_rules = (
        "spec.devices[*].attributes[*] Invalid must specify",
        "spec.devices[*].consumesCounters TooMany",
        "spec.devices[*].consumesCounters[*] Duplicate",
        "spec.devices[*].consumesCounters[*].counterSet Required",
        "spec.devices[*].consumesCounters[*].counterSet Invalid",
        "spec.devices[*].consumesCounters[*].counters Required",
        "spec.devices[*].consumesCounters[*].counters Invalid",
        "spec.devices[*].taints[*].effect Required",
        "spec.devices[*].taints[*].effect NotSupported",
        "spec.devices[*].bindingConditions TooMany",
        "spec.devices[*].bindingFailureConditions TooMany",
        "spec.sharedCounters TooMany",
        "spec.sharedCounters[*] Duplicate",
        "spec.sharedCounters[*].name Required",
        "spec.sharedCounters[*].name Invalid",
        "spec.sharedCounters[*].counters Required",
        "spec.sharedCounters[*].counters Invalid",
    )
    selectable_fields: ClassVar[Mapping[str, Callable[[Object], str]]] = {
        f"spec.{name}": selectable("spec", name) for name in ("nodeName", "driver")
    }
    columns = (
        NAME,
        Column("Node", field("spec", "nodeName")),
        Column("Driver", field("spec", "driver")),
        Column("Pool", field("spec", "pool", "name")),
        AGE,
    )

    defaults_times = True

    def default_times(self, tree: Object, now: str) -> None:
        for device in lookup(tree, "spec", "devices") or ():
            for taint in device.get("taints") or ():
                if not taint.get("timeAdded"):
                    taint["timeAdded"] = now

    def prepare_for_create(self, tree: Object) -> None:
        _drop_disabled(tree, None)

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        # Even a change of a field that is dropped counts.
        if tree.get("spec") != old.get("spec"):
            tree["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        _drop_disabled(tree, old)

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        """Returns False: the generation was already incremented while preparing the update."""
        return False

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        driver = lookup(tree, "spec", "driver") or ""
        why = f"driver names should be lowercase; {quote(driver)} contains uppercase characters"
        return [] if driver == driver.lower() else [f"spec.driver: {why}"]

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, None if old is None else old.get("spec") or {}
        pool = spec.get("pool") or {}
        found = validate_driver(spec.get("driver") or "", "spec.driver")
        found += _validate_pool(pool)
        if before is not None:
            name = lookup(before, "pool", "name")
            found += immutable(pool.get("name"), name, "spec.pool.name", '""')
            found += immutable(spec.get("driver"), before.get("driver"), "spec.driver", '""')
            found += immutable(spec.get("nodeName"), before.get("nodeName"), "spec.nodeName")
        found += _validate_place(spec)
        if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
            found.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
        found += _validate_devices(spec, before)
        return found + _validate_counter_sets(spec.get("sharedCounters") or [], "spec.sharedCounters")


def _drop_disabled(tree: Object, old: Object | None) -> None:
    """Removes the fields of features that are off."""
    drop_disabled(tree, old, "spec.partitionTypeAttribute", "spec.skipNodeOperations")
    known = {device.get("name"): device for device in lookup(old or {}, "spec", "devices") or ()}
    for device in lookup(tree, "spec", "devices") or ():
        drop_disabled(device, known.get(device.get("name")), "nodeAllocatableResources")
        for consumed in device.get("consumesCounters") or ():
            consumed.pop("compatibilityGroups", None)
        for attribute in (device.get("attributes") or {}).values():
            for name in _VALUES[4:]:
                attribute.pop(name, None)


def _validate_pool(pool: Object) -> list[FieldError]:
    path = "spec.pool"
    found = validate_pool(pool.get("name") or "", f"{path}.name")
    slices, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if slices <= 0:
        found.append(invalid(f"{path}.resourceSliceCount", slices, "must be greater than zero"))
    if generation < 0:
        found.append(invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))
    return found


def _validate_place(spec: Object) -> list[FieldError]:
    """Validates the nodes that can use the devices: exactly one of several fields."""
    found: list[FieldError] = []
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if node:
        found += subdomain(node, "spec.nodeName")
    elif node is not None:
        found.append(invalid("spec.nodeName", node, "must be either unset or set to a non-empty string"))
    if selector is not None:
        found += validate_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if terms is None or len(terms) != 1:
            place = "spec.nodeSelector.nodeSelectorTerms"
            shown = struct_value("[]NodeSelectorTerm", terms)
            found.append(invalid(place, shown, "must have exactly one node selector term"))
    for name in _PLACES[2:]:
        if spec.get(name) is False:
            found.append(invalid(f"spec.{name}", False, _TRUE))
    given = [f"`{name}`" for name in _PLACES if spec.get(name) or (name == "nodeSelector" and selector is not None)]
    if not given:
        found.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        found.append(invalid("spec", f"{{{', '.join(given)}}}", f"{_ONE_PLACE}, but multiple fields are set"))
    return found


def _validate_devices(spec: Object, before: Object | None) -> list[FieldError]:
    devices, path = spec.get("devices") or [], "spec.devices"
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    most = _MAX_ADVANCED if advanced else _MAX_DEVICES
    if len(devices) > most:
        return [too_many(path, len(devices), most)]
    known = {device.get("name"): device for device in (before or {}).get("devices") or ()}
    each = spec.get("perDeviceNodeSelection") is True
    found: list[FieldError] = []
    for position, device in enumerate(devices):
        found += _validate_device(device, known.get(device.get("name")), index(path, position), each)
    names: set[str] = set()
    for position, device in enumerate(devices):
        if (name := device.get("name") or "") in names:
            found.append(duplicate(index(path, position), name))
        names.add(name)
    return found


def _validate_device(device: Object, before: Object | None, path: str, each: bool) -> list[FieldError]:
    found = label(device.get("name") or "", f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    entries = len(attributes) + len(capacity)
    if entries > _MAX_ENTRIES:
        why = f"the total number of attributes and capacities must not exceed {_MAX_ENTRIES}"
        found.append(invalid(path, entries, why))
    for name, attribute in attributes.items():
        place = f"{path}.attributes"
        found += validate_attribute_name(name, place) + _validate_attribute(attribute, key(place, name))
    if before is None or capacity != (before.get("capacity") or {}):
        for name, amount in capacity.items():
            place = f"{path}.capacity"
            found += validate_attribute_name(name, place)
            if "requestPolicy" in amount and not device.get("allowMultipleAllocations"):
                why = "allowMultipleAllocations must be true"
                found.append(forbidden(f"{key(place, name)}.requestPolicy", why))
    taints = device.get("taints") or []
    if before is None or taints != (before.get("taints") or []):
        found += validate_list(taints, f"{path}.taints", _MAX_TAINTS, lambda one, at: validate_taint(one, None, at))
    found += _validate_consumed(device.get("consumesCounters") or [], f"{path}.consumesCounters")
    found += _validate_place_of_device(device, path, each)
    return found + validate_binding_conditions(device, path)


def _validate_attribute(attribute: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("string", "version"):
        value = attribute.get(name)
        if value is None:
            continue
        if name == "version" and not _VERSION.fullmatch(value):
            found.append(invalid(f"{path}.version", value, "must be a string compatible with semver.org spec 2.0.0"))
        if len(value.encode()) > _MAX_TEXT:
            found.append(too_long(f"{path}.{name}", _MAX_TEXT))
    given = [name for name in _VALUES if name in attribute]
    names = ", ".join(f"`{name}`" for name in _VALUES)
    if not given:
        found.append(invalid(path, "", f"must specify one of: {names}"))
    elif len(given) > 1:
        found.append(invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {names}"))
    return found


def _validate_consumed(consumed: list[Object], path: str) -> list[FieldError]:
    if len(consumed) > _MAX_CONSUMED:
        return [too_many(path, len(consumed), _MAX_CONSUMED)]
    found: list[FieldError] = []
    for position, item in enumerate(consumed):
        found += _validate_counters(item, "counterSet", index(path, position))
    return found


def _validate_counter_sets(sets: list[Object], path: str) -> list[FieldError]:
    if len(sets) > _MAX_SETS:
        return [too_many(path, len(sets), _MAX_SETS)]
    found: list[FieldError] = []
    names: set[str] = set()
    for position, item in enumerate(sets):
        name = item.get("name") or ""
        if name in names:
            shown = {"name": name} | ({"counters": item["counters"]} if item.get("counters") else {})
            found.append(duplicate(index(path, position), RawJson(ordered_json(shown))))
        names.add(name)
        found += _validate_counters(item, "name", index(path, position))
    return found


def _validate_counters(item: Object, name: str, path: str) -> list[FieldError]:
    value, counters = item.get(name) or "", item.get("counters") or {}
    found = label(value, f"{path}.{name}") if value else [required(f"{path}.{name}")]
    if not counters:
        return [*found, required(f"{path}.counters")]
    if len(counters) > _MAX_COUNTERS:
        return [*found, too_many(f"{path}.counters", len(counters), _MAX_COUNTERS)]
    return found + [error for counter in counters for error in label(counter, f"{path}.counters")]


def _validate_place_of_device(device: Object, path: str, each: bool) -> list[FieldError]:
    node, selector, everywhere = (device.get(name) for name in _PLACES[:3])
    if not each:
        given = any(value is not None for value in (node, selector, everywhere))
        return [invalid(path, None, _NO_PLACE_OF_DEVICE)] if given else []
    found: list[FieldError] = []
    if node:
        found += subdomain(node, f"{path}.nodeName")
    elif node is not None:
        found.append(invalid(f"{path}.nodeName", node, "must not be empty"))
    if selector is not None:
        found += validate_node_selector(selector, f"{path}.nodeSelector")
    if everywhere is False:
        found.append(invalid(f"{path}.allNodes", False, _TRUE))
    places = (("nodeName", bool(node)), ("nodeSelector", selector is not None), ("allNodes", bool(everywhere)))
    names = [f"`{name}`" for name, given in places if given]
    if not names:
        found.append(required(path, _ONE_PLACE_OF_DEVICE))
    elif len(names) > 1:
        found.append(invalid(path, f"{{{', '.join(names)}}}", _ONE_PLACE_OF_DEVICE))
    return found
