"""Traces, metrics and logs of OpenTelemetry: decodes requests of exporters, stores the records, and selects them."""
