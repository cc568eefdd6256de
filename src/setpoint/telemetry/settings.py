"""The settings of telemetry."""

from typing import Annotated

from msgspec import Meta, Struct


class TelemetrySettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Traces, metrics and logs of the services of an app. Each bound applies to spans, log records and metric points
    separately; beyond the bound, the oldest records are removed."""

    enabled: Annotated[
        bool,
        Meta(
            description="With workloads: receive OpenTelemetry data, and set the variables of exporters for workloads."
        ),
    ] = False
    retention_seconds: Annotated[float, Meta(gt=0, description="Maximum age of a record in seconds.")] = 86_400.0
    max_bytes: Annotated[int, Meta(ge=1024, description="Maximum bytes of all records of one kind.")] = 24 << 20
    max_records: Annotated[int, Meta(ge=1, description="Maximum number of records of one kind.")] = 60_000
    max_service_bytes: Annotated[int, Meta(ge=1024, description="Maximum bytes of one service.")] = 12 << 20
    max_service_records: Annotated[int, Meta(ge=1, description="Maximum number of records of one service.")] = 30_000
    max_services: Annotated[
        int, Meta(ge=1, description="Maximum number of services; records of others are rejected.")
    ] = 200
    max_series: Annotated[
        int, Meta(ge=1, description="Maximum number of series of metrics; points of other series are rejected.")
    ] = 4_000
