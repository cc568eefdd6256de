"""What all requests of a client have in common, and how it becomes parameters and headers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict
from urllib.parse import quote

from setpoint.client.selectors import FieldsArgument, LabelsArgument
from setpoint.objects.provenance import CAUSE_HEADER, Cause

# What may stand in the name of a header, beside letters and digits.
_TOKEN = "!#$&'*+-.^_`|~"


class Impersonation(NamedTuple):
    """As whom to ask."""

    user: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}

    def headers(self) -> dict[str, str | Sequence[str]]:
        found: dict[str, str | Sequence[str]] = {"impersonate-user": self.user}
        if self.groups:
            found["impersonate-group"] = tuple(self.groups)
        if self.uid:
            found["impersonate-uid"] = self.uid
        for name, values in self.extra.items():
            found[f"impersonate-extra-{quote(name.lower(), safe=_TOKEN)}"] = tuple(values)
        return found


class Options(NamedTuple):
    """The defaults of a client; what a call says itself counts before them."""

    # The namespace of calls that name none, for kinds that live in one.
    namespace: str = ""
    field_manager: str = ""
    field_validation: str = ""
    dry_run: bool = False
    impersonate: Impersonation | None = None
    cause: Cause | None = None
    # Seconds for the whole answer of a request, and for the beginning of a stream; None: as long as it takes.
    timeout: float | None = None
    # What it calls itself; by default this library.
    user_agent: str = ""

    def headers(self) -> dict[str, str | Sequence[str]]:
        """The headers that every request has."""
        found = self.impersonate.headers() if self.impersonate is not None else {}
        if self.cause is not None:
            found[CAUSE_HEADER] = self.cause.to_header()
        if self.user_agent:
            found["user-agent"] = self.user_agent
        return found

    def write_query(self, how: "WriteOptions") -> list[tuple[str, str]]:
        """The parameters of a write."""
        found = []
        dry_run = how.get("dry_run")
        if self.dry_run if dry_run is None else dry_run:
            found.append(("dryRun", "All"))
        if manager := how.get("field_manager") or self.field_manager:
            found.append(("fieldManager", manager))
        if validation := how.get("field_validation") or self.field_validation:
            found.append(("fieldValidation", validation))
        return found


class WriteOptions(TypedDict, total=False):
    """How to write; what is not said here is as the client's options say."""

    # The server does everything but keep it.
    dry_run: bool | None
    field_manager: str
    # Of fields that the kind does not have: Ignore, Warn or Strict.
    field_validation: str


class ListOptions(TypedDict, total=False):
    """How to list."""

    labels: LabelsArgument
    fields: FieldsArgument
    # At most so many, as one page; without it all pages are read.
    limit: int
    continue_: str
    resource_version: str
    resource_version_match: str
    # The past, which our own server keeps.
    at: int | None


class WatchOptions(TypedDict, total=False):
    """How to watch."""

    labels: LabelsArgument
    fields: FieldsArgument
    resource_version: str
    bookmarks: bool
    # Begins with what is there, up to a bookmark that says so.
    initial_events: bool
    # After how many seconds the server ends the watch by itself.
    timeout: float | None
    # How many seconds of silence mean that nobody is there any more: the watch ends with an error. Unless told
    # otherwise, half a minute more than `timeout`; without a timeout there is no such bound.
    stall: float | None
