"""Owner references: the owners of an object, and the owner that controls the object."""

from collections.abc import Iterable

import msgspec

from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object

_encode = msgspec.json.Encoder(order="sorted").encode

DUPLICATES_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def controller_reference(owner: Object) -> Object:
    """Returns a controller reference to `owner`, whose foreground deletion waits for the dependent."""
    return {**owner_reference(owner), "controller": True, "blockOwnerDeletion": True}


def owner_reference(owner: Object) -> Object:
    """Returns a plain reference to `owner`, which must already be stored, because the reference contains its uid."""
    meta = owner.get("metadata", {})
    if not meta.get("uid"):
        raise ValueError("an owner must have a uid: create it before its dependents")
    gvk = GroupVersionKind.of(owner)
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "name": meta["name"], "uid": meta["uid"]}


def controller_of(tree: Object) -> Object | None:
    """Returns the reference to the controller of an object, or None."""
    references: Iterable[Object] = tree.get("metadata", {}).get("ownerReferences", ())
    return next((reference for reference in references if reference.get("controller")), None)


def is_controlled_by(tree: Object, owner: Object) -> bool:
    """Returns True if exactly this owner (by uid) controls the object."""
    reference = controller_of(tree)
    return reference is not None and reference.get("uid") == owner.get("metadata", {}).get("uid")


def same_owner(first: Object, second: Object) -> bool:
    """Returns True if two references name the same owner: group, kind and name, regardless of version and uid."""
    return all(first.get(name) == second.get(name) for name in ("kind", "name")) and _group(first) == _group(second)


def _group(reference: Object) -> str:
    try:
        return GroupVersion.parse(reference.get("apiVersion", "")).group
    except ValueError:
        return ""


def check_namespaces(owner: Object, dependent: Object) -> None:
    """Checks that an owner is in the namespace of its dependent, or cluster-scoped. Raises ValueError otherwise."""
    where = owner.get("metadata", {}).get("namespace", "")
    wanted = dependent.get("metadata", {}).get("namespace", "")
    if not where or where == wanted:
        return
    if not wanted:
        raise ValueError(f"cluster-scoped resource must not have a namespace-scoped owner, owner's namespace {where}")
    raise ValueError(
        f"cross-namespace owner references are disallowed, owner's namespace {where}, obj's namespace {wanted}"
    )


def set_controller(owner: Object, dependent: Object) -> bool:
    """Makes `owner` the controller of the object; returns True if the object changed. Raises ValueError if the object
    has another controller."""
    check_namespaces(owner, dependent)
    wanted = controller_reference(owner)
    current = controller_of(dependent)
    if current is not None and not same_owner(current, wanted):
        kind, name = current.get("kind"), current.get("name")
        raise ValueError(f"the object is already controlled by {kind} {name}: an object has at most one controller")
    references: list[Object] = dependent.setdefault("metadata", {}).setdefault("ownerReferences", [])
    for at, reference in enumerate(references):
        if same_owner(reference, wanted):
            references[at] = wanted
            return reference != wanted
    references.append(wanted)
    return True


def remove_duplicates(meta: Object, *, after_admission: bool = False) -> str | None:
    """Removes duplicate references from the metadata; returns the warning about them, or None."""
    references: list[Object] = meta.get("ownerReferences", [])
    if len(references) < 2:
        return None
    kept: list[Object] = []
    duplicates = []
    # By the text of a reference: an object may have tens of thousands, all of one uid.
    seen: set[bytes] = set()
    for reference in references:
        text = _encode(reference)
        if text in seen:
            duplicates.append(reference.get("uid", ""))
        else:
            seen.add(text)
            kept.append(reference)
    if not duplicates:
        return None
    meta["ownerReferences"] = kept
    when = " after mutating admission happens" if after_admission else ""
    return DUPLICATES_WARNING.format(when=when, uids=", ".join(duplicates))
