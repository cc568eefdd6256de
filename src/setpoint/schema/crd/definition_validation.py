"""Validates a definition: on create, on update, and on a change of its status.

The definition must have its defaults (see `defaults`). Errors have the order, the paths and the messages of the real
server. That server moves the parts that all versions share (schema, columns, subresources, selectable fields) to the
top of the spec before the validation, so the errors of a definition with one version have paths such as
`spec.validation.openAPIV3Schema...` and `spec.additionalPrinterColumns[0]...`; only parts that differ between versions
are reported under `spec.versions[i]`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from setpoint.objects import metavalidation, objectmeta
from setpoint.objects.field import OMITTED, FieldError, FieldErrorType, child, index, invalid, not_supported, required
from setpoint.objects.gotext import RawJson, byte_length, compact_json
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.objects.tree import Json, Object
from setpoint.schema import structural
from setpoint.schema.crd.approval import validate_approval
from setpoint.schema.crd.conversion import REVIEW_VERSIONS, ca_bundle_of, ca_bundle_problem, validate_conversion
from setpoint.schema.crd.definition import CustomResourceDefinition, Version
from setpoint.schema.crd.message_text import shown_schema, shown_versions
from setpoint.schema.crd.names import name_rule, required_names, validate_names
from setpoint.schema.crd.paths import (
    MAX_SELECTABLE_FIELDS,
    validate_columns,
    validate_selectable_fields,
    validate_subresources,
)
from setpoint.schema.crd.warnings import every_schema
from setpoint.schema.openapi import Schema


class SchemaValidator(Protocol):
    """Validates the schema of a version. `old` is the replaced schema, None for a new version."""

    def __call__(
        self, schema: Schema, path: str, *, old: Schema | None, status_subresource: bool
    ) -> list[FieldError]: ...


def validate_create(tree: Object, validator: SchemaValidator | None = None) -> list[FieldError]:
    """Returns all errors of a new definition."""
    crd = CustomResourceDefinition.parse(tree)
    errors = metavalidation.validate_create(_metadata(crd), namespaced=False, name_rule=name_rule(crd.spec))
    errors += _SpecValidation(crd, None, validator or validate_schema).run()
    return errors + _common(crd, None)


def validate_update(tree: Object, old: Object, validator: SchemaValidator | None = None) -> list[FieldError]:
    """Returns all errors of an updated definition. Unchanged values that were accepted before stay valid."""
    crd, before = CustomResourceDefinition.parse(tree), CustomResourceDefinition.parse(old)
    errors = _validate_metadata_update(crd, before)
    errors += _SpecValidation(crd, before, validator or validate_schema).run()
    spec, was = crd.spec, before.spec
    frozen = [("spec.group", spec.group, was.group), ("spec.names.plural", spec.names.plural, was.names.plural)]
    if before.is_true("Established"):
        frozen = [
            ("spec.scope", spec.scope, was.scope),
            ("spec.names.kind", spec.names.kind, was.names.kind),
            *frozen,
        ]
    errors += [invalid(path, now, "field is immutable") for path, now, earlier in frozen if now != earlier]
    return errors + _common(crd, before)


def validate_status_update(tree: Object, old: Object) -> list[FieldError]:
    """Returns all errors of an updated status. The stored versions are not checked: a migration may set them."""
    crd, before = CustomResourceDefinition.parse(tree), CustomResourceDefinition.parse(old)
    errors = _validate_metadata_update(crd, before)
    return errors + validate_names(crd.status.accepted_names, "status.acceptedNames")


def _validate_metadata_update(crd: CustomResourceDefinition, before: CustomResourceDefinition) -> list[FieldError]:
    new, old = _metadata(crd), _metadata(before)
    return metavalidation.validate_update(new, old) + metavalidation.validate_change_again(new, old)


def _metadata(crd: CustomResourceDefinition) -> Object:
    return objectmeta.coerce(crd.metadata, drop_malformed=True).metadata


def _common(crd: CustomResourceDefinition, old: CustomResourceDefinition | None) -> list[FieldError]:
    errors = validate_names(crd.status.accepted_names, "status.acceptedNames")
    errors += _validate_stored_versions(crd)
    errors += validate_approval(crd, old)
    if crd.spec.preserve_unknown_fields and not (old and old.spec.preserve_unknown_fields):
        remedy = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, f"cannot set to true, {remedy}"))
    return errors


def _validate_stored_versions(crd: CustomResourceDefinition) -> list[FieldError]:
    path, stored = "status.storedVersions", crd.status.stored_versions
    if not stored:
        return [invalid(path, stored or None, "must have at least one stored version")]
    errors = []
    ahead = set(stored)
    for version in crd.spec.versions:
        # The API takes each stored version once, so that a repeated version has none.
        if version.storage and version.name not in ahead:
            errors.append(invalid(path, stored, f"must have the storage version {version.name}"))
        ahead.discard(version.name)
    known = {version.name for version in crd.spec.versions}
    return errors + [
        invalid(
            index(path, position),
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions",
        )
        for position, name in enumerate(stored)
        if name not in known and name not in stored[position + 1 :]
    ]


class _SpecValidation:
    """The validation of one spec. `old` is the definition before an update, None on create."""

    def __init__(
        self, crd: CustomResourceDefinition, old: CustomResourceDefinition | None, validator: SchemaValidator
    ) -> None:
        self.spec = crd.spec
        self.old = old
        self.validator = validator
        # Parsed once, None for a version without a schema; errors of unreadable schemas are in `unreadable`.
        self.schemas: list[Schema | None] = []
        self.unreadable: dict[int, str] = {}
        versions = crd.spec.versions
        for position, version in enumerate(versions):
            schema, problem = _read(version.openapi_schema)
            self.schemas.append(schema)
            if problem:
                self.unreadable[position] = problem
        self.common_schema = _same(versions, lambda version: version.schema)
        self.common_subresources = _same(versions, lambda version: version.subresources)
        self.common_columns = _same(versions, lambda version: version.additional_printer_columns)
        self.common_fields = _same(versions, lambda version: version.selectable_fields)

    def run(self) -> list[FieldError]:
        spec = self.spec
        errors = self._group_and_scope()
        needed = self.old is None or all(version.openapi_schema is not None for version in self.old.spec.versions)
        if needed or not spec.preserve_unknown_fields:
            why = "" if needed else "because otherwise all fields are pruned"
            for position, schema in enumerate(self.schemas):
                if schema is None and (needed or spec.versions[position].served):
                    here = index("spec.versions", position)
                    errors.append(required(child(here, "schema.openAPIV3Schema"), why))
        if spec.preserve_unknown_fields and any(map(_has_default, self.schemas)):
            why = "must be false in order to use defaults in the schema"
            errors.append(invalid("spec.preserveUnknownFields", True, why))
        errors += self._versions()
        errors += required_names(spec.names, "spec.names")
        errors += validate_names(spec.names, "spec.names")
        errors += self._common_parts()
        if spec.conversion and spec.conversion.strategy != "None" and spec.preserve_unknown_fields:
            why = "must be None if spec.preserveUnknownFields is true"
            errors.append(invalid("spec.conversion.strategy", spec.conversion.strategy, why))
        return errors + validate_conversion(
            spec.conversion,
            "spec.conversion",
            any_review_version=not _understands_reviews(self.old),
            any_ca_bundle=_may_keep_bad_ca_bundle(self.old),
        )

    def _group_and_scope(self) -> list[FieldError]:
        group, scope = self.spec.group, self.spec.scope
        errors: list[FieldError] = []
        if not group:
            errors.append(required("spec.group"))
        elif problems := dns1123_subdomain(group):
            errors.append(invalid("spec.group", group, ",".join(problems)))
        elif "." not in group:
            errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
        if not scope:
            errors.append(required("spec.scope"))
        elif scope not in ("Cluster", "Namespaced"):
            errors.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
        return errors

    def _versions(self) -> list[FieldError]:
        versions = self.spec.versions
        errors: list[FieldError] = []
        for position, version in enumerate(versions):
            here = index("spec.versions", position)
            if problems := dns1035_label(version.name):
                errors.append(invalid(child(here, "name"), version.name, ",".join(problems)))
            errors += self._version(version, position, here)
        names = [version.name for version in versions]
        if len(set(names)) < len(names):
            errors.append(invalid("spec.versions", self._shown(), "must contain unique version names"))
        if sum(version.storage for version in versions) != 1:
            why = "must have exactly one version marked as storage version"
            errors.append(invalid("spec.versions", self._shown(), why))
        # The server keeps the first version's name in a separate field, from an older form of the API.
        if names and names[0] and (problems := dns1035_label(names[0])):
            errors.append(invalid("spec.version", names[0], ",".join(problems)))
        return errors

    def _version(self, version: Version, position: int, path: str) -> list[FieldError]:
        # Formatted as JSON, not as a Go string: the server holds a pointer here.
        warning = RawJson(compact_json(version.deprecation_warning))
        errors = [
            invalid(child(path, "deprecationWarning"), warning, problem) for problem in _deprecation_problems(version)
        ]
        schema = self.schemas[position]
        if not self.common_schema and schema is not None:
            subresources = version.subresources
            has_status = subresources is not None and subresources.status is not None
            errors += self._schema(schema, position, child(path, "schema.openAPIV3Schema"), has_status)
        if not self.common_subresources:
            errors += validate_subresources(version.subresources, child(path, "subresources"))
        if not self.common_columns:
            here = child(path, "additionalPrinterColumns")
            errors += validate_columns(version.additional_printer_columns, here)
        if not self.common_fields and version.selectable_fields:
            here = child(path, "selectableFields")
            if self.common_schema or schema is None:
                # The message of the real server, which means the opposite; also reported for versions with one common
                # schema.
                why = "may only be set when `version.schema.openAPIV3Schema` is not included"
                errors.append(invalid(here, "", why))
            else:
                errors += self._selectable_fields(version, schema, here)
        return errors

    def _common_parts(self) -> list[FieldError]:
        if not self.spec.versions:
            return []
        first, schema = self.spec.versions[0], self.schemas[0]
        errors: list[FieldError] = []
        if self.common_schema and schema is not None:
            every = (version.subresources for version in self.spec.versions)
            has_status = any(found is not None and found.status is not None for found in every)
            errors += self._schema(schema, 0, "spec.validation.openAPIV3Schema", has_status)
        if self.common_subresources:
            errors += validate_subresources(first.subresources, "spec.subresources")
        if self.common_columns:
            errors += validate_columns(first.additional_printer_columns, "spec.additionalPrinterColumns")
        if self.common_fields and first.selectable_fields:
            if self.common_schema and schema is not None:
                errors += self._selectable_fields(first, schema, "spec.selectableFields")
            else:
                why = "may only be set when validations.schema is included"
                errors.append(invalid("spec.selectableFields", "", why))
        return errors

    def _selectable_fields(self, version: Version, schema: Schema, path: str) -> list[FieldError]:
        before = self.old.version(version.name) if self.old else None
        same = before is not None and before.selectable_fields == version.selectable_fields
        kept = same and len(version.selectable_fields) > MAX_SELECTABLE_FIELDS
        return validate_selectable_fields(version.selectable_fields, schema, path, any_number=kept)

    def _schema(self, schema: Schema, position: int, path: str, has_status: bool) -> list[FieldError]:
        if position in self.unreadable:
            return [invalid(path, "", self.unreadable[position])]
        before = self.old.version(self.spec.versions[position].name) if self.old else None
        old = _read(before.openapi_schema)[0] if before else None
        errors = self.validator(schema, path, old=old, status_subresource=has_status)
        # An error about the schema as a whole shows the whole schema, as in the server's own types.
        return [
            error._replace(value=shown_schema(schema)) if _concerns_object(error, path) else error for error in errors
        ]

    def _shown(self) -> RawJson | None:
        return shown_versions(
            self.spec.versions,
            None if self.common_schema else self.schemas,
            subresources=not self.common_subresources,
            columns=not self.common_columns,
            fields=not self.common_fields,
        )


def validate_schema(schema: Schema, path: str, *, old: Schema | None, status_subresource: bool) -> list[FieldError]:
    """Returns the errors of a schema, including its CEL rules."""
    return structural.validate_schema(schema, path, old=old, status_subresource=status_subresource)


def _concerns_object(error: FieldError, path: str) -> bool:
    return error.field == path and error.type is FieldErrorType.INVALID and error.value is OMITTED


def _read(tree: Json) -> tuple[Schema | None, str]:
    """Parses the schema of a tree; returns the schema and the parse error, if any."""
    if tree is None:
        return None, ""
    try:
        return Schema.parse(tree), ""
    except msgspec.ValidationError as error:
        return Schema(), str(error)


def _has_default(schema: Schema | None) -> bool:
    return schema is not None and any(here.default not in (None, msgspec.UNSET) for here in every_schema(schema))


def _deprecation_problems(version: Version) -> list[str]:
    text = version.deprecation_warning
    if text is None:
        return []
    if not version.deprecated:
        return ["can only be set for deprecated versions"]
    problems: list[str] = []
    if byte_length(text) > 256:
        problems.append("must be <= 256 characters long")
    if not text:
        problems.append("must not be an empty string")
    if (bad := next((position for position, char in enumerate(text) if not char.isprintable()), None)) is not None:
        where = byte_length(text[:bad])
        what = "must only contain printable UTF-8 characters; non-printable character found at index"
        problems.append(f"{what} {where}")
    return problems


def _understands_reviews(old: CustomResourceDefinition | None) -> bool:
    conversion = old.spec.conversion if old else None
    versions = conversion.webhook.conversion_review_versions if conversion and conversion.webhook else []
    return not versions or bool(set(versions) & set(REVIEW_VERSIONS))


def _may_keep_bad_ca_bundle(old: CustomResourceDefinition | None) -> bool:
    """Returns True if an invalid CA bundle is allowed: before the definition is Established, or if the old bundle was
    invalid too."""
    if old is None or not old.is_true("Established"):
        return True
    bundle = ca_bundle_of(old.spec.conversion)
    return bool(bundle) and ca_bundle_problem(bundle) is not None


def _same(versions: Sequence[Version], part: Callable[[Version], Any]) -> bool:
    """Returns True if all versions share this part."""
    first, *others = map(part, versions) if versions else (None,)
    try:
        # Equal values are also compared as text, because Python considers 1 and True equal.
        if any(other != first for other in others):
            return False
        return not others or len({compact_json(msgspec.to_builtins(each)) for each in (first, *others)}) == 1
    except RecursionError:
        # Only a schema can be that deep, and such a schema is rejected as unreadable.
        return False
