"""The errors of telemetry."""


class MalformedTelemetry(ValueError):  # noqa: N818 - named like the errors of other decoders
    """Raised for a body that is no request of an OpenTelemetry exporter, with the place of the mistake."""


class TelemetryTooLarge(MalformedTelemetry):
    """Raised for a body with more bytes or values than a request may have."""
