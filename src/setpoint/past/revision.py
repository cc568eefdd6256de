"""One revision of one object: the time, the writer, the cause, and the changes.

A server sends each revision as a patch of the previous one. Applied from the oldest on, the patches yield the object at
every revision; a revision with a patch that does not apply (our server sends none) has no changes. Has no side effects;
`past.queries` sends the requests.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from setpoint.merge import jsonpatch
from setpoint.objects.errors import APIError
from setpoint.objects.provenance import Actor, Cause, Reason
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.past.change import FieldChange, compare
from setpoint.past.object_ref import ObjectReference
from setpoint.past.secret_mask import masked, masked_change

ADDED, MODIFIED, DELETED, PURGED = "ADDED", "MODIFIED", "DELETED", "PURGED"
_VERBS = {ADDED: "created", DELETED: "deleted"}


class Revision(msgspec.Struct, frozen=True):
    """An entry of the log for one object. The trees are unmasked; `tree` is masked."""

    place: ObjectReference
    number: int
    type: str
    time: datetime
    actor: Actor
    cause: Cause | None = None
    changes: tuple[FieldChange, ...] = ()
    raw: Object | None = None
    # The number of similar earlier revisions that are folded into this one.
    folded: int = 0
    # The previous revision of the object; 0 for the first.
    previous: int = 0
    # The tombstone of a purged value: user, time and reason.
    purged: Object | None = None

    @property
    def tree(self) -> Object | None:
        """The masked object at this revision; None if the object was deleted, or its value was purged."""
        return None if self.raw is None else masked(self.raw)

    @property
    def claimant(self) -> str:
        """The user who claims the reconcile of this write; empty if the reconcile is verified, or there was none."""
        return "" if self.cause is None else self.cause.claimant(self.actor)

    @property
    def significant_changes(self) -> tuple[FieldChange, ...]:
        """The significant changes; all changes if none is significant."""
        return tuple(change for change in self.changes if not change.noise) or self.changes

    @property
    def is_noise(self) -> bool:
        return self.type == MODIFIED and all(change.noise for change in self.changes)

    @property
    def summary(self) -> str:
        """The change in one line."""
        if self.type in _VERBS:
            return _VERBS[self.type]
        if self.purged is not None:
            return f"value purged by {self.purged['user']}: {self.purged['reason']}"
        if not self.changes:
            return "written without significant changes"
        if any(change.path == "metadata.deletionTimestamp" for change in self.changes):
            return "deletion began"
        times = f" ({self.folded} more times before)" if self.folded else ""
        return f"{', '.join(map(str, self.significant_changes))}{times}"

    def to_json(self) -> Object:
        found: Object = {
            "revision": self.number,
            "type": self.type,
            "time": self.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "object": self.place.to_json(),
            "actor": {"user": self.actor.user},
        }
        if self.actor.field_manager:
            found["actor"]["fieldManager"] = self.actor.field_manager
        if self.cause is not None:
            found["cause"] = msgspec.to_builtins(_CauseJson.of(self.cause, self.actor))
        if self.purged is not None:
            found["purged"] = self.purged
        found["changes"] = [change.to_json() for change in self.changes]
        return found


class _Because(msgspec.Struct, omit_defaults=True):
    event: str
    kind: str = ""
    object: str = ""
    revision: str = ""


class _CauseJson(msgspec.Struct, omit_defaults=True):
    """The JSON form of a cause."""

    id: str
    controller: str = ""
    key: str = ""
    because: list[_Because] = []
    verified: bool = False
    claimed_by: str = msgspec.field(default="", name="claimedBy")

    @classmethod
    def of(cls, cause: Cause, actor: Actor) -> "_CauseJson":
        because = [_Because(each.event, each.kind, each.object, each.revision) for each in cause.because]
        claimant = cause.claimant(actor)
        return cls(cause.id, cause.controller, cause.key, because, cause.is_reconcile and not claimant, claimant)


def cause_of(item: Object) -> Cause | None:
    """Returns the cause of a log entry. A reconcile that the server does not mark as verified is a claim, even if an
    older server does not name the claimant."""
    cause = item.get("cause")
    if not cause:
        return None
    because = tuple(
        Reason(each["event"], each.get("kind", ""), each.get("object", ""), each.get("revision", ""))
        for each in cause.get("because") or ()
    )
    claimed_by = "" if cause.get("verified") is True else cause.get("claimedBy") or None
    return Cause(cause.get("id", ""), cause.get("controller", ""), cause.get("key", ""), because, claimed_by)


def actor_of(item: Object) -> Actor:
    """Returns the actor of a log entry."""
    actor = item.get("actor") or {}
    return Actor(
        actor.get("user", ""),
        tuple(actor.get("groups") or ()),
        actor.get("uid", ""),
        actor.get("fieldManager", ""),
        actor.get("impersonator", ""),
    )


def revisions(place: ObjectReference, items: Iterable[Object], base: Object | None = None) -> list[Revision]:
    """Returns the revisions of an object, oldest first, from the items of its history, newest first. `base` is the
    object before the oldest item, if that item is not the first revision."""
    found: list[Revision] = []
    before = base
    for item in reversed(list(items)):
        after = _rolled(before, item)
        changes = compare(before, after) if before is not None and after is not None else ()
        is_secret = place.gvk.kind == "Secret"
        found.append(
            Revision(
                place,
                int(item["revision"]),
                item["type"],
                parse_micro_time(item["time"]),
                actor_of(item),
                cause_of(item),
                tuple(masked_change(change, is_secret=is_secret) for change in changes),
                after,
                previous=int(item.get("previous") or 0),
                purged=item.get("purged"),
            )
        )
        before = after
    return found


def _rolled(before: Object | None, item: Object) -> Object | None:
    patch = item.get("patch")
    if patch is None:  # the value was purged
        return None
    first = patch[0] if patch else {}
    if first.get("path") == "":
        tree: Object | None = first.get("value")
        return tree
    try:
        rolled: Object = jsonpatch.apply(before, jsonpatch.decode(patch))
    except (APIError, ValueError):
        return before
    return rolled


def folded(found: Sequence[Revision]) -> list[Revision]:
    """Returns the revisions with successive insignificant ones of the same actor folded into the last."""
    kept: list[Revision] = []
    for revision in found:
        last = kept[-1] if kept else None
        if last is not None and _is_more_of(last, revision):
            kept[-1] = msgspec.structs.replace(revision, folded=last.folded + 1)
        else:
            kept.append(revision)
    return kept


def _is_more_of(last: Revision, revision: Revision) -> bool:
    if not (last.is_noise and revision.is_noise and last.place == revision.place):
        return False
    return last.actor == revision.actor and _paths(last) == _paths(revision)


def _paths(revision: Revision) -> set[str]:
    return {change.path for change in revision.changes}
