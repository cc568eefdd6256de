"""Protobuf request bodies, which client-go sends for every built-in kind, converted to JSON trees."""

from setpoint.server.codec.protobuf.envelope import decode as decode
