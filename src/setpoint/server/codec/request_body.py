"""Decodes request bodies: media type, kind, unknown and duplicate fields, and the shape of the kind.

The result is an object of the endpoint's own kind and version, with defaults. An invalid body is rejected with
kube-apiserver's messages; unknown fields are dropped, and reported as the client requested.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple, Self

from setpoint.objects import codec, objectmeta
from setpoint.objects.errors import BadRequest, UnsupportedMediaType, unknown_field
from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.sorted_json import in_order
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.schema.pruning import META_FIELDS
from setpoint.server.codec.go_json import with_embedded_structs
from setpoint.server.offload import YAML_FACTOR
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import IGNORE, STRICT, WriteOptions, write_options

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
PARSE_ERROR = "couldn't get version/kind; json parse error: "
_new = tuple.__new__  # creates a named tuple in half the time
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


class OtherKind(BadRequest):
    """A body of another kind than the resource. `why` is the reason alone, as the errors of patches show it."""

    why: str = ""

    @classmethod
    def of(cls, claimed: GroupVersionKind, resource: Resource, why: str) -> Self:
        error = cls(f"{claimed.kind} in version {quote(claimed.version)} cannot be handled as a {resource.kind}: {why}")
        error.why = why
        return error


class MissingKind(BadRequest):
    """A custom resource without a kind. `why` is the reason alone."""

    why: str = ""

    @classmethod
    def of(cls, kind: str, why: str, data: bytes) -> Self:
        error = cls.unrecognized(kind, why, data)
        error.why = why
        return error


class Body(NamedTuple):
    """A body as JSON, and the duplicate fields that strict validation rejects."""

    tree: Json
    repeated: Sequence[str] = ()
    is_yaml: bool = False

    def strict_errors(self) -> list[str]:
        """Returns the messages for an error; those for warnings are `repeated`."""
        if self.is_yaml and self.repeated:
            from setpoint.objects import yamltext

            return [yamltext.strict_error(tuple(self.repeated))]
        return list(self.repeated)


def media_type(context: Context) -> str:
    """Returns the media type of the body without parameters; JSON if not set."""
    given = context.request.headers.get("content-type", "")
    return given.partition(";")[0].strip().lower() if given and given != JSON else JSON


def create_options(context: Context, *, custom: bool = False) -> WriteOptions:
    """Returns the options of a create. As on kube-apiserver, the media type of the body is checked first."""
    given = media_type(context)
    if given not in (JSON, YAML) and (custom or given != PROTOBUF):
        raise _unsupported(given)
    return write_options(context, "CreateOptions")


def read_body(context: Context, gvk: GroupVersionKind, *, custom: bool, find_duplicates: bool) -> Body:
    """Returns the body of a create or update as JSON. With `find_duplicates`, finds duplicate fields."""
    body, given = context.request.body, media_type(context)
    try:
        if given == JSON:
            tree = codec.decode(body)
            repeated = codec.duplicate_fields(body, tree) if find_duplicates or not custom else ()
            if repeated and not custom:
                tree = codec.merge_duplicates(body)
            return _new(Body, (tree, repeated, False))
        if given == YAML:
            from setpoint.objects import yamltext  # YAML is rarely sent: the import does not delay the start

            document = yamltext.load(body)
            # As if converted to JSON first, with sorted names: this determines which error is reported first.
            return Body(in_order(document.tree), document.duplicates, is_yaml=True)
    except BadRequest as error:
        prefix = PARSE_ERROR if given == JSON else ""
        raise BadRequest.unrecognized(gvk.kind, prefix + error.message, body) from None
    if given == PROTOBUF and not custom:
        return Body(decode_protobuf(body, gvk))
    raise _unsupported(given)


def _unsupported(given: str) -> UnsupportedMediaType:
    # Custom resources have no protobuf, though kube-apiserver names the type for them too.
    return UnsupportedMediaType.of([JSON, YAML] if given == PROTOBUF else [JSON, YAML, PROTOBUF])


def decode_protobuf(body: bytes, gvk: GroupVersionKind) -> Object:
    """Returns the object of a protobuf body, of the given kind if the body names none."""
    # The message tables are large: they are loaded on first use.
    from setpoint.server.codec import protobuf

    return protobuf.decode(body, gvk)


async def read_object(context: Context, resource: Resource, validation: str) -> Object:
    """Returns the object in the body of a request to the resource."""
    # Evaluated here: cached properties allow one thread at a time, and other threads would wait.
    _ = resource.shape, resource.strategy
    if context.is_expensive(body_size(context), resource):
        return await context.in_thread(partial(_read_object, context, resource, validation))
    return _read_object(context, resource, validation)


def body_size(context: Context) -> int:
    """Returns the size of a JSON body that takes about as long to read as the body of the request."""
    size = len(context.request.body)
    return size if media_type(context) == JSON else size * YAML_FACTOR


def _read_object(context: Context, resource: Resource, validation: str) -> Object:
    body = read_body(context, resource.gvk, custom=resource.is_custom, find_duplicates=validation != IGNORE)
    context.sent_object = lambda: read_body(context, resource.gvk, custom=False, find_duplicates=False).tree
    try:
        tree = check_kind(body.tree, resource, context.request.body)
    except MissingKind as error:
        if validation == IGNORE:
            raise BadRequest.not_decodable(resource.kind, resource.version, error.why) from None
        raise
    except BadRequest:
        if resource.is_custom:
            _check_metadata(body.tree, resource)
        if resource.is_custom and validation != IGNORE:
            for text in body.repeated if validation != STRICT else ():
                context.warn(text)
            warn_of_all(context, body.tree, resource)
        raise
    return normalize(context, resource, tree, body, validation)


def _check_metadata(tree: Json, resource: Resource) -> None:
    """Raises BadRequest for malformed metadata, whose error comes before that of another version."""
    if type(tree) is not dict or type(tree.get("apiVersion", "")) is not str or type(tree.get("kind")) is not str:
        return
    try:
        objectmeta.coerce(tree.get("metadata"))
    except ValueError as error:
        version = tree.get("apiVersion", "").rpartition("/")[2]
        raise BadRequest.not_decodable(resource.kind, version, str(error), claimed=tree["kind"]) from None


def normalize(context: Context, resource: Resource, tree: Object, body: Body, validation: str) -> Object:
    """Applies the shape and the defaults of the kind to a tree."""
    if resource.strategy.counts_empty_in:
        note_empty_lists(context, resource, tree)
    try:
        unknown = apply_shape(resource, tree)
    except ValueError as error:
        claimed = tree.get("kind") if resource.is_custom else resource.kind
        why = with_embedded_structs(str(error), resource.api_version, resource.kind)
        raise BadRequest.not_decodable(resource.kind, resource.version, why, claimed=claimed) from None
    if resource.strategy.has_decoding_faults and (fault := resource.strategy.decoding_fault(tree)):
        raise BadRequest.not_decodable(resource.kind, resource.version, fault)
    if (unknown or body.repeated) and validation != IGNORE:
        texts = [*map(unknown_field, unknown)]
        if not resource.is_custom and media_type(context) == JSON:
            texts = codec.in_document_order(context.request.body, [*body.repeated, *texts])
            body = body._replace(repeated=())
        if validation == STRICT:
            raise BadRequest.strict_decoding(tree["kind"], resource.version, [*body.strict_errors(), *texts])
        for text in (*body.repeated, *texts):
            context.warn(text)
    resource.strategy.set_defaults(tree, context.services.clock)
    return tree


def apply_shape(resource: Resource, tree: Object) -> list[str]:
    """Applies the shape of the resource to an object, in place; returns the paths of dropped fields. An object that
    names another kind than the custom resource is not pruned or defaulted, which is an error of its validation."""
    if resource.is_custom and _is_other_kind(tree, resource):
        tree["metadata"], unknown = objectmeta.coerce(tree.get("metadata"))
        return sorted(unknown)
    return resource.shape.normalize(tree)


def _is_other_kind(tree: Object, resource: Resource) -> bool:
    return bool(tree.get("kind") != resource.kind or tree.get("apiVersion") != resource.api_version)


def note_empty_lists(context: Context, resource: Resource, tree: Json) -> None:
    """Notes that a tree has an empty list, which decoding drops, for a kind that counts this as a change."""
    if type(tree) is dict:
        context.has_empty_list = _has_empty_list(tree.get(resource.strategy.counts_empty_in))


def _has_empty_list(value: Json) -> bool:
    if type(value) is list:
        return not value or any(map(_has_empty_list, value))
    if type(value) is not dict:
        return False
    # Empty policyTypes get a default. Labels are a map, and all other objects are structs, which cannot be absent.
    return value.get("matchLabels") == {} or any(
        _has_empty_list(inner) for name, inner in value.items() if name != "policyTypes"
    )


def claimed_kind(body: Json) -> GroupVersionKind:
    """Returns the kind that a body names, with empty parts if there are none. Raises ValueError."""
    tree: Object = {} if body is None else body
    if type(tree) is not dict:
        raise ValueError(f"{PARSE_ERROR}json: cannot unmarshal {json_type(tree)} into Go value of type {_TYPE_META}")
    for name in ("apiVersion", "kind"):
        value = tree.get(name)
        if value is not None and type(value) is not str:
            why = f"json: cannot unmarshal {json_type(value)} into Go struct field .{name} of type string"
            raise ValueError(f"{PARSE_ERROR}{why}")
    return GroupVersionKind.of(tree)


def check_kind(body: Json, resource: Resource, data: bytes) -> Object:
    """Returns the body if its kind is the expected one. For built-in kinds, a missing apiVersion or kind is filled
    in."""
    tree: Object = {} if body is None else body
    if type(tree) is dict and tree.get("apiVersion") == resource.api_version and tree.get("kind") == resource.kind:
        return tree
    try:
        claimed = claimed_kind(tree)
    except ValueError as error:
        raise BadRequest.unrecognized(resource.kind, str(error), data) from None
    if resource.is_custom:
        _check_custom_kind(tree, resource, data)
        return tree
    if not claimed.version:
        claimed = GroupVersionKind(resource.group, resource.version, claimed.kind)
    if not claimed.kind:
        claimed = GroupVersionKind(claimed.group, claimed.version, resource.kind)
    if claimed != resource.gvk and not (
        claimed.kind == resource.kind and claimed.api_version in resource.strategy.accepted_versions
    ):
        raise _other_kind(tree, claimed, resource)
    tree["apiVersion"], tree["kind"] = resource.api_version, resource.kind
    return tree


def warn_of_all(context: Context, tree: Json, resource: Resource) -> None:
    """Warns of every field as unknown if the body names a version that the custom resource does not have."""
    if is_unknown_version(tree, resource):
        for name in sorted(tree.keys() - META_FIELDS):
            context.warn(unknown_field(name))


def is_unknown_version(tree: Json, resource: Resource) -> bool:
    """Returns True if an object names the group of a custom resource, but a version that the resource lacks."""
    if type(tree) is not dict or resource.crd is None:
        return False
    group, _, version = str(tree.get("apiVersion", "")).partition("/")
    return group == resource.group and resource.crd.version(version) is None


def _check_custom_kind(tree: Object, resource: Resource, data: bytes) -> None:
    """Raises BadRequest if a custom resource lacks its kind or apiVersion, or has another apiVersion. Another kind is
    found by the validation."""
    text = data.decode("utf-8", "replace")
    if not tree.get("kind"):
        raise MissingKind.of(resource.kind, f"Object 'Kind' is missing in '{text}'", data)
    if tree.get("apiVersion", "") is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise BadRequest(f'{tree["kind"]} in version "" cannot be handled as a {resource.kind}: {why}')
    if tree.get("apiVersion") != resource.api_version:
        raise _other_version(tree.get("apiVersion") or "", resource)


@cache
def _builtin_versions() -> frozenset[GroupVersion]:
    """Returns the versions of built-in groups that exist or once existed."""
    return frozenset(gvk.group_version for gvk in builtin.kinds())


def _other_version(found: str, resource: Resource) -> BadRequest:
    return BadRequest(
        f"the API version in the data ({found}) does not match the expected API version ({resource.api_version})"
    )


def _other_kind(tree: Object, claimed: GroupVersionKind, resource: Resource) -> BadRequest:
    """Returns the error for an object of another built-in kind. The object is first decoded as the claimed kind, which
    may fail with its own error."""
    definition = builtin.kinds().get(claimed)
    if definition is None and claimed.kind == resource.kind and claimed.group_version in _builtin_versions():
        return _other_version(claimed.api_version, resource)
    if definition is None:
        where = quote(claimed.api_version)
        why = f"no kind {quote(claimed.kind)} is registered for version {where} in scheme {quote(_SCHEME)}"
        return OtherKind.of(claimed, resource, why)
    try:
        shape_of(definition).normalize(copy(tree))
    except ValueError as error:
        return OtherKind.of(claimed, resource, str(error))
    if claimed.group_kind == resource.group_kind:
        return _other_version(claimed.api_version, resource)
    package = resource.group.partition(".")[0] or "core"
    types = f"({claimed.version}.{claimed.kind}) to ({package}.{resource.kind})"
    return OtherKind.of(claimed, resource, f"converting {types}: unknown conversion")
