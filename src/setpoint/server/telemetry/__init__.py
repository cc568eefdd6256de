"""The endpoints of telemetry: the receiver of OpenTelemetry data, and the queries of the API."""
