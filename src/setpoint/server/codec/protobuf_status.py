"""A Status in protobuf, for the only response that must be protobuf: an error for a client that accepts no other
type."""

from setpoint.objects.tree import Object

_MAGIC = b"k8s\x00"


def encode_status(status: Object) -> bytes:
    """Returns the bytes of a Status, in the envelope with its type."""
    details = status.get("details")
    message = _message(1, _text(2, status["metadata"].get("resourceVersion")) + _text(3, _continue(status)))
    for number, name in ((2, "status"), (3, "message"), (4, "reason")):
        message += _text(number, status.get(name))
    if details is not None:
        message += _message(5, _details(details))
    message += _number(6, status.get("code", 0))
    kind = _text(1, status["apiVersion"]) + _text(2, status["kind"])
    return _MAGIC + _message(1, kind) + _message(2, message) + _message(3, b"") + _message(4, b"")


def _continue(status: Object) -> str:
    return str(status["metadata"].get("continue", ""))


def _details(details: Object) -> bytes:
    found = b"".join(_text(number, details.get(name)) for number, name in ((1, "name"), (2, "group"), (3, "kind")))
    for cause in details.get("causes", ()):
        fields = ((1, "reason"), (2, "message"), (3, "field"))
        found += _message(4, b"".join(_text(number, cause.get(name)) for number, name in fields))
    return found + _number(5, details.get("retryAfterSeconds", 0)) + _text(6, details.get("uid"))


def _text(number: int, value: str | None) -> bytes:
    return _message(number, (value or "").encode())


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
