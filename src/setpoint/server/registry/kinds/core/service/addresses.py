"""Validation of the addresses of a Service and their families, and of their immutability."""

from setpoint.objects.field import FieldError, duplicate, index, invalid, not_supported, required
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.core.service.traits import is_headless
from setpoint.server.registry.kinds.validation.values import ip, repeats

_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
UNCHANGED = "may not change once set"


def validate_addresses(spec: Object) -> list[FieldError]:
    """Validates the addresses of a Service and their families."""
    one, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    place = "spec.clusterIPs"
    found: list[FieldError] = []
    if one and not several:
        found.append(required(place))
    elif one and several[0] != one:
        found.append(invalid(place, several, "first value must match `clusterIP`"))
    elif several and not one:
        found.append(invalid(place, several, "must be empty when `clusterIP` is not specified"))
    families = spec.get("ipFamilies") or []
    for position, (family, again) in enumerate(zip(families, repeats(families), strict=True)):
        where = index("spec.ipFamilies", position)
        if family not in _FAMILIES:
            found.append(not_supported(where, family, _FAMILIES))
        if again:
            found.append(duplicate(where, family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    wrong_addresses: list[FieldError] = []
    for position, address in enumerate(several):
        if position == 0 and address == "None":
            if len(several) > 1:
                wrong_addresses.append(invalid(place, several, "'None' must be the first and only value"))
        else:
            wrong_addresses += ip(address, index(place, position))
    found += wrong_addresses
    if len(several) > 2:
        found.append(invalid(place, several, "may only hold up to 2 values"))
    if wrong_addresses:
        return found
    if len(several) > 1 and len({":" in address for address in several}) < 2:
        found.append(invalid(place, several, "may specify no more than one IP for each IP family"))
    if not is_headless(spec):
        for position, (address, family) in enumerate(zip(several, families, strict=False)):
            if family in _FAMILIES and (family == "IPv6") != (":" in address):
                why = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
                found.append(invalid(index(place, position), address, why))
    return found


def validate_address_change(spec: Object, stored: Object) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")):
        return []
    if is_headless(spec) and is_headless(stored):
        return []
    after, before = spec.get("clusterIPs") or [], stored.get("clusterIPs") or []
    place = "spec.clusterIPs"
    if len(after) == len(before):
        return [
            invalid(index(place, position), after, UNCHANGED)
            for position, (new, old) in enumerate(zip(after, before, strict=True))
            if new != old
        ]
    found: list[FieldError] = []
    if not after:
        found.append(invalid(index(place, 0), after, "primary clusterIP can not be unset"))
    elif before and after[0] != before[0]:
        found.append(invalid(index(place, 0), after, UNCHANGED))
    if len(before) > len(after) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why))
    return found


def validate_family_change(spec: Object, stored: Object) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")) or is_headless(spec) or is_headless(stored):
        return []
    after, before = spec.get("ipFamilies") or [], stored.get("ipFamilies") or []
    place = index("spec.ipFamilies", 0)
    if len(after) == len(before):
        return [invalid(place, after, UNCHANGED) for new, old in zip(after, before, strict=True) if new != old]
    if after and before and after[0] != before[0]:
        return [invalid(place, spec.get("clusterIPs"), UNCHANGED)]
    return []
