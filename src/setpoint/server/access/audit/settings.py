"""The settings of the audit log: destination, policy and retention."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class Audit(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The audit log: policy, file and retention. Without a path there is no audit log."""

    policy_file: Annotated[
        str, Meta(description="The policy (audit.k8s.io/v1). Without one, every request is recorded with its metadata.")
    ] = ""
    log_path: Annotated[
        str, Meta(description="The file that events are appended to, a line of JSON each; `-` is the standard output.")
    ] = ""
    log_max_size: Annotated[
        int,
        Meta(
            ge=0,
            description="Megabytes after which a new file is begun; 0: never.",
            extra={"flag": "--audit-log-maxsize"},
        ),
    ] = 100
    log_max_age: Annotated[
        int, Meta(ge=0, description="Days that old files are kept; 0: for ever.", extra={"flag": "--audit-log-maxage"})
    ] = 0
    log_max_backup: Annotated[
        int, Meta(ge=0, description="Old files that are kept; 0: all of them.", extra={"flag": "--audit-log-maxbackup"})
    ] = 0
    log_compress: Annotated[bool, Meta(description="Whether old files are compressed with gzip.")] = False
    log_mode: Annotated[
        Literal["batch", "blocking", "blocking-strict"],
        Meta(
            description="batch: written a little later, and lost if the disk cannot follow. blocking: requests wait "
            "until it is written. blocking-strict: a request that cannot be recorded is refused."
        ),
    ] = "batch"
    log_batch_buffer_size: Annotated[
        int, Meta(ge=1, description="Events that may wait to be written in batch mode; further ones are lost.")
    ] = 10_000
