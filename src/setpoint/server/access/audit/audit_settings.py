"""The settings of the audit log: destination, policy and retention."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class Audit(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The audit log: policy, file and retention. Without a path there is no audit log."""

    policy_file: Annotated[
        str,
        Meta(
            description="The audit policy file (audit.k8s.io/v1). By default the metadata of every request is recorded."
        ),
    ] = ""
    log_path: Annotated[
        str,
        Meta(description="The file that audit events are appended to, one line of JSON each; `-` is standard output."),
    ] = ""
    log_max_size: Annotated[
        int,
        Meta(
            ge=0,
            description="The size in megabytes at which the log file is rotated; 0: never.",
            extra={"flag": "--audit-log-maxsize"},
        ),
    ] = 100
    log_max_age: Annotated[
        int,
        Meta(
            ge=0,
            description="The number of days to keep rotated files; 0: forever.",
            extra={"flag": "--audit-log-maxage"},
        ),
    ] = 0
    log_max_backup: Annotated[
        int,
        Meta(ge=0, description="The number of rotated files to keep; 0: all.", extra={"flag": "--audit-log-maxbackup"}),
    ] = 0
    log_compress: Annotated[bool, Meta(description="Compress rotated files with gzip.")] = False
    log_mode: Annotated[
        Literal["batch", "blocking", "blocking-strict"],
        Meta(
            description="batch: write events in the background and drop them if the buffer is full. blocking: requests "
            "wait until the event is written. blocking-strict: refuse requests that cannot be recorded."
        ),
    ] = "batch"
    log_batch_buffer_size: Annotated[
        int, Meta(ge=1, description="The number of buffered events in batch mode; further events are dropped.")
    ] = 10_000
