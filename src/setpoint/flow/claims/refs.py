"""The references between a claim and the claimed object."""

from hashlib import sha256

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.controller.request import Request
from setpoint.objects import meta
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

_LONGEST_NAME, _HASH_CHARACTERS = 253, 10


class ClaimedRef(Model):
    """The object that a claim has claimed, or requests.

    class DatabaseClaimSpec(Model):
        claimed_ref: ClaimedRef | None = None
    """

    name: str = ""


class ClaimRef(Model):
    """The claim of an object, with the generation of the claim that the object reflects.

    class DatabaseSpec(Model):
        claim_ref: ClaimRef | None = None
    """

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    generation: int = 0


def claimed_name(claim: Object) -> str:
    """Returns the name of the object for a claim: stable, and unique among claims."""
    name, uid = meta.name(claim), meta.uid(claim)
    end = sha256(f"{meta.namespace(claim)}/{name}/{uid}".encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - 1 - _HASH_CHARACTERS].rstrip('-.')}-{end}"


def named_by(claim: Object) -> str:
    """Returns the object name in a claim; empty if there is none."""
    found: str = _at(claim, "claimedRef").get("name") or ""
    return found


def reference_to(claim: Object) -> Object:
    """Returns the claim reference of an object."""
    return {
        "apiVersion": claim["apiVersion"],
        "kind": claim["kind"],
        "namespace": meta.namespace(claim),
        "name": meta.name(claim),
        "uid": meta.uid(claim),
        "generation": meta.generation(claim),
    }


def claim_of(claimed: AnyObject, kind: GroupKind) -> Request | None:
    """Returns the claim of an object; None without a claim of that kind."""
    reference = _at(tree_of(claimed), "claimRef")
    if not reference.get("name") or GroupVersionKind.of(reference).group_kind != kind:
        return None
    return Request(reference["name"], reference.get("namespace") or "")


def is_bound(claimed: Object) -> bool:
    """Returns True if an object has a claim."""
    return bool(_at(claimed, "claimRef").get("name"))


def is_bound_to(claimed: Object, claim: Object) -> bool:
    """Returns True if an object is bound to exactly this claim, and not to an earlier one of the same name."""
    reference, mine = _at(claimed, "claimRef"), reference_to(claim)
    same_kind = GroupVersionKind.of(reference).group_kind == GroupVersionKind.of(mine).group_kind
    same_name = all(reference.get(field) == mine[field] for field in ("namespace", "name"))
    return same_kind and same_name and reference.get("uid") in (None, "", mine["uid"])


def holder_of(claimed: Object) -> str:
    """Returns the claim of an object as a text for people."""
    reference = _at(claimed, "claimRef")
    return f"{reference.get('kind')} {reference.get('namespace')}/{reference.get('name')}"


def _at(tree: Object, field: str) -> Object:
    spec = tree.get("spec")
    found = spec.get(field) if isinstance(spec, dict) else None
    return found if isinstance(found, dict) else {}
