"""The request and response of webhooks and registered admission functions.

Both use the same types: a function that handles an `AdmissionRequest` decides the same in the server's process and
behind a URL. Objects are JSON trees. The wire format is in `review`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from setpoint.merge import jsonpatch
from setpoint.objects.gvk import GroupVersionKind, GroupVersionResource
from setpoint.objects.tree import Object


class UserInfo(NamedTuple):
    """The user that sends the request."""

    username: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One write that awaits a decision. Do not modify: the objects may be shared with the server."""

    uid: str
    # The presented kind and resource and, if converted, those of the original request.
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    request_kind: GroupVersionKind
    request_resource: GroupVersionResource
    # Empty if the server has not generated the name yet.
    name: str
    namespace: str
    operation: str  # CREATE, UPDATE, DELETE or CONNECT
    user: UserInfo
    # The new object is None on DELETE, the old object is None on CREATE.
    object: Object | None
    old_object: Object | None
    dry_run: bool = False
    options: Object | None = None


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The decision. Use `allow`, `change` and `deny` to create one."""

    allowed: bool
    # A Status with the reason of a refusal, sent to the client.
    status: Object | None = None
    # A JSON Patch, allowed in the mutating phase only.
    patch: Sequence[Object] = ()
    # Sent to the client, and recorded in the audit log.
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    # The exception of a function that failed with a bug; not sent.
    failure: Exception | None = None


def allow(
    *,
    patch: Sequence[Object] = (),
    warnings: Sequence[str] = (),
    audit_annotations: Mapping[str, str] | None = None,
) -> AdmissionResponse:
    """Returns a response that admits the write, with an optional patch."""
    return AdmissionResponse(True, None, patch, warnings, audit_annotations or {})


def change(request: AdmissionRequest, new: Object, *, warnings: Sequence[str] = ()) -> AdmissionResponse:
    """Returns a response that admits the write with another object."""
    return allow(patch=jsonpatch.diff(request.object or {}, new), warnings=warnings)


def deny(
    message: str, *, code: int = 403, reason: str = "Forbidden", warnings: Sequence[str] = ()
) -> AdmissionResponse:
    """Returns a response that refuses the write."""
    status: Object = {"status": "Failure", "message": message, "reason": reason, "code": code}
    return AdmissionResponse(False, status, (), warnings)
