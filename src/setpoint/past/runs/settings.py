"""The settings of earlier runs."""

from typing import Annotated, Final

from msgspec import Meta, Struct

# The maximum number of pinned runs.
MOST_PINNED: Final = 20


class RunSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The earlier runs of an app that a session keeps."""

    enabled: bool = True
    # The number of the newest runs to keep; pinned runs are kept as well.
    keep: Annotated[int, Meta(ge=0, le=100)] = 5
    # The maximum bytes of the objects of one run; larger ones are not kept.
    max_bytes: Annotated[int, Meta(ge=1024, le=64 << 20)] = 4 << 20
