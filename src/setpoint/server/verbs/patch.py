"""PATCH: JSON patch, merge patch, strategic merge patch, or server-side apply."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from setpoint.merge import jsonpatch, mergepatch, strategic
from setpoint.objects import codec, objectmeta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import (
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    UnsupportedMediaType,
    strict_decoding_text,
    unknown_field,
)
from setpoint.objects.field import invalid
from setpoint.objects.goformat import format_v, json_type
from setpoint.objects.gotext import ordered_json, quote
from setpoint.objects.gvk import GroupKind
from setpoint.objects.meta import fill_namespace
from setpoint.objects.sorted_json import in_order
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.schema.pruning import META_FIELDS
from setpoint.server.codec.conversion_text import conversion_fault
from setpoint.server.codec.go_json import in_struct_order, with_embedded_structs
from setpoint.server.codec.request_body import (
    MissingKind,
    OtherKind,
    apply_shape,
    check_kind,
    claimed_kind,
    is_unknown_version,
    media_type,
    note_empty_lists,
    warn_of_all,
)
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.offload import LEAST, YAML_FACTOR
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import IGNORE, STRICT, WriteOptions, write_options
from setpoint.server.verbs.unread_metadata import set_aside
from setpoint.server.verbs.write_path import PATCH_ATTEMPTS, Written, create_object, refuse_name, update_object

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_PATCHES = frozenset((JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY))

_INTEGERS = float(1 << 63)
# Occurs in every text of JSON that contains a number with a fraction or an exponent.
_FLOAT = re.compile(rb"(?:^|[\s:,\[])-?[0-9]+[.eE]")


async def patch(context: Context, resource: Resource) -> Response:
    given = patch_type(context, resource)
    options = write_options(context, "PatchOptions", apply=given == APPLY)
    if given == APPLY:
        written = await _apply(context, resource, options)
    else:
        written = await _patch(context, resource, await read_patch(context, resource, given, options), options)
    return await object_answer(context, resource, written.body, 201 if written.created else 200)


def patch_type(context: Context, resource: Resource) -> str:
    """Returns the media type of a patch. Raises UnsupportedMediaType for a type that the resource does not support."""
    given = context.request.headers.get("content-type", "")
    if given not in _PATCHES:
        given = media_type(context)
    if resource.is_custom and resource.strategy.patch_schema is None:
        if given not in (JSON_PATCH, MERGE_PATCH, APPLY):
            raise UnsupportedMediaType.of([JSON_PATCH, MERGE_PATCH, APPLY])
    elif given not in _PATCHES:
        raise UnsupportedMediaType("415: Unsupported Media Type", details=True)
    return given


class Patch(NamedTuple):
    """A parsed patch, which can be applied repeatedly."""

    apply: Callable[[Object], Json]
    # The duplicate and unknown fields of its text, for strict validation.
    repeated: list[str]
    # Applies the patch with the keys in the order that errors show; None if errors show the patch itself.
    apply_in_order: Callable[[Object], Json] | None = None
    # Returns the rest of a strategic patch after the merge into an object.
    remainder: Callable[[Object], Json] | None = None
    # Applies the patch as decoded anew: the values of a patch become part of the object, and are changed there.
    apply_again: Callable[[Object], Json] = lambda live: live

    def in_order(self, resource: Resource, before: bytes) -> Json:
        """Returns the patched object with its keys in the order in which the real server reads and shows them;
        `before` is the object that the patch was applied to."""
        live = codec.decode(before)
        if self.apply_in_order is None:
            return self.apply(live)
        ordered = in_order(live) if resource.is_custom else in_struct_order(live, resource.api_version, resource.kind)
        return self.apply_in_order(ordered)

    def text(self, resource: Resource, before: bytes) -> str:
        """Returns the text that errors show: the patched object, or the patch as the real server leaves it."""
        if self.remainder is not None:
            return format_v(self.remainder(codec.decode(before)))
        return ordered_json(self.in_order(resource, before))


async def read_patch(context: Context, resource: Resource, media_type: str, options: WriteOptions) -> Patch:
    """Parses the patch in the body. Raises BadRequest."""
    return await context.offload(lambda: _read_patch(context, resource, media_type, options), resource=resource)


def _read_patch(context: Context, resource: Resource, media_type: str, options: WriteOptions) -> Patch:
    body, strict = context.request.body, options.field_validation != IGNORE
    try:
        tree = codec.decode(body)
    except BadRequest:
        raise BadRequest("invalid JSON patch") from None  # kube-apiserver names no fault in the syntax of a patch
    repeated = codec.duplicate_fields(body, tree) if strict else []
    if media_type == JSON_PATCH:
        operations = jsonpatch.decode(tree, strict=strict)
        repeated = [f"json patch {text}" for text in repeated] + (jsonpatch.unknown_fields(tree) if strict else [])
        return Patch(
            lambda live: jsonpatch.apply(live, operations),
            repeated,
            lambda live: jsonpatch.apply_in_order(live, jsonpatch.decode(codec.decode(body), strict=strict)),
            apply_again=lambda live: jsonpatch.apply(live, jsonpatch.decode(codec.decode(body), strict=strict)),
        )
    if media_type == MERGE_PATCH:
        return Patch(
            lambda live: mergepatch.apply(live, tree, strict=strict),
            repeated,
            lambda live: mergepatch.apply_in_order(live, codec.decode(body), strict=strict),
            apply_again=lambda live: mergepatch.apply(live, codec.decode(body), strict=strict),
        )
    schema = resource.strategy.patch_schema or _patch_schemas()[f"#/definitions/{resource.definition}"]
    whole = _with_integers(tree) if _FLOAT.search(body) else tree
    return Patch(
        lambda live: strategic.merge(live, whole, schema),
        repeated,
        remainder=lambda live: strategic.remainder(codec.decode(body), live, schema),
        apply_again=lambda live: strategic.merge(live, _with_integers(codec.decode(body)), schema),
    )


def _with_integers(value: Json) -> Json:
    """Returns a patch with `2` in place of `2.0` and `2e0`. As on kube-apiserver, an integer field accepts these in a
    strategic merge patch only; some Java clients send them."""
    if type(value) is float:
        return int(value) if value.is_integer() and abs(value) < _INTEGERS else value
    if type(value) is dict:
        return {name: _with_integers(each) for name, each in value.items()}
    if type(value) is list:
        return [_with_integers(each) for each in value]
    return value


def _put_integers(resource: Resource, tree: Object) -> None:
    """Writes the integers of arbitrary JSON without a fraction, in place."""
    for name in resource.strategy.raw_fields:
        if name in tree:
            tree[name] = _with_integers(tree[name])


@cache
def _patch_schemas() -> strategic.PatchSchemas:
    return strategic.PatchSchemas(builtin.resolve)


async def _patch(context: Context, resource: Resource, change: Patch, options: WriteOptions) -> Written:
    info = context.info

    def patched(live: Object) -> Object:
        tree = patched_object(context, resource, change, options, live)
        _check_place(context, resource, tree)
        return tree

    return await update_object(
        context,
        resource,
        info.name,
        patched,
        options,
        subresource=info.subresource,
        attempts=PATCH_ATTEMPTS,
        uid_is_precondition=False,
    )


def patched_object(context: Context, resource: Resource, change: Patch, options: WriteOptions, live: Object) -> Object:
    """Applies a patch to an object and decodes the result like a body."""
    before = codec.encode(live)
    context.sent_object = lambda: change.apply_again(codec.decode(before))
    tree: Object = change.apply(live)
    is_strategic = change.apply_in_order is None
    if is_strategic and type(tree) is dict:
        # The result of a strategic merge is converted to the type of the resource; the kind in the patch has no effect.
        named = {"apiVersion": resource.api_version, "kind": resource.kind}
        tree = {**tree, **{name: value for name, value in named.items() if type(tree.get(name, "")) is str}}
        _put_integers(resource, tree)
    elif type(tree) is dict and tree.get("apiVersion") in (None, "") and not resource.is_custom:
        _refuse_versionless(context, resource, change, options, change.text(resource, before), tree)
    if resource.is_custom and context.info.subresource == "status" and type(tree) is dict:
        tree = _as_stored_kind(context, resource, tree, options)
    if resource.is_custom and _lacks_version(tree):
        _check_versionless(change, options, change.text(resource, before), tree)
    lost: list[str] = []
    is_other_kind = resource.is_custom and _is_other_kind(tree, resource)
    try:
        if is_other_kind:
            # An error of the validation.
            context.keeps_managers = True
            if is_unknown_version(tree, resource) and tree["kind"] == resource.kind:
                # A version without a schema has no fields.
                lost = sorted(tree.keys() - META_FIELDS)
                tree = {name: value for name, value in tree.items() if name in META_FIELDS}
        else:
            tree = check_kind(tree, resource, b"" if type(tree) is dict else codec.encode(tree))
        if resource.strategy.counts_empty_in:
            note_empty_lists(context, resource, tree)
        unknown = apply_shape(resource, tree)
    except (BadRequest, ValueError) as error:
        if isinstance(error, MissingKind):
            shown = change.text(resource, before)
            raise _invalid_patch(shown, f"Object 'Kind' is missing in '{shown}'") from None
        if resource.is_custom and isinstance(error, BadRequest):
            if type(tree) is dict and tree.get("apiVersion", "") is None:
                why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
                raise _invalid_patch(change.text(resource, before), why) from None
            try:
                claimed_kind(tree)
            except ValueError as wrong:
                raise _invalid_patch(change.text(resource, before), str(wrong)) from None
            raise
        patched = change.in_order(resource, before)
        if fault := _fault(resource, change, patched, error):
            raise _invalid_patch(change.text(resource, before), fault) from None
        # The conversion accepted a number of too many bits.
        tree = {**patched, "apiVersion": resource.api_version, "kind": resource.kind}
        unknown = resource.shape.normalize(tree)
    if resource.strategy.has_decoding_faults and (fault := resource.strategy.decoding_fault(tree)):
        raise BadRequest(fault) if is_strategic else _invalid_patch(change.text(resource, before), fault)
    if is_strategic:
        unknown.sort()  # the result of a strategic merge is a map, whose order is that of the names
    elif len(unknown) > 1 and not is_other_kind:
        unknown = resource.shape.normalize(change.in_order(resource, before))
    if is_other_kind:
        unknown = [*unknown, *lost]
    elif context.keeps_managers:
        unknown = []  # the fields of another kind are not known
    faults = [*change.repeated, *map(unknown_field, unknown)]
    if faults and options.field_validation == STRICT:
        raise _invalid_patch(change.text(resource, before), strict_decoding_text(faults))
    if faults and options.field_validation != IGNORE:
        for fault in faults:
            context.warn(fault)
    resource.strategy.set_defaults(tree, context.services.clock)
    return tree


def _is_other_kind(tree: Json, resource: Resource) -> bool:
    """Returns True if a patched custom resource names another kind or version."""
    try:
        claimed = claimed_kind(tree)
    except ValueError:
        return False
    return bool(claimed.version and claimed.kind and claimed != resource.gvk)


def _lacks_version(tree: Json) -> bool:
    """Returns True if a patched custom resource has a kind, but no version."""
    try:
        claimed = claimed_kind(tree)
    except ValueError:
        return False
    return bool(claimed.kind and not claimed.version)


def _check_versionless(change: Patch, options: WriteOptions, text: str, tree: Object) -> None:
    """Raises Invalid for malformed or unknown metadata of a custom resource without a version. The version is required
    later."""
    try:
        unknown = objectmeta.coerce(tree.get("metadata")).unknown
    except ValueError as error:
        raise _invalid_patch(text, str(error)) from None
    faults = [*change.repeated, *map(unknown_field, unknown)]
    if faults and options.field_validation == STRICT:
        raise _invalid_patch(text, strict_decoding_text(faults))


def _as_stored_kind(context: Context, resource: Resource, tree: Object, options: WriteOptions) -> Object:
    """Returns a custom resource with the kind and version that it is stored with: a patch of its status changes
    neither. kube-apiserver does not track the fields of a patch that changes them."""
    version, kind = tree.get("apiVersion"), tree.get("kind")
    if type(version) is not str or type(kind) is not str or not version or not kind or version.count("/") > 1:
        return tree
    if (version, kind) == (resource.api_version, resource.kind):
        return tree
    context.keeps_managers = True
    context.claimed_kind = GroupKind(version.rpartition("/")[0], kind)
    if is_unknown_version(tree, resource):
        if options.field_validation not in (IGNORE, STRICT):
            warn_of_all(context, tree, resource)
        # A version without a schema has no fields.
        tree = {name: value for name, value in tree.items() if name in META_FIELDS}
    return {**tree, "apiVersion": resource.api_version, "kind": resource.kind}


def _refuse_versionless(
    context: Context, resource: Resource, change: Patch, options: WriteOptions, text: str, tree: Object
) -> None:
    """Raises the error for a patched object without an apiVersion. kube-apiserver decodes the object as its internal
    type, which has none of the fields of a version, not even a name."""
    kind = tree.get("kind", "")
    if type(kind) is not str:
        return
    if kind and kind != resource.kind:
        raise _invalid_patch(text, _other_internal_kind(context, resource, kind))
    faults = [*change.repeated, *(unknown_field(name) for name in sorted(tree.keys() - {"apiVersion", "kind"}))]
    if options.field_validation == STRICT:
        raise _invalid_patch(text, strict_decoding_text(faults))
    if options.field_validation != IGNORE:
        for fault in faults:
            context.warn(fault)
    refuse_name("", context.info.name)


def _other_internal_kind(context: Context, resource: Resource, kind: str) -> str:
    """Returns the reason why an object of another kind without a version cannot be decoded."""
    if any(each.group == resource.group and each.kind == kind for each in context.registry.builtin):
        package = resource.group.partition(".")[0] or "core"
        return f"converting ({package}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    return (
        f"no kind {quote(kind)} is registered for the internal version of group {quote(resource.group)} in scheme "
        '"pkg/runtime/scheme.go:111"'
    )


def _fault(resource: Resource, change: Patch, patched: Json, error: Exception) -> str:
    """Returns the reason why the patched object cannot be decoded, by the first fault in the order of the keys; an
    empty text if there is none for a strategic merge."""
    if change.apply_in_order is None:
        return conversion_fault(patched, resource.definition)
    if isinstance(error, OtherKind):
        return error.why
    try:
        claimed_kind(patched)
        resource.shape.normalize(patched)
    except ValueError as fault:
        return with_embedded_structs(str(fault), resource.api_version, resource.kind)
    return str(error)


def _check_place(context: Context, resource: Resource, tree: Object) -> None:
    """Raises BadRequest if a patch changes the name or the namespace."""
    info = context.info
    fill_namespace(tree["metadata"], info.namespace if resource.namespaced else "")
    if tree["metadata"].get("name") != info.name:
        refuse_name(tree["metadata"].get("name", ""), info.name)


def _invalid_patch(shown: str, why: str) -> Invalid:
    return Invalid.of(GroupKind("", ""), "", [invalid("patch", shown, why)])


async def _apply(context: Context, resource: Resource, options: WriteOptions) -> Written:
    """Server-side apply: merges the configuration into the object, or creates the object."""
    info = context.info
    config, repeated = await read_configuration(context, resource, options)
    body = context.request.body
    if b"[]" in body or b"{}" in body or b"selfLink" in body:
        # A copy, because the values of the configuration become part of the object, and are changed there.
        sent = copy(config)
        context.sent_object = lambda: sent

    def merged(live: Object | None) -> Object:
        manager = resource.field_managers.get(info.subresource)
        if manager is None:
            manager = resource.field_manager(info.subresource, context.services.clock)
        tree = manager.apply(live, config, options.field_manager, force=options.force)
        # As on kube-apiserver, a conflict hides the duplicate keys.
        report_duplicates(context, repeated, options)
        if resource.strategy.counts_empty_in:
            note_empty_lists(context, resource, tree)
        _put_integers(resource, tree)
        try:
            complete(resource, tree, context.services.clock)
        except BadRequest:
            unread = set_aside(tree) if resource.is_custom else None
            if unread is None:
                raise
            if live is not None and unread.fields:
                context.unread_metadata = unread.error
            complete(resource, tree, context.services.clock)
        return tree

    def applied(live: Object) -> Object:
        tree = merged(live)
        _check_place(context, resource, tree)
        return tree

    async def created() -> Written:
        tree = await context.offload(lambda: merged(None), resource=resource)
        metadata = tree["metadata"]
        if uid := metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise Conflict.of(resource.group_resource, info.name, why)
        _check_place(context, resource, tree)
        if (version := metadata.pop("resourceVersion", "")) and not version.isdigit():
            # kube-apiserver answers with an error of its own, as for updates.
            raise BadRequest(f"strconv.ParseUint: parsing {quote(version)}: invalid syntax")
        return await create_object(context, resource, tree, options, managed=True)

    return await update_object(
        context,
        resource,
        info.name,
        applied,
        options,
        subresource=info.subresource,
        managed=True,
        attempts=PATCH_ATTEMPTS,
        uid_is_precondition=False,
        create=created if not info.subresource or _creates_through_status(resource) else None,
    )


def _creates_through_status(resource: Resource) -> bool:
    strategy = resource.strategy
    return strategy.allows_create_on_status_update or strategy.creates_on_status_apply


def complete(resource: Resource, tree: Object, clock: Clock) -> None:
    """Applies the shape and the defaults of the kind to the result of an apply."""
    try:
        resource.shape.complete(tree)
    except ValueError as error:
        if resource.is_custom or conversion_fault(tree, resource.definition):
            raise BadRequest.not_decodable(resource.kind, resource.version, str(error)) from None
        # The conversion cut a number of too many bits.
        resource.shape.complete(tree)
    if resource.strategy.has_decoding_faults and (fault := resource.strategy.decoding_fault(tree)):
        raise BadRequest.not_decodable(resource.kind, resource.version, fault)
    resource.strategy.set_defaults(tree, clock)


def _plain_json(body: bytes) -> Object | None:
    """Returns the object of a JSON body without duplicate keys, the usual case; None for other bodies. YAML takes
    longer, and refuses malformed Unicode and escaped surrogate pairs."""
    if not body.startswith(b"{") or b"\\ud" in body or b"\\uD" in body:
        return None
    try:
        tree = codec.decode(body, repairs=False)
    except BadRequest:
        return None
    found: Object | None = tree if type(tree) is dict and not codec.duplicate_fields(body, tree) else None
    return found


async def read_configuration(context: Context, resource: Resource, options: WriteOptions) -> tuple[Object, list[str]]:
    """Returns the configuration of an apply, and its duplicate keys. Raises NotFound before an error about the
    configuration if the request is for a subresource of an object that does not exist: kube-apiserver decodes the
    configuration when the object is known to exist."""
    try:
        return await _read_configuration(context, options)
    except BadRequest as error:
        key = resource.storage.key(context.info.namespace, context.info.name)
        is_late = not error.message.startswith("error encoding patch")
        if context.info.subresource and is_late and await context.services.store.get(key) is None:
            raise NotFound.of(resource.group_resource, context.info.name) from None
        raise


async def _read_configuration(context: Context, options: WriteOptions) -> tuple[Object, list[str]]:
    body = context.request.body
    plain = _plain_json(body) if len(body) < LEAST else await context.in_thread(partial(_plain_json, body))
    if plain is not None:
        return plain, []
    return await context.offload(lambda: _read_yaml(context, options), len(body) * YAML_FACTOR)


def _read_yaml(context: Context, options: WriteOptions) -> tuple[Object, list[str]]:
    from setpoint.objects import yamltext  # most configurations are JSON: the import does not delay the start

    try:
        document = yamltext.load(context.request.body)
    except BadRequest as error:
        # A body that looks like JSON fails at a later stage than others, with another message.
        is_json = context.request.body.lstrip().startswith(b"{")
        where = "error decoding patch: error converting YAML to JSON" if is_json else "error encoding patch"
        raise BadRequest(f"{where}: {error.message}") from None
    tree = document.tree
    if tree is None:
        tree = {}
    if type(tree) is not dict:
        why = f"json: cannot unmarshal {json_type(tree)} into Go value of type map[string]interface {{}}"
        raise BadRequest(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {why}")
    return tree, [] if options.field_validation == IGNORE else list(document.duplicates)


def report_duplicates(context: Context, repeated: list[str], options: WriteOptions) -> None:
    """Warns of the duplicate keys of a configuration. Raises BadRequest if the client demanded strict validation."""
    if repeated and options.field_validation == STRICT:
        from setpoint.objects import yamltext

        text = yamltext.strict_error(tuple(repeated))
        raise BadRequest(f"error strict decoding patch: error converting YAML to JSON: {text}")
    for text in repeated:
        context.warn(text)
