"""The command `setpoint telemetry`: traces that services export with OpenTelemetry."""
