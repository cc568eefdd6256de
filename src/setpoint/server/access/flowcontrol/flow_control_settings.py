"""The settings of overload protection."""

from typing import Annotated

from msgspec import Meta, Struct


class FlowControlSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The limits of concurrent requests, and the waiting time beyond these limits."""

    enabled: Annotated[
        bool,
        Meta(
            description="Enable API priority and fairness.",
            extra={"flag": "--enable-priority-and-fairness"},
        ),
    ] = True
    max_requests_inflight: Annotated[
        int,
        Meta(
            ge=1,
            description="The maximum number of concurrent read-only requests; further requests are queued.",
            extra={"flag": "--max-requests-inflight"},
        ),
    ] = 400
    max_mutating_requests_inflight: Annotated[
        int,
        Meta(
            ge=1,
            description="The maximum number of concurrent mutating requests; further requests are queued.",
            extra={"flag": "--max-mutating-requests-inflight"},
        ),
    ] = 200
    max_long_running: Annotated[
        int,
        Meta(
            ge=1, description="The maximum number of open watches and other streams. One user may have three quarters."
        ),
    ] = 10_000
    wait_seconds: Annotated[
        float,
        Meta(gt=0, description="The maximum time in seconds that a request waits in a queue before a 429 response."),
    ] = 15.0
    max_unsent_bytes_per_user: Annotated[
        int,
        Meta(
            ge=1,
            description="The maximum number of unsent response bytes of one user over all connections; further "
            "responses wait.",
        ),
    ] = 64 << 20
