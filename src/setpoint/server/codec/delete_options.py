"""The options of a deletion: from the body, or from the query if there is no body."""

from typing import NamedTuple

import msgspec

from setpoint.objects import codec
from setpoint.objects.errors import BadRequest, Invalid, UnsupportedMediaType
from setpoint.objects.field import FieldError, invalid, not_supported
from setpoint.objects.gotext import parse_int, quote
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.request_body import (
    JSON,
    PARSE_ERROR,
    PROTOBUF,
    YAML,
    claimed_kind,
    decode_protobuf,
    media_type,
)
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import truth, validate_dry_run

_KIND = GroupKind("meta.k8s.io", "DeleteOptions")
_DEFINITION = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
# The file and line with which the real server names the scheme of the kinds that the API itself uses.
_SCHEME = "pkg/runtime/scheme.go:111"
_KINDS = ("ListOptions", "GetOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "Table", "TableOptions")
_UNVERSIONED = ("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList")
_POLICIES = ("Foreground", "Background", "Orphan")


class DeleteOptions(NamedTuple):
    """The options of a delete. None: not set by the client."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: bool = False

    def to_json(self) -> Object:
        """Returns the options as admission receives them."""
        found: Object = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        if self.grace_period_seconds is not None:
            found["gracePeriodSeconds"] = self.grace_period_seconds
        given = {"uid": self.uid, "resourceVersion": self.resource_version}
        if preconditions := {name: value for name, value in given.items() if value is not None}:
            found["preconditions"] = preconditions
        if self.orphan_dependents is not None:
            found["orphanDependents"] = self.orphan_dependents
        if self.propagation_policy is not None:
            found["propagationPolicy"] = self.propagation_policy
        if self.dry_run:
            found["dryRun"] = ["All"]
        return found


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _Body(msgspec.Struct, rename="camel"):
    grace_period_seconds: int | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


def delete_options(context: Context) -> DeleteOptions:
    """Reads the options of a request. Raises BadRequest or Invalid."""
    if not context.request.body:
        return _validated(_from_query(context)) if context.query else DeleteOptions()
    return from_tree(_checked(_read(context)))


def from_tree(tree: Json) -> DeleteOptions:
    """Parses options in JSON. Raises BadRequest or Invalid."""
    try:
        return _validated(msgspec.convert(tree or {}, _Body))
    except msgspec.ValidationError as error:
        raise BadRequest(f"the DeleteOptions cannot be read: {error}") from None


def _checked(tree: Json) -> Object:
    """Returns the options of a body in the types of the API. The group and the version of a DeleteOptions do not
    matter: older clients send those of the resource."""
    try:
        given = claimed_kind(tree)
        kind = given.kind or _KIND.kind
        if kind != _KIND.kind:
            raise _other_kind(given.api_version or f"{_KIND.group}/v1", kind)
        found: Object = tree or {}
        shape_of(_DEFINITION).normalize(found)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return found


def _other_kind(api_version: str, kind: str) -> BadRequest:
    if kind in (_KINDS if api_version == f"{_KIND.group}/v1" else _UNVERSIONED if api_version == "v1" else ()):
        return BadRequest(f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    return BadRequest(
        f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme {quote(_SCHEME)}"
    )


def _read(context: Context) -> Json:
    given, body = media_type(context), context.request.body
    if given == JSON:
        try:
            return codec.decode(body)
        except BadRequest as error:
            raise BadRequest(f"{PARSE_ERROR}{error.message}") from None
    if given == YAML:
        from setpoint.objects import yamltext

        return yamltext.load(body).tree
    if given == PROTOBUF:
        return decode_protobuf(body, GroupVersionKind(_KIND.group, "v1", _KIND.kind))
    raise UnsupportedMediaType.of([JSON, YAML, PROTOBUF])


def _from_query(context: Context) -> _Body:
    query = context.query
    found = _Body()
    if text := context.parameter("gracePeriodSeconds"):
        try:
            found.grace_period_seconds = parse_int(text)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    if "orphanDependents" in query:
        found.orphan_dependents = truth(context.parameter("orphanDependents"))
    if "propagationPolicy" in query:
        found.propagation_policy = context.parameter("propagationPolicy")
    found.dry_run = list(query.get("dryRun", ()))
    return found


def _validated(body: _Body) -> DeleteOptions:
    errors: list[FieldError] = []
    policy, dry_run = body.propagation_policy, body.dry_run or []
    if policy is not None and body.orphan_dependents is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    errors += validate_dry_run(dry_run)
    if errors:
        raise Invalid.of(_KIND, "", errors)
    preconditions = body.preconditions or _Preconditions()
    return DeleteOptions(
        body.grace_period_seconds,
        preconditions.uid,
        preconditions.resource_version,
        body.orphan_dependents,
        policy,
        bool(dry_run),
    )
