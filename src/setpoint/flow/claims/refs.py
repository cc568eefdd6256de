"""How a claim and what it claimed name each other."""

from hashlib import sha256

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.controller.request import Request
from setpoint.objects import meta
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

_LONGEST_NAME, _HASH_CHARACTERS = 253, 10


class ClaimedRef(Model):
    """What a claim has claimed, or wants to."""

    name: str = ""


class ClaimRef(Model):
    """Who has claimed an object, and the generation of the claim that it is for."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    generation: int = 0


def claimed_name(claim: Object) -> str:
    """The name of what is made for a claim: the same each time, and never that of another one's."""
    name, uid = meta.name(claim), meta.uid(claim)
    end = sha256(f"{meta.namespace(claim)}/{name}/{uid}".encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - 1 - _HASH_CHARACTERS].rstrip('-.')}-{end}"


def named_by(claim: Object) -> str:
    """The name that a claim says; empty: none."""
    found: str = _at(claim, "claimedRef").get("name") or ""
    return found


def reference_to(claim: Object) -> Object:
    """What an object says of its claim."""
    return {
        "apiVersion": claim["apiVersion"],
        "kind": claim["kind"],
        "namespace": meta.namespace(claim),
        "name": meta.name(claim),
        "uid": meta.uid(claim),
        "generation": meta.generation(claim),
    }


def claim_of(claimed: AnyObject, kind: GroupKind) -> Request | None:
    """The claim that an object names; None where it names none of that kind."""
    reference = _at(tree_of(claimed), "claimRef")
    if not reference.get("name") or GroupVersionKind.of(reference).group_kind != kind:
        return None
    return Request(reference["name"], reference.get("namespace") or "")


def is_bound(claimed: Object) -> bool:
    """Whether an object names a claim."""
    return bool(_at(claimed, "claimRef").get("name"))


def is_bound_to(claimed: Object, claim: Object) -> bool:
    """Whether an object names exactly this claim, and no earlier one that had its name."""
    reference, mine = _at(claimed, "claimRef"), reference_to(claim)
    same_kind = GroupVersionKind.of(reference).group_kind == GroupVersionKind.of(mine).group_kind
    same_name = all(reference.get(field) == mine[field] for field in ("namespace", "name"))
    return same_kind and same_name and reference.get("uid") in (None, "", mine["uid"])


def who_has(claimed: Object) -> str:
    """Whom an object names, for people."""
    reference = _at(claimed, "claimRef")
    return f"{reference.get('kind')} {reference.get('namespace')}/{reference.get('name')}"


def _at(tree: Object, field: str) -> Object:
    spec = tree.get("spec")
    found = spec.get(field) if isinstance(spec, dict) else None
    return found if isinstance(found, dict) else {}
