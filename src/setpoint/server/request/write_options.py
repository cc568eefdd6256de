"""The options of a write, from the query: field manager, dry run, and field validation."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs

from setpoint.merge.managedfields import manager_name
from setpoint.objects.errors import Invalid
from setpoint.objects.field import FieldError, forbidden, not_supported, required
from setpoint.objects.gvk import GroupKind
from setpoint.objects.metavalidation import validate_field_manager
from setpoint.objects.tree import Object
from setpoint.server.request.context import Context

IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"
_VALIDATIONS = ("", IGNORE, STRICT, WARN)
# Longer queries are not cached, so that the cache stays small.
_REMEMBERED = 512


class WriteOptions(NamedTuple):
    """The options of a create, update or patch."""

    field_manager: str
    dry_run: bool = False
    field_validation: str = WARN
    force: bool = False
    # The field manager and the validation as the client sent them; empty if not sent.
    sent_manager: str = ""
    sent_validation: str = ""


@lru_cache(maxsize=256)
def options_object(options: WriteOptions, kind: str) -> Object:
    """Returns the options as admission receives them: CreateOptions or UpdateOptions. A patch has the options of the
    operation that results. The result is shared: callers must not change it."""
    found: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        found["dryRun"] = ["All"]
    if options.sent_manager:
        found["fieldManager"] = options.sent_manager
    if options.sent_validation:
        found["fieldValidation"] = options.sent_validation
    return found


def write_options(context: Context, kind: str, *, apply: bool = False) -> WriteOptions:
    """Parses the options of a write; `kind` is their name in errors. Raises Invalid."""
    query, agent = context.request.query, context.request.headers.get("user-agent", "")
    read = _read if len(query) + len(agent) <= _REMEMBERED else _read.__wrapped__
    return read(query, agent, kind, apply)


@lru_cache(maxsize=256)
def _read(text: str, agent: str, kind: str, apply: bool) -> WriteOptions:
    """Parses the query of a write. The result is cached, as a client mostly sends the same options with all its
    writes."""
    query = parse_qs(text, keep_blank_values=True)
    manager, validation, forced = (query.get(name, ("",))[0] for name in ("fieldManager", "fieldValidation", "force"))
    dry_run, force = query.get("dryRun", ()), "force" in query
    errors: list[FieldError] = []
    if apply and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if kind == "PatchOptions" and force and not apply:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    errors += validate_field_manager(manager, "fieldManager")
    if dry_run:
        errors += validate_dry_run(dry_run)
    if validation not in _VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise Invalid.of(GroupKind("meta.k8s.io", kind), "", errors)
    return WriteOptions(
        # Without a field manager, the part of the user agent before the version is used.
        manager_name(manager, agent) or "unknown",
        bool(dry_run),
        validation or WARN,
        force and truth(forced),
        manager,
        validation,
    )


def validate_dry_run(values: Sequence[str]) -> list[FieldError]:
    """Returns the errors of `dryRun`, which can only be `All`."""
    if any(value != "All" for value in values):
        return [not_supported("dryRun", list(values), ["All"])]
    return []


def truth(text: str) -> bool:
    """Returns the value of a flag in the query: true unless `false` or `0`."""
    return text not in ("false", "0")


def is_requested(context: Context, parameter: str) -> bool:
    """Returns True if a parameter of the request is true."""
    return parameter in context.query and truth(context.query[parameter][-1])
