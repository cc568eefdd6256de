"""Tests of telemetry: decoding, storing and selecting traces, metrics and logs."""
