"""The question that webhooks and registered functions are asked, and their answer.

One pair of types for both: a function that decides about an `AdmissionRequest` decides the same whether it runs in the
server's process or behind a URL. Objects are JSON trees. Nothing here knows how it travels (see `review`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.merge import jsonpatch
from setpoint.objects.gvk import GroupVersionKind, GroupVersionResource
from setpoint.objects.tree import Object


class UserInfo(NamedTuple):
    """Who asks."""

    username: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One write that waits for a decision. Read it only: it may share its objects with the server."""

    uid: str
    # What is shown, and, where it was converted for the reader, what the client asked for.
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    request_kind: GroupVersionKind
    request_resource: GroupVersionResource
    # Empty where the server is yet to make one.
    name: str
    namespace: str
    operation: str  # CREATE, UPDATE, DELETE or CONNECT
    user: UserInfo
    # None on DELETE; and what it was before is None on CREATE.
    object: Object | None
    old_object: Object | None
    dry_run: bool = False
    options: Object | None = None


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The decision. `allow` and `deny` make the usual ones."""

    allowed: bool
    # A Status that says why not: what its fields say is passed on.
    status: Object | None = None
    # JSON Patch: only who is asked in the mutating phase may have one.
    patch: Sequence[Object] = ()
    # Shown to the client, and noted in the audit log.
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)


def allow(
    *,
    patch: Sequence[Object] = (),
    warnings: Sequence[str] = (),
    audit_annotations: Mapping[str, str] | None = None,
) -> AdmissionResponse:
    """The write may go on, changed by the patch."""
    return AdmissionResponse(True, None, patch, warnings, audit_annotations or {})


def change(request: AdmissionRequest, new: Object, *, warnings: Sequence[str] = ()) -> AdmissionResponse:
    """The write may go on with another object in the place of its own."""
    return allow(patch=jsonpatch.diff(request.object or {}, new), warnings=warnings)


def deny(
    message: str, *, code: int = 403, reason: str = "Forbidden", warnings: Sequence[str] = ()
) -> AdmissionResponse:
    """The write is refused."""
    status: Object = {"status": "Failure", "message": message, "reason": reason, "code": code}
    return AdmissionResponse(False, status, (), warnings)
