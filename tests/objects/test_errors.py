"""The errors of the API: their exact Status, and the way back from one."""

from typing import Any

import pytest

from setpoint.objects import errors
from setpoint.objects.errors import APIError, Conflict, Expired, Forbidden, Invalid, StatusCause
from setpoint.objects.field import invalid, required
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.status import from_status, success

CONFIG_MAPS = GroupResource("", "configmaps")
WIDGETS = GroupResource("ex.com", "widgets")
WIDGET = GroupKind("ex.com", "Widget")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (
            errors.NotFound.of(CONFIG_MAPS, "nope"),
            404,
            "NotFound",
            'configmaps "nope" not found',
            {"name": "nope", "kind": "configmaps"},
        ),
        (errors.NotFound.resource(), 404, "NotFound", "the server could not find the requested resource", {}),
        (
            errors.AlreadyExists.of(WIDGETS, "a"),
            409,
            "AlreadyExists",
            'widgets.ex.com "a" already exists',
            {"name": "a", "group": "ex.com", "kind": "widgets"},
        ),
        (
            errors.AlreadyExists.of(WIDGETS, "a", being_deleted=True),
            409,
            "AlreadyExists",
            'object is being deleted: widgets.ex.com "a" already exists',
            {"name": "a", "group": "ex.com", "kind": "widgets"},
        ),
        (
            errors.AlreadyExists.generated(CONFIG_MAPS, "a-x"),
            409,
            "AlreadyExists",
            'configmaps "a-x" already exists, the server was not able to generate a unique name for the object',
            {"name": "a-x", "kind": "configmaps", "retryAfterSeconds": 1},
        ),
        (
            Conflict.modified(WIDGETS, "a"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on widgets.ex.com "a": the object has been modified; please apply your '
            "changes to the latest version and try again",
            {"name": "a", "group": "ex.com", "kind": "widgets"},
        ),
        (
            Conflict.precondition(CONFIG_MAPS, "a", key="/registry/configmaps/d/a", wanted="x", found="y"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, '
            "Key: /registry/configmaps/d/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            "UID in precondition: x, UID in object meta: y",
            {"name": "a", "kind": "configmaps"},
        ),
        (
            Conflict.delete_uid(WIDGET, "a", wanted="x", found="y"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on Widget.ex.com "a": the UID in the precondition (x) does not match '
            "the UID in record (y). The object might have been deleted and then recreated",
            {"name": "a", "group": "ex.com", "kind": "Widget"},
        ),
        (
            Conflict.delete_resource_version(GroupKind("", "ConfigMap"), "a", wanted="1", found="2"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not '
            "match the ResourceVersion in record (2). The object might have been modified",
            {"name": "a", "kind": "ConfigMap"},
        ),
        (
            errors.ApplyConflict.between("Apply failed", [errors.ApplyConflict.cause('conflict with "m"', ".data.x")]),
            409,
            "Conflict",
            "Apply failed",
            {"causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m"', "field": ".data.x"}]},
        ),
        (Invalid.patch(), 422, "Invalid", "the server rejected our request due to an error in our request", {}),
        (errors.BadRequest("what?"), 400, "BadRequest", "what?", None),
        (errors.Unauthorized.of(), 401, "Unauthorized", "Unauthorized", None),
        (
            Forbidden.request(
                "u", "get", GroupResource("", "pods"), subresource="log", namespace="d", name="p", why="no role"
            ),
            403,
            "Forbidden",
            'pods "p" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace '
            '"d": no role',
            {"name": "p", "kind": "pods"},
        ),
        (
            Forbidden.request("u", "list", WIDGETS, subresource="", namespace="", name=""),
            403,
            "Forbidden",
            'widgets.ex.com is forbidden: User "u" cannot list resource "widgets" in API group "ex.com" at the cluster '
            "scope",
            {"group": "ex.com", "kind": "widgets"},
        ),
        (
            Forbidden.path("u", "get", "/metrics"),
            403,
            "Forbidden",
            'forbidden: User "u" cannot get path "/metrics"',
            {},
        ),
        (
            errors.MethodNotAllowed.of(WIDGETS, "delete"),
            405,
            "MethodNotAllowed",
            'delete is not supported on resources of kind "widgets.ex.com"',
            {"group": "ex.com", "kind": "widgets"},
        ),
        (
            errors.MethodNotAllowed.method(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            {},
        ),
        (
            errors.NotAcceptable.of(["application/json", "application/yaml"]),
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml",
            None,
        ),
        (errors.Gone("too old"), 410, "Gone", "too old", None),
        (
            errors.RequestEntityTooLarge.body(3145728),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
            None,
        ),
        (
            errors.UnsupportedMediaType.of(["application/json-patch+json"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json",
            None,
        ),
        (
            errors.TooManyRequests.of(),
            429,
            "TooManyRequests",
            "Too many requests, please try again later.",
            {"retryAfterSeconds": 1},
        ),
        (
            errors.InternalError.of("boom"),
            500,
            "InternalError",
            "Internal error occurred: boom",
            {"causes": [{"message": "boom"}]},
        ),
        (
            errors.ServerTimeout.of(WIDGETS, "list", 2),
            500,
            "ServerTimeout",
            "The list operation against widgets.ex.com could not be completed at this time, please try again.",
            {"name": "list", "group": "ex.com", "kind": "widgets", "retryAfterSeconds": 2},
        ),
        (errors.ServiceUnavailable("away"), 503, "ServiceUnavailable", "away", None),
        (errors.Timeout.of("too slow", 1), 504, "Timeout", "Timeout: too slow", {"retryAfterSeconds": 1}),
        (APIError("raw"), 500, None, "raw", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, APIError) else None,
)
def test_every_reason_has_its_status(
    error: APIError, code: int, reason: str | None, message: str, details: dict[str, Any] | None
) -> None:
    expected: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }
    assert error.to_status() == {name: value for name, value in expected.items() if value is not None}
    again = from_status(error.to_status(), code)
    assert isinstance(again, type(error))
    assert again.to_status() == error.to_status()


def test_field_errors_become_causes_and_one_message() -> None:
    found = Invalid.of(WIDGET, "w", [required("spec.a"), invalid("spec.b", 5, "too odd"), required("spec.a")])
    assert found.message == 'Widget.ex.com "w" is invalid: [spec.a: Required value, spec.b: Invalid value: 5: too odd]'
    assert found.causes == (
        StatusCause("FieldValueRequired", "Required value", "spec.a"),
        StatusCause("FieldValueInvalid", "Invalid value: 5: too odd", "spec.b"),
        StatusCause("FieldValueRequired", "Required value", "spec.a"),
    )
    assert found.details() == {
        "name": "w",
        "group": "ex.com",
        "kind": "Widget",
        "causes": [cause.to_json() for cause in found.causes],
    }


def test_a_single_field_error_stands_without_brackets() -> None:
    assert Invalid.of(GroupKind("", "Pod"), "", [required("a")]).message == 'Pod "" is invalid: a: Required value'
    assert Invalid.of(GroupKind("", "Pod"), "p", []).message == 'Pod "p" is invalid'


def test_an_expired_list_tells_how_to_go_on() -> None:
    status = Expired.listing("token").to_status()
    assert (status["reason"], status["code"], status["metadata"]) == ("Expired", 410, {"continue": "token"})
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result."
    )
    assert from_status(status, 410).metadata == {"continue": "token"}


def test_a_body_that_does_not_decode_is_a_bad_request() -> None:
    strict = errors.BadRequest.strict_decoding(
        "ConfigMap", "v1", [errors.unknown_field("foo"), errors.duplicate_field("data.a")]
    )
    assert strict.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "foo", duplicate field "data.a"'
    )
    unrecognized = errors.BadRequest.unrecognized("Widget", "unexpected end of JSON input", b"{")
    assert unrecognized.message == (
        "the object provided is unrecognized (must be of type Widget): unexpected end of JSON input ({)"
    )


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        (b"", "<empty>"),
        (b"[]", "5b5d"),
        (b'{"a": 1}', '{"a": 1}'),
        (b'{"apiVersion": "a/b/c", "kind": "X"}', '{"apiVersion": "a/b/c", "kind" ...'),
        (b"a" * 31, "61" * 30 + " ..."),
    ],
)
def test_a_body_is_summarized_by_its_beginning(data: bytes, summary: str) -> None:
    assert errors.summarize(data) == summary


def test_forbidden_carries_causes() -> None:
    cause = StatusCause("NamespaceTerminating", "namespace ns is being terminated", "metadata.namespace")
    error = Forbidden.of(CONFIG_MAPS, "b", "unable to create new content", [cause])
    assert error.message == 'configmaps "b" is forbidden: unable to create new content'
    assert error.to_status()["details"]["causes"] == [cause.to_json()]


def test_a_success_names_what_is_gone() -> None:
    assert success(WIDGETS, "x", "u-1") == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "x", "group": "ex.com", "kind": "widgets", "uid": "u-1"},
    }
    assert "group" not in success(CONFIG_MAPS, "x", "u-1")["details"]


@pytest.mark.parametrize(
    ("body", "code", "kind", "reason"),
    [
        ({"kind": "Status", "reason": "Strange", "message": "m", "code": 404}, 404, errors.NotFound, "Strange"),
        ({"kind": "Status", "message": "m"}, 409, Conflict, ""),
        ({"kind": "Status", "reason": "Invalid", "code": 400}, 400, Invalid, "Invalid"),
        ("<html>", 503, errors.ServiceUnavailable, "ServiceUnavailable"),
        (None, 418, APIError, ""),
        ({"kind": "Status", "reason": 5, "message": [], "code": "x", "details": 7}, 410, Expired, ""),
        (
            {"kind": "Status", "details": {"causes": [5, {"reason": 1, "field": "f"}], "retryAfterSeconds": "x"}},
            500,
            errors.InternalError,
            "",
        ),
    ],
)
def test_any_answer_becomes_an_error(body: Any, code: int, kind: type[APIError], reason: str) -> None:
    error = from_status(body, code)
    assert type(error) is kind
    assert (error.code, error.reason) == (code, reason)
    assert error.message
