"""Protobuf bodies of requests and responses of the built-in kinds, converted to and from JSON."""

from setpoint.server.codec.protobuf.envelope import decode as decode
