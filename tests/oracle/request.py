"""A request for both servers. Values that each server chooses, such as uids, are tokens, which `encoded` replaces."""

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from tests.oracle.canonical import Names
from tests.oracle.users import TOKENS

_TOKEN = re.compile(r'"<port:(\d+)>"|<(uid|rv|ip|name|continue|access):(\d+)>|<(?:micro)?time>')
# The episode of a request that is part of none.
NO_EPISODE = "none"


@dataclass(frozen=True)
class Request:
    """`{ep}` in path, query and body is the name of the episode. `body`: a tree, sent as JSON, or bytes, or none."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None
    user: str = "admin"
    # The cell of the table of coverage.
    kind: str = ""
    verb: str = ""
    patch: str = ""
    subresource: str = ""

    @property
    def reads(self) -> bool:
        return self.method in ("GET", "HEAD")

    def encoded(self, names: Names, episode: str) -> bytes:
        """The bytes for one server."""
        path = quote(_filled(self.path, names, episode), safe="/:%?=&,")
        if self.query:
            pairs = [(key, _filled(value, names, episode)) for key, value in self.query]
            path += ("&" if "?" in path else "?") + urlencode(pairs, quote_via=quote)
        if self.body is None:
            body = b""
        elif isinstance(self.body, bytes):
            body = _filled(self.body.decode("latin-1"), names, episode).encode("latin-1")
        else:
            body = _filled(msgspec.json.encode(self.body).decode(), names, episode).encode()
        lines = [f"{self.method} {path} HTTP/1.1", "Host: 127.0.0.1", "User-Agent: oracle/1.0"]
        if token := TOKENS[self.user]:
            lines.append(f"Authorization: Bearer {token}")
        lines += [f"{key}: {value}" for key, value in self.headers]
        if body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body

    def without_body(self) -> "Request":
        return replace(self, body=None)

    def told(self) -> str:
        """The request in a few lines, for a report."""
        query = f"?{urlencode(self.query, quote_via=quote)}" if self.query else ""
        headers = "".join(f" [{key}: {value}]" for key, value in self.headers)
        body = self.body if isinstance(self.body, bytes) or self.body is None else msgspec.json.encode(self.body)
        user = "" if self.user == "admin" else f" as {self.user}"
        return f"{self.method} {self.path}{query}{user}{headers}" + (f" {body.decode('latin-1')}" if body else "")


def _filled(text: str, names: Names, episode: str) -> str:
    if "{ep}" in text:
        text = text.replace("{ep}", episode)
    if "{ip}" in text or "{cidr}" in text:
        high, low = divmod(int(episode.rpartition("x")[2]), 250)
        text = text.replace("{ip}", f"{high % 250}.{low + 1}").replace("{cidr}", f"{high % 100 + 100}.{low}")
    return _TOKEN.sub(lambda found: _value(found, names), text) if "<" in text else text


def _value(found: re.Match[str], names: Names) -> str:
    if found[1]:
        return names.value("port", int(found[1]))
    if found[2]:
        return names.value(found[2], int(found[3]))
    return "2001-01-01T00:00:00Z" if found[0] == "<time>" else "2001-01-01T00:00:00.000000Z"
