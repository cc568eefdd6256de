"""The options of requests, and their query parameters and headers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict
from urllib.parse import quote

from setpoint.client.selectors import FieldsArgument, LabelsArgument
from setpoint.objects.provenance import Cause

# The characters allowed in a header name besides letters and digits.
_TOKEN = "!#$&'*+-.^_`|~"


class Impersonation(NamedTuple):
    """The user to impersonate."""

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
    """The default options of a client. The arguments of a call override them."""

    # The namespace of calls without a namespace, for namespaced kinds.
    namespace: str = ""
    # The field manager of writes; the server derives one from the User-Agent if empty.
    field_manager: str = ""
    # The treatment of unknown fields: Ignore, Warn or Strict; empty: as the server decides.
    field_validation: str = ""
    # True makes the server process writes without storing the results.
    dry_run: bool = False
    # The user to impersonate.
    impersonate: Impersonation | None = None
    # The cause that writes carry.
    cause: Cause | None = None
    # The seconds for the whole answer of a request, or for the head of a stream. None means no limit.
    timeout: float | None = None
    # The User-Agent; by default the name of this library.
    user_agent: str = ""


class WriteOptions(TypedDict, total=False):
    """The options of a write. Missing options default to those of the client."""

    # The server processes the request without storing the result.
    dry_run: bool | None
    # The field manager of the write.
    field_manager: str
    # The treatment of unknown fields: Ignore, Warn or Strict.
    field_validation: str


class ListOptions(TypedDict, total=False):
    """The options of a list."""

    # A label selector: a text such as `app=web`, or a mapping.
    labels: LabelsArgument
    # A field selector: a text, or a mapping.
    fields: FieldsArgument
    # The maximum number of objects, as one page. Without a limit all pages are read.
    limit: int
    # The continue token of the previous page.
    continue_: str
    # The resource version of the read.
    resource_version: str
    # The meaning of the resource version: Exact or NotOlderThan.
    resource_version_match: str
    # A past revision to read, supported by Setpoint's own server only.
    at: int | None


class WatchOptions(TypedDict, total=False):
    """The options of a watch."""

    # A label selector: a text such as `app=web`, or a mapping.
    labels: LabelsArgument
    # A field selector: a text, or a mapping.
    fields: FieldsArgument
    # The resource version after which the watch begins.
    resource_version: str
    # True to receive bookmarks.
    bookmarks: bool
    # Begins with the existing objects, followed by a bookmark that marks their end.
    initial_events: bool
    # The seconds after which the server ends the watch.
    timeout: float | None
    # The seconds without any data after which the watch ends with an error. The default is 30 seconds more than
    # `timeout`; without a timeout there is no limit.
    stall: float | None
