"""The options of a list or watch, from the query: selectors, resource version, limit."""

from typing import NamedTuple

from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import FieldError, forbidden, invalid, not_supported
from setpoint.objects.gotext import parse_int, parse_uint
from setpoint.objects.gvk import GroupKind
from setpoint.server.request.context import Context

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"
_KIND = GroupKind("meta.k8s.io", "ListOptions")
# Reading a byte of a selector takes about as long as reading this many bytes of JSON.
_QUERY_FACTOR = 16
_MATCH = "resourceVersionMatch"


class ListOptions(NamedTuple):
    """The parsed options of a list or watch."""

    label_selector: labels.Selector = labels.EVERYTHING
    field_selector: fields.Selector = fields.EVERYTHING
    limit: int = 0  # 0: no limit
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""  # the resourceVersionMatch
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    timeout_seconds: int = 0  # 0: the server decides
    at: int | None = None  # an extension of Setpoint: read the state at this revision

    @property
    def revision(self) -> int:
        """The resourceVersion as a number; 0 if not set. Raises BadRequest."""
        return parse_revision(self.resource_version)


_NOTHING_SAID = ListOptions()


async def list_options(context: Context, *, watch: bool = False) -> ListOptions:
    """Parses and validates the options of a request. Raises BadRequest or Invalid."""
    size = len(context.request.query) * _QUERY_FACTOR
    return await context.offload(lambda: _list_options(context, watch=watch), size)


def _list_options(context: Context, *, watch: bool) -> ListOptions:
    if not context.request.query:
        options = _NOTHING_SAID
    else:
        read = context.parameter
        # As on kube-apiserver, numbers are parsed before selectors: this determines which error is reported.
        timeout_seconds, limit = parse_number(read("timeoutSeconds")), parse_number(read("limit"))
        options = ListOptions(
            label_selector=labels.parse(read("labelSelector")),
            field_selector=fields.parse(read("fieldSelector")),
            limit=max(0, limit),
            continue_token=read("continue"),
            resource_version=read("resourceVersion"),
            match=read(_MATCH),
            send_initial_events=_flag(context, "sendInitialEvents"),
            allow_bookmarks=bool(_flag(context, "allowWatchBookmarks")),
            timeout_seconds=max(0, timeout_seconds),
            at=at_revision(context),
        )
    if watch and options.send_initial_events is None and not options.match and options.resource_version in ("", "0"):
        # A watch without a resource version begins with the existing objects.
        return options._replace(send_initial_events=True, match=NOT_OLDER_THAN)
    errors = _watch_errors(options) if watch else _list_errors(options)
    if errors:
        raise Invalid.of(_KIND, "", errors)
    return options


def at_revision(context: Context) -> int | None:
    """Returns the past revision that the parameter `at` requests, or None if the request has no `at`. Raises
    BadRequest."""
    if "at" not in context.query:
        return None
    text = context.parameter("at")
    try:
        return parse_uint(text)
    except ValueError as error:
        raise BadRequest(f"invalid revision: {invalid('at', text, str(error))}") from None


def parse_revision(text: str) -> int:
    """Returns a resourceVersion as a number; 0 if empty. Raises BadRequest."""
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        raise BadRequest(f"invalid resource version: {invalid('resourceVersion', text, str(error))}") from None


def parse_number(text: str) -> int:
    """Returns an option as a number; 0 if empty. Raises BadRequest."""
    if not text:
        return 0
    try:
        return parse_int(text)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _flag(context: Context, name: str) -> bool | None:
    """Returns the value of a flag: None if absent, False for `false` and `0`, True for all other values."""
    if name not in context.query:
        return None
    return context.parameter(name).lower() not in ("false", "0")


def _list_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    if match := options.match:
        if not options.resource_version:
            found.append(forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            found.append(forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            found.append(not_supported(_MATCH, match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and options.resource_version == "0":
            found.append(forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        found.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return found


def _watch_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match = options.match
    if options.send_initial_events is not None and match != NOT_OLDER_THAN:
        found.append(forbidden(_MATCH, f"sendInitialEvents requires setting {_MATCH} to {NOT_OLDER_THAN}"))
    if match:
        if options.send_initial_events is None:
            found.append(forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"))
        if match != NOT_OLDER_THAN:
            found.append(not_supported(_MATCH, match, (NOT_OLDER_THAN,)))
        if options.continue_token:
            found.append(forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    return found
