"""What all requests of a client have in common, and how it becomes parameters and headers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from setpoint.client.selecting import FieldsArgument, LabelsArgument
from setpoint.objects.provenance import CAUSE_HEADER, Cause


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
            found[f"impersonate-extra-{name}"] = tuple(values)
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

    def headers(self) -> dict[str, str | Sequence[str]]:
        """The headers that every request has."""
        found = self.impersonate.headers() if self.impersonate is not None else {}
        if self.cause is not None:
            found[CAUSE_HEADER] = self.cause.to_header()
        return found

    def write_query(
        self, *, dry_run: bool | None, field_manager: str, field_validation: str, force: bool = False
    ) -> list[tuple[str, str]]:
        """The parameters of a write."""
        found = []
        if self.dry_run if dry_run is None else dry_run:
            found.append(("dryRun", "All"))
        if manager := field_manager or self.field_manager:
            found.append(("fieldManager", manager))
        if validation := field_validation or self.field_validation:
            found.append(("fieldValidation", validation))
        if force:
            found.append(("force", "true"))
        return found


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
