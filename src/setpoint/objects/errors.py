"""The errors of the API: one class per reason, each with its code, message, details and causes.

They are raised where the fault is detected and rendered once, at the edge, by `to_status`; `status.from_status` is the
inverse, for clients. `resource` in the messages is the plural with its group (`widgets.ex.com`); `details.kind` is the
bare plural, except for `Invalid` and the failed preconditions of a delete, which use the Kind.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from setpoint.objects.field import FieldError
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.tree import Object


class StatusCause(NamedTuple):
    """One cause of an error, with its field, if any."""

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
    """A failure that the API reports as a `Status`. Subclasses define the reason and the code.

    The base class is an unclassified failure: no reason, code 500, the raw text.
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
        # True if the Status has `details`; None: only if a detail is not empty.
        self.has_details = details
        # The list metadata of the Status: only the token to continue after an expired list.
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
        """Returns the `details` of the Status without empty fields; None if the Status has none."""
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
        """Returns the `Status` object of the response."""
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
    """The request cannot be parsed."""

    reason = "BadRequest"
    code = 400

    @classmethod
    def strict_decoding(cls, kind: str, version: str, errors: Iterable[str]) -> Self:
        """Returns the error for unknown or duplicate fields under `fieldValidation=Strict`."""
        return cls.not_decodable(kind, version, strict_decoding_text(errors))

    @classmethod
    def not_decodable(cls, kind: str, version: str, why: str, *, claimed: str | None = None) -> Self:
        """Returns the error for a body that cannot be decoded as a kind; `claimed` is the kind that the body names, if
        another."""
        return cls(f"{claimed or kind} in version {quote(version)} cannot be handled as a {kind}: {why}")

    @classmethod
    def unrecognized(cls, kind: str, why: str, data: bytes) -> Self:
        """Returns the error for a body without a recognizable kind."""
        return cls(f"the object provided is unrecognized (must be of type {kind}): {why} ({summarize(data)})")


class Unauthorized(APIError):
    """The request has no credentials, or invalid ones."""

    reason = "Unauthorized"
    code = 401

    @classmethod
    def of(cls) -> Self:
        return cls("Unauthorized")


class Forbidden(APIError):
    """The user is not authorized, or an admission rule rejects the request."""

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
        """Returns the error for a resource request that the authorizer denies."""
        wanted = f"{resource.resource}/{subresource}" if subresource else resource.resource
        where = f"in the namespace {quote(namespace)}" if namespace else "at the cluster scope"
        text = f"User {quote(user)} cannot {verb} resource {quote(wanted)} in API group {quote(resource.group)} {where}"
        return cls.of(resource, name, f"{text}: {why}" if why else text)

    @classmethod
    def path(cls, user: str, verb: str, path: str, why: str = "") -> Self:
        """Returns the error for a non-resource path that the authorizer denies."""
        text = f"forbidden: User {quote(user)} cannot {verb} path {quote(path)}"
        return cls(f"{text}: {why}" if why else text, details=True)


class NotFound(APIError):
    """The object or the resource does not exist."""

    reason = "NotFound"
    code = 404

    @classmethod
    def of(cls, resource: GroupResource, name: str) -> Self:
        return cls._about(resource, name, f"{resource} {quote(name)} not found")

    @classmethod
    def resource(cls) -> Self:
        """Returns the error for a path without a resource."""
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
        """Returns the error for a method that the path does not support."""
        return cls("the server does not allow this method on the requested resource", details=True)


class NotAcceptable(APIError):
    """The client accepts no media type that the server can produce."""

    reason = "NotAcceptable"
    code = 406

    @classmethod
    def of(cls, media_types: Iterable[str]) -> Self:
        return cls(f"only the following media types are accepted: {', '.join(media_types)}")


class AlreadyExists(APIError):
    """An object with that name already exists."""

    reason = "AlreadyExists"
    code = 409

    @classmethod
    def of(cls, resource: GroupResource, name: str, *, being_deleted: bool = False) -> Self:
        prefix = "object is being deleted: " if being_deleted else ""
        return cls._about(resource, name, f"{prefix}{resource} {quote(name)} already exists")

    @classmethod
    def generated(cls, resource: GroupResource, name: str, *, being_deleted: bool = False) -> Self:
        """Returns the error after no random suffix for `generateName` produced a free name."""
        prefix = "object is being deleted: " if being_deleted else ""
        text = "already exists, the server was not able to generate a unique name for the object"
        return cls._about(resource, name, f"{prefix}{resource} {quote(name)} {text}", retry_after_seconds=1)


class Conflict(APIError):
    """The object changed in the meantime, or a precondition is not satisfied."""

    reason = "Conflict"
    code = 409

    @classmethod
    def of(cls, resource: GroupResource, name: str, why: str) -> Self:
        return cls._about(resource, name, f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}")

    @classmethod
    def modified(cls, resource: GroupResource, name: str) -> Self:
        """Returns the error for a `resourceVersion` that is not the stored one."""
        return cls.of(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )

    @classmethod
    def precondition(
        cls, resource: GroupResource, name: str, *, key: str, wanted: str, found: str, field: str = "UID"
    ) -> Self:
        """Returns the error for an update with a `uid` (or another field) that is not the stored one; `key` is the key
        in the store."""
        return cls.of(
            resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}",
        )

    @classmethod
    def delete_uid(cls, kind: GroupKind, name: str, *, wanted: str, found: str) -> Self:
        """Returns the error for a delete precondition with a `uid` that is not the stored one."""
        return cls.of(
            GroupResource(kind.group, kind.kind),
            name,
            f"the UID in the precondition ({wanted}) does not match the UID in record ({found}). "
            "The object might have been deleted and then recreated",
        )

    @classmethod
    def delete_resource_version(cls, kind: GroupKind, name: str, *, wanted: str, found: str) -> Self:
        """Returns the error for a delete precondition with a `resourceVersion` that is not the stored one."""
        return cls.of(
            GroupResource(kind.group, kind.kind),
            name,
            f"the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record "
            f"({found}). The object might have been modified",
        )


class ApplyConflict(Conflict):
    """A server-side apply would change fields of other managers; there is one cause per field."""

    @classmethod
    def between(cls, message: str, causes: Sequence[StatusCause]) -> Self:
        return cls(message, causes=causes, details=True)

    @staticmethod
    def cause(message: str, field: str) -> StatusCause:
        return StatusCause("FieldManagerConflict", message, field)


class Gone(APIError):
    """The older reason for an expired revision; clients support both."""

    reason = "Gone"
    code = 410


class Expired(APIError):
    """The requested revision is no longer kept."""

    reason = "Expired"
    code = 410

    @classmethod
    def listing(cls, continue_token: str) -> Self:
        """Returns the error for a list that cannot continue at its revision. The token continues at the newest
        revision, and the list may then be inconsistent."""
        return cls(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.",
            metadata={"continue": continue_token},
        )


class RequestEntityTooLarge(APIError):
    """The body, or the number of its objects and lists, exceeds the limit."""

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
    """The body has a media type that the server does not accept."""

    reason = "UnsupportedMediaType"
    code = 415

    @classmethod
    def of(cls, media_types: Iterable[str]) -> Self:
        text = "the body of the request was in an unknown format - accepted media types include: "
        return cls(text + ", ".join(media_types))


class Invalid(APIError):
    """The object violates validation rules: one cause for each field error."""

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
        """Returns the error for a JSON Patch that cannot be applied; the API gives no further details."""
        return cls("the server rejected our request due to an error in our request", details=True)


class TooManyRequests(APIError):
    """The server is overloaded; the client should retry later."""

    reason = "TooManyRequests"
    code = 429

    @classmethod
    def of(cls, message: str = "Too many requests, please try again later.", retry_after_seconds: int = 1) -> Self:
        return cls(message, retry_after_seconds=retry_after_seconds, details=True)


class InternalError(APIError):
    """The server failed; the message describes the failure."""

    reason = "InternalError"
    code = 500

    @classmethod
    def of(cls, why: str) -> Self:
        return cls(f"Internal error occurred: {why}", causes=[StatusCause(message=why)], details=True)


class ServerTimeout(APIError):
    """The operation cannot be completed at this time; a retry is safe."""

    reason = "ServerTimeout"
    code = 500

    @classmethod
    def of(cls, resource: GroupResource, verb: str, retry_after_seconds: int = 0) -> Self:
        text = f"The {verb} operation against {resource} could not be completed at this time, please try again."
        return cls._about(resource, verb, text, retry_after_seconds)


class ServiceUnavailable(APIError):
    """A component that the request needs is unavailable."""

    reason = "ServiceUnavailable"
    code = 503


class Timeout(APIError):
    """The request timed out; the operation may still complete."""

    reason = "Timeout"
    code = 504

    @classmethod
    def of(cls, why: str, retry_after_seconds: int = 0) -> Self:
        return cls(f"Timeout: {why}", retry_after_seconds=retry_after_seconds, details=True)


def join_errors(messages: Iterable[str]) -> str:
    """Joins several errors to one text: `[a, b]`, without duplicates; a single one is returned as is."""
    different = list(dict.fromkeys(messages))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def unknown_field(path: str) -> str:
    """Returns the strict-decoding error, or the warning, for an unknown field."""
    return f"unknown field {quote(path)}"


def duplicate_field(path: str) -> str:
    """Returns the strict-decoding error, or the warning, for a duplicate field."""
    return f"duplicate field {quote(path)}"


def strict_decoding_text(errors: Iterable[str]) -> str:
    """Joins all strict-decoding errors to one text."""
    return f"strict decoding error: {', '.join(errors)}"


def summarize(data: bytes, limit: int = 30) -> str:
    """Returns the beginning of a body for messages: JSON as is, other data in hex."""
    if not data:
        return "<empty>"
    head, more = data[:limit], " ..." if len(data) > limit else ""
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more
