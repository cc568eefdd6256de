"""The values of number and string literals. An invalid one raises `ValueError` with the message to report."""

import re

from setpoint.schema.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"
)


def integer(text: str) -> int:
    """Returns the value of an int literal, including a sign that the grammar attached."""
    if len(text) > 24:
        raise ValueError("invalid int literal")
    value = int(text, 16) if "x" in text else int(text)
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    digits = text[:-1]
    if len(digits) > 24:
        raise ValueError("invalid uint literal")
    value = int(digits, 16) if "x" in digits else int(digits)
    if value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(value)


def double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def string(token: str) -> str:
    body, raw = _body(token)
    return body if raw or "\\" not in body else _ESCAPE.sub(_unescape, body)


def _unescape(match: re.Match[str]) -> str:
    simple, byte, octal, short, long = match.groups()
    if simple:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def bytes_literal(token: str) -> bytes:
    body, raw = _body(token[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    last = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[last : match.start()].encode())
        parts.append(_unescape_byte(match))
        last = match.end()
    parts.append(body[last:].encode())
    return b"".join(parts)


def _unescape_byte(match: re.Match[str]) -> bytes:
    simple, byte, octal, short, long = match.groups()
    if short or long:
        raise ValueError("unable to unescape string")
    if simple:
        return _SIMPLE[simple].encode()
    return bytes([int(octal, 8) if octal else int(byte, 16)])


def _body(token: str) -> tuple[str, bool]:
    raw = token[0] in "rR"
    if raw:
        token = token[1:]
    width = 3 if len(token) >= 6 and token[:3] in ('"""', "'''") else 1
    body = token[width:-width]
    return body.replace("\r\n", "\n").replace("\r", "\n"), raw
