"""Protobuf request bodies: what client-go sends for every built-in kind, turned into JSON trees."""

from setpoint.server.codec.protobuf.envelope import decode as decode
