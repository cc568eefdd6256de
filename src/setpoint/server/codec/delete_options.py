"""The options of a deletion: from the body, or from the query if there is no body."""

from typing import NamedTuple

import msgspec

from setpoint.objects import codec
from setpoint.objects.errors import BadRequest, Invalid, UnsupportedMediaType
from setpoint.objects.field import FieldError, invalid, not_supported
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.request_body import JSON, PROTOBUF, YAML, decode_protobuf, media_type
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import truth, validate_dry_run

_KIND = GroupKind("meta.k8s.io", "DeleteOptions")
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
    kind: str | None = None
    api_version: str | None = None
    grace_period_seconds: int | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


def delete_options(context: Context) -> DeleteOptions:
    """Reads the options of a request. Raises BadRequest or Invalid."""
    if not context.request.body:
        return _validated(_from_query(context)) if context.query else DeleteOptions()
    tree = _read(context)
    if type(tree) is dict and (kind := tree.get("kind")) not in (None, "", "DeleteOptions"):
        text = kind if isinstance(kind, str) else str(kind)
        raise BadRequest(
            f"{text} cannot be handled as a DeleteOptions: send a DeleteOptions, or no body and query parameters"
        )
    return from_tree(tree)


def from_tree(tree: Json) -> DeleteOptions:
    """Parses options in JSON. Raises BadRequest or Invalid."""
    try:
        return _validated(msgspec.convert(tree or {}, _Body))
    except msgspec.ValidationError as error:
        raise BadRequest(f"the DeleteOptions cannot be read: {error}") from None


def _read(context: Context) -> Json:
    given, body = media_type(context), context.request.body
    try:
        if given == JSON:
            return codec.decode(body)
        if given == YAML:
            from setpoint.objects import yamltext

            return yamltext.load(body).tree
    except BadRequest as error:
        raise BadRequest(f"the DeleteOptions cannot be read: {error.message}") from None
    if given == PROTOBUF:
        return decode_protobuf(body, GroupVersionKind(_KIND.group, "v1", _KIND.kind))
    raise UnsupportedMediaType.of([JSON, YAML, PROTOBUF])


def _from_query(context: Context) -> _Body:
    query = context.query
    found = _Body()
    if text := context.parameter("gracePeriodSeconds"):
        try:
            found.grace_period_seconds = int(text)
        except ValueError:
            raise BadRequest(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax") from None
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
