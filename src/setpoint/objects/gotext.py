"""Values in the textual forms of the real server, which is written in Go: quoted strings and compact JSON.

Error messages of the API are read by people and by tests; these functions give them letter for letter.
"""

import msgspec

from setpoint.objects.tree import Json

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}

# Go's encoder writes keys in order, and these five characters as escapes, so that JSON is safe inside HTML.
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_sorted = msgspec.json.Encoder(order="sorted")


def quote(text: str) -> str:
    """The text as a Go string literal in double quotes (`%q`)."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def compact_json(value: Json) -> str:
    """Compact JSON with sorted keys, escaped as Go's `encoding/json` does."""
    return _sorted.encode(value).decode().translate(_HTML)


def bad_value(value: Json) -> str:
    """A value as a field error shows it: strings quoted, numbers and booleans bare, everything else JSON."""
    if type(value) is str:
        return quote(value)
    if value is None:
        return "null"
    return compact_json(value)
