"""The settings of the samples of CPU and memory."""

from typing import Annotated

from msgspec import Meta, Struct


class UsageSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The samples of the CPU and memory of workloads, which are kept in memory."""

    enabled: Annotated[bool, Meta(description="Take samples when a client requests those of a workload.")] = True
    retention_seconds: Annotated[float, Meta(gt=0, description="Maximum age of a sample in seconds.")] = 3600.0
    max_samples: Annotated[
        int, Meta(ge=1, le=100_000, description="Maximum number of samples of one workload; the oldest are removed.")
    ] = 720
    max_workloads: Annotated[int, Meta(ge=1, le=100_000, description="Maximum number of workloads with samples.")] = 256
