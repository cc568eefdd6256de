"""Tests of the endpoints of telemetry: the receiver, and the queries of the API."""
