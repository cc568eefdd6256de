"""The headers by which an extension API server recognizes the user of a forwarded request.

The extension server trusts these headers because of the client certificate of this server. Headers of the same names
that the client sent are never forwarded.
"""

from collections.abc import Iterator
from urllib.parse import quote

from setpoint.objects.errors import BadRequest
from setpoint.server.ports import User

PREFIX = "x-remote-"
USER, UID, GROUP, EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
# The characters of names of headers (RFC 7230), except the percent sign, which begins an escape.
_TOKEN = "!#$&'*+-.^_`|~"


def user_lines(user: User) -> str:
    """Returns the header lines about a user. Raises BadRequest for a user whose name is not possible in a header."""
    return "".join(f"{name}: {_checked(value)}\r\n" for name, value in _fields(user))


def _fields(user: User) -> Iterator[tuple[str, str]]:
    yield USER, user.name
    if user.uid:
        yield UID, user.uid
    for group in user.groups:
        yield GROUP, group
    for key, values in user.extra.items():
        name = EXTRA + quote(key, safe=_TOKEN)
        for value in values:
            yield name, value


def _checked(value: str) -> str:
    if any(character < " " or character == "\x7f" for character in value):
        raise BadRequest(f"the user {value!r} cannot be sent to an extension API server: control character in the name")
    return value
