"""Repairs malformed Unicode in JSON as Go does.

Each byte that is not UTF-8, and each half of a surrogate pair, becomes the replacement character U+FFFD.
"""

import re

# A byte that is not UTF-8, as `surrogateescape` decodes it.
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
# An escape: a whole surrogate pair, half of a pair, or any other one, so that an escaped backslash begins no pair.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def repaired(data: bytes) -> bytes:
    """Returns a JSON text in which strings and keys have only characters that UTF-8 can hold."""
    try:
        data.decode()
    except UnicodeDecodeError:
        data = _ESCAPED_BYTE.sub("\ufffd", data.decode(errors="surrogateescape")).encode()
    if _SURROGATE.search(data):
        data = _ESCAPE.sub(lambda found: rb"\ufffd" if found.group(1) else found.group(), data)
    return data
