"""The settings of overload protection."""

from typing import Annotated

from msgspec import Meta, Struct


class Overload(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The limits of concurrent requests, and the waiting time beyond these limits."""

    enabled: Annotated[
        bool,
        Meta(
            description="Whether requests are shared out among users at all.",
            extra={"flag": "--enable-priority-and-fairness"},
        ),
    ] = True
    max_requests_inflight: Annotated[
        int,
        Meta(
            ge=1,
            description="Requests that only read and are served at once; further ones wait their turn.",
            extra={"flag": "--max-requests-inflight"},
        ),
    ] = 400
    max_mutating_requests_inflight: Annotated[
        int,
        Meta(
            ge=1,
            description="Requests that write and are served at once; further ones wait their turn.",
            extra={"flag": "--max-mutating-requests-inflight"},
        ),
    ] = 200
    max_long_running: Annotated[
        int, Meta(ge=1, description="Watches and other streams that are open at once. One user has three quarters.")
    ] = 10_000
    wait_seconds: Annotated[
        float, Meta(gt=0, description="How long a request waits for its turn before it is told to come back later.")
    ] = 15.0
    max_unsent_bytes_per_user: Annotated[
        int,
        Meta(
            ge=1,
            description="Bytes of answers that may wait for one user to read them, over all its connections; further "
            "answers to it wait.",
        ),
    ] = 64 << 20
