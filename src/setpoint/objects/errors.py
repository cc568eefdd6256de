"""The errors of the API: a class a reason, each with its code, message, details and causes.

They are raised where the fault is known and rendered once, at the edge, by `to_status`; `status.from_status` is the way
back, for clients. `resource` in the messages is the plural with its group (`widgets.ex.com`);
`details.kind` is the bare plural, except for `Invalid` and the failed preconditions of a delete, which name the Kind.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from setpoint.objects.field import FieldError
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.tree import Object


class StatusCause(NamedTuple):
    """One reason why, with the field it is about where there is one."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def to_json(self) -> Object:
        found: Object = {}
        if self.reason:
            found["reason"] = self.reason
        if self.message:
            found["message"] = self.message
        if self.field:
            found["field"] = self.field
        return found


class APIError(Exception):
    """A failure that the API answers with a `Status`. Subclasses fix the reason and the code.

    As it stands it is the failure nobody classified: no reason, code 500, the raw text.
    """

    reason: str = ""
    code: int = 500

    def __init__(
        self,
        message: str,
        *,
        name: str = "",
        group: str = "",
        kind: str = "",
        uid: str = "",
        causes: Sequence[StatusCause] = (),
        retry_after_seconds: int = 0,
        details: bool | None = None,
        metadata: Object | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.uid = uid
        self.causes = tuple(causes)
        self.retry_after_seconds = retry_after_seconds
        # Whether the Status has `details` at all; unless told, only when there is something to say in them.
        self.has_details = details
        # The list metadata of the Status: only the token with which to go on after an expired list.
        self.metadata = metadata or {}

    @classmethod
    def _about(cls, resource: GroupResource, name: str, message: str, retry_after_seconds: int = 0) -> Self:
        return cls(
            message,
            name=name,
            group=resource.group,
            kind=resource.resource,
            retry_after_seconds=retry_after_seconds,
            details=True,
        )

    def details(self) -> Object | None:
        """The `details` of the Status, with empty fields left out; None when the Status has none."""
        found: Object = {}
        for name in ("name", "group", "kind", "uid"):
            if value := getattr(self, name):
                found[name] = value
        if self.causes:
            found["causes"] = [cause.to_json() for cause in self.causes]
        if self.retry_after_seconds:
            found["retryAfterSeconds"] = self.retry_after_seconds
        return found if (found if self.has_details is None else self.has_details) else None

    def to_status(self) -> Object:
        """The `Status` object that answers the request."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if (details := self.details()) is not None:
            status["details"] = details
        status["code"] = self.code
        return status


class BadRequest(APIError):
    """The request cannot be understood."""

    reason = "BadRequest"
    code = 400

    @classmethod
    def strict_decoding(cls, kind: str, version: str, errors: Iterable[str]) -> Self:
        """Fields that are unknown or given twice, under `fieldValidation=Strict`."""
        return cls.cannot_handle(kind, version, strict_decoding_text(errors))

    @classmethod
    def cannot_handle(cls, kind: str, version: str, why: str) -> Self:
        """A body that says it is of the right kind and does not decode as one."""
        return cls(f"{kind} in version {quote(version)} cannot be handled as a {kind}: {why}")

    @classmethod
    def unrecognized(cls, kind: str, why: str, data: bytes) -> Self:
        """A body that does not even tell its kind."""
        return cls(f"the object provided is unrecognized (must be of type {kind}): {why} ({summarize(data)})")


class Unauthorized(APIError):
    """The request has no credentials, or wrong ones."""

    reason = "Unauthorized"
    code = 401

    @classmethod
    def of(cls) -> Self:
        return cls("Unauthorized")


class Forbidden(APIError):
    """The user may not do that, or an admission rule refuses it."""

    reason = "Forbidden"
    code = 403

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str, causes: Sequence[StatusCause] = ()) -> Self:
        error = cls._about(resource, name, f"{resource} {quote(name)} is forbidden: {why}")
        if not name:
            error = cls._about(resource, name, f"{resource} is forbidden: {why}")
        error.causes = tuple(causes)
        return error

    @classmethod
    def request(
        cls,
        user: str,
        verb: str,
        resource: GroupResource,
        *,
        subresource: str,
        namespace: str,
        name: str,
        why: str = "",
    ) -> Self:
        """The authorizer's no to a request for a resource."""
        wanted = f"{resource.resource}/{subresource}" if subresource else resource.resource
        where = f"in the namespace {quote(namespace)}" if namespace else "at the cluster scope"
        text = f"User {quote(user)} cannot {verb} resource {quote(wanted)} in API group {quote(resource.group)} {where}"
        return cls.of(resource, name, f"{text}: {why}" if why else text)

    @classmethod
    def path(cls, user: str, verb: str, path: str, why: str = "") -> Self:
        """The authorizer's no to a request for a path that is not a resource."""
        text = f"forbidden: User {quote(user)} cannot {verb} path {quote(path)}"
        return cls(f"{text}: {why}" if why else text, details=True)


class NotFound(APIError):
    """There is no such object, or no such resource."""

    reason = "NotFound"
    code = 404

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> Self:
        return cls._about(resource, name, f"{resource} {quote(name)} not found")

    @classmethod
    def resource(cls) -> Self:
        """The path names no resource that the server has."""
        return cls("the server could not find the requested resource", details=True)


class MethodNotAllowed(APIError):
    """The resource exists and does not support the verb."""

    reason = "MethodNotAllowed"
    code = 405

    @classmethod
    def of(cls, resource: GroupResource, verb: str) -> Self:
        return cls._about(resource, "", f"{verb} is not supported on resources of kind {quote(str(resource))}")

    @classmethod
    def method(cls) -> Self:
        """The path supports no such method at all."""
        return cls("the server does not allow this method on the requested resource", details=True)


class NotAcceptable(APIError):
    """The client accepts no media type that the server can answer with."""

    reason = "NotAcceptable"
    code = 406

    @classmethod
    def of(cls, media_types: Iterable[str]) -> Self:
        return cls(f"only the following media types are accepted: {', '.join(media_types)}")


class AlreadyExists(APIError):
    """An object of that name is there already."""

    reason = "AlreadyExists"
    code = 409

    @classmethod
    def of(cls, resource: GroupResource, name: str, *, being_deleted: bool = False) -> Self:
        prefix = "object is being deleted: " if being_deleted else ""
        return cls._about(resource, name, f"{prefix}{resource} {quote(name)} already exists")

    @classmethod
    def generated(cls, resource: GroupResource, name: str) -> Self:
        """No random end for the `generateName` gave a free name."""
        text = "already exists, the server was not able to generate a unique name for the object"
        return cls._about(resource, name, f"{resource} {quote(name)} {text}", retry_after_seconds=1)


class Conflict(APIError):
    """The object changed in the meantime, or a precondition does not hold."""

    reason = "Conflict"
    code = 409

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str) -> Self:
        return cls._about(resource, name, f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}")

    @classmethod
    def modified(cls, resource: GroupResource, name: str) -> Self:
        """The `resourceVersion` of the request is not the stored one."""
        return cls.of(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )

    @classmethod
    def uid_precondition(cls, resource: GroupResource, name: str, *, key: str, wanted: str, found: str) -> Self:
        """The `uid` of an update is not the stored one; `key` is the key in the store."""
        return cls.of(
            resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
        )

    @classmethod
    def delete_uid(cls, kind: GroupKind, name: str, *, wanted: str, found: str) -> Self:
        """The `uid` that a delete insists on is not the stored one."""
        return cls.of(
            GroupResource(kind.group, kind.kind),
            name,
            f"the UID in the precondition ({wanted}) does not match the UID in record ({found}). "
            "The object might have been deleted and then recreated",
        )

    @classmethod
    def delete_resource_version(cls, kind: GroupKind, name: str, *, wanted: str, found: str) -> Self:
        """The `resourceVersion` that a delete insists on is not the stored one."""
        return cls.of(
            GroupResource(kind.group, kind.kind),
            name,
            f"the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record "
            f"({found}). The object might have been modified",
        )


class ApplyConflict(Conflict):
    """A server-side apply would change fields that others own; one cause each."""

    @classmethod
    def between(cls, message: str, causes: Sequence[StatusCause]) -> Self:
        return cls(message, causes=causes, details=True)

    @staticmethod
    def cause(message: str, field: str) -> StatusCause:
        return StatusCause("FieldManagerConflict", message, field)


class Gone(APIError):
    """The older reason for what has expired; clients know both."""

    reason = "Gone"
    code = 410


class Expired(APIError):
    """The revision that was asked for is no longer kept."""

    reason = "Expired"
    code = 410

    @classmethod
    def listing(cls, continue_token: str) -> Self:
        """A list cannot go on at its revision; with the token it can at the newest, and may miss what changed."""
        return cls(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.",
            metadata={"continue": continue_token},
        )


class RequestEntityTooLarge(APIError):
    """The body, or something counted in it, is beyond its limit."""

    reason = "RequestEntityTooLarge"
    code = 413

    @classmethod
    def of(cls, why: str) -> Self:
        return cls(f"Request entity too large: {why}")

    @classmethod
    def body(cls, limit: int) -> Self:
        return cls.of(f"limit is {limit}")

    @classmethod
    def containers(cls, limit: int) -> Self:
        return cls.of(f"the body has more than {limit} objects and lists: remove fields that the kind does not have")


class UnsupportedMediaType(APIError):
    """The body has a media type that the server does not read."""

    reason = "UnsupportedMediaType"
    code = 415

    @classmethod
    def of(cls, media_types: Iterable[str]) -> Self:
        text = "the body of the request was in an unknown format - accepted media types include: "
        return cls(text + ", ".join(media_types))


class Invalid(APIError):
    """The object breaks rules: one cause for each field error."""

    reason = "Invalid"
    code = 422

    @classmethod
    def of(cls, kind: GroupKind, name: str, errors: Iterable[FieldError]) -> Self:
        found = list(errors)
        message = f"{kind} {quote(name)} is invalid"
        if found:
            message = f"{message}: {join_errors(map(str, found))}"
        causes = [StatusCause(error.type.reason, error.message, error.field) for error in found]
        return cls(message, name=name, group=kind.group, kind=kind.kind, causes=causes, details=True)

    @classmethod
    def patch(cls) -> Self:
        """A JSON Patch that cannot be applied; the API says no more about it."""
        return cls("the server rejected our request due to an error in our request", details=True)


class TooManyRequests(APIError):
    """Come back later."""

    reason = "TooManyRequests"
    code = 429

    @classmethod
    def of(cls, message: str = "Too many requests, please try again later.", retry_after_seconds: int = 1) -> Self:
        return cls(message, retry_after_seconds=retry_after_seconds, details=True)


class InternalError(APIError):
    """The server failed; the text says where."""

    reason = "InternalError"
    code = 500

    @classmethod
    def of(cls, why: str) -> Self:
        return cls(f"Internal error occurred: {why}", causes=[StatusCause(message=why)], details=True)


class ServerTimeout(APIError):
    """The operation cannot be done at this time; trying again is safe."""

    reason = "ServerTimeout"
    code = 500

    @classmethod
    def of(cls, resource: GroupResource, verb: str, retry_after_seconds: int = 0) -> Self:
        text = f"The {verb} operation against {resource} could not be completed at this time, please try again."
        return cls._about(resource, verb, text, retry_after_seconds)


class ServiceUnavailable(APIError):
    """A part that the request needs is not there."""

    reason = "ServiceUnavailable"
    code = 503


class Timeout(APIError):
    """The time allowed ran out; the operation may still complete."""

    reason = "Timeout"
    code = 504

    @classmethod
    def of(cls, why: str, retry_after_seconds: int = 0) -> Self:
        return cls(f"Timeout: {why}", retry_after_seconds=retry_after_seconds, details=True)


def join_errors(messages: Iterable[str]) -> str:
    """Several errors as one text: `[a, b]`, each different message once; a single one stands alone."""
    different = list(dict.fromkeys(messages))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def unknown_field(path: str) -> str:
    """The strict-decoding error, or the warning, for a field that the kind does not have."""
    return f"unknown field {quote(path)}"


def duplicate_field(path: str) -> str:
    """The strict-decoding error, or the warning, for a field given twice."""
    return f"duplicate field {quote(path)}"


def strict_decoding_text(errors: Iterable[str]) -> str:
    """All strict-decoding errors in one text."""
    return f"strict decoding error: {', '.join(errors)}"


def summarize(data: bytes, limit: int = 30) -> str:
    """The beginning of a body, as messages show it: JSON as it is, anything else in hex."""
    if not data:
        return "<empty>"
    head, more = data[:limit], " ..." if len(data) > limit else ""
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more
