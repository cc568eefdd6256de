"""JSON with sorted keys, in time that does not depend on the original order of the keys.

msgspec sorts keys itself, but in quadratic time for some orders: 70,000 keys took four seconds in one call into C,
which no other thread interrupts. Larger values are therefore sorted here first.
"""

from typing import Any

import msgspec

from setpoint.objects.tree import Json

# JSON of fewer bytes has too few keys for their order to matter: msgspec sorts them.
SMALL = 16 * 1024

_encode = msgspec.json.Encoder().encode
# Encodes a value of fewer than `SMALL` bytes of JSON, with sorted keys.
encode_small = msgspec.json.Encoder(order="sorted").encode


def encode_sorted(value: Any) -> bytes:
    """Encodes a value as JSON with the keys of every object sorted."""
    plain = _encode(value)
    return encode_small(value) if len(plain) < SMALL else _encode(in_order(value))


def in_order(value: Json) -> Json:
    """Returns the tree with the keys of every object sorted."""
    if type(value) is dict:
        return {name: in_order(item) if type(item := value[name]) in _CONTAINERS else item for name in sorted(value)}
    if type(value) is list:
        return [in_order(item) if type(item) in _CONTAINERS else item for item in value]
    return value


_CONTAINERS = (dict, list)
