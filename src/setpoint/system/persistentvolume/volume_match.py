"""The choice of a volume for a claim: a pure function of the claim and the candidates."""

from collections.abc import Iterable

from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    capacity,
    claim_of,
    class_of,
    phase_of,
    references,
    requested,
)
from setpoint.system.selectors import selector_of


def mismatch(volume: Object, claim: Object) -> str:
    """Returns the reason why a volume does not satisfy the claim that names the volume; empty if there is none."""
    name, wanted, offered = volume["metadata"]["name"], claim["spec"], volume["spec"]
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{name}"'
    if capacity(volume).value() < requested(claim).value():
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if (wanted.get("volumeAttributesClassName") or "") != (offered.get("volumeAttributesClassName") or ""):
        return "volumeAttributesClassName does not match"
    if has_other_mode(volume, claim):
        return "incompatible volumeMode"
    return "" if _has_access_modes(volume, claim) else "incompatible accessMode"


def has_other_mode(volume: Object, claim: Object) -> bool:
    """Returns True if one of both is a block device, and the other a file system."""
    modes = {each["spec"].get("volumeMode") or "Filesystem" for each in (volume, claim)}
    return len(modes) > 1


def best_volume(claim: Object, volumes: Iterable[Object], *, only_reserved: bool = False) -> Object | None:
    """Returns the volume for a claim: with the fewest further access modes, and of those the one that is reserved for
    the claim, or else the smallest one. With `only_reserved`, only a reserved volume is suitable."""
    groups: dict[int, list[Object]] = {}
    for volume in volumes:
        if _has_access_modes(volume, claim):
            groups.setdefault(len(set(volume["spec"].get("accessModes") or ())), []).append(volume)
    for _, group in sorted(groups.items()):
        found = _suitable(claim, group)
        if found and (not only_reserved or references(found[0], claim)):
            return found[0]
    return None


def suitable_volumes(claim: Object, volumes: Iterable[Object]) -> list[Object]:
    """Returns the volumes for a claim that waits for its first pod, the best one first. Only the one that is reserved
    for the claim is suitable, if there is one. Their reach is not considered."""
    found = [each for each in volumes if class_of(each) == class_of(claim)]
    return _suitable(claim, [each for each in found if references(each, claim) or _has_access_modes(each, claim)])


def _suitable(claim: Object, volumes: Iterable[Object]) -> list[Object]:
    usable = [each for each in volumes if _is_usable(each, claim)]
    reserved = [each for each in usable if references(each, claim)]
    if reserved:
        return reserved[:1]
    free = [each for each in usable if _is_free(each, claim)]
    return sorted(free, key=lambda each: (capacity(each), str(each["metadata"]["name"])))


def _is_usable(volume: Object, claim: Object) -> bool:
    """Returns True if a volume is large enough, of the right mode, and not in use by another claim."""
    if claim_of(volume) and not references(volume, claim):
        return False
    wanted, offered = claim["spec"], volume["spec"]
    return (
        not volume["metadata"].get("deletionTimestamp")
        and capacity(volume) >= requested(claim)
        and not has_other_mode(volume, claim)
        and (wanted.get("volumeAttributesClassName") or "") == (offered.get("volumeAttributesClassName") or "")
    )


def _is_free(volume: Object, claim: Object) -> bool:
    """Returns True if a volume that is not reserved has the class and the labels that a claim wants."""
    if phase_of(volume) != "Available" or class_of(volume) != class_of(claim):
        return False
    return claim["spec"].get("selector") is None or selector_of(claim).matches(volume["metadata"].get("labels"))


def _has_access_modes(volume: Object, claim: Object) -> bool:
    return set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())
