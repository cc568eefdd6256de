"""URLs: `url(...)` and its parts, `isURL`. Parsed as in Go's `net/url`, with its error messages."""

import re
from typing import NamedTuple

from setpoint.objects.gotext import quote
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.types import Type, struct
from setpoint.schema.cel.values import EvaluationError, MapValue

URLS = Library()
_overload = URLS.overload

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_PORT = re.compile(r":[0-9]*")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST_CHARACTER = re.compile(r"""[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff]""")
# The characters that are not escaped in a path.
_PATH_SAFE = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*%\[\]]")


class Url(NamedTuple):
    """A URL in its parts."""

    scheme: str
    host: str
    path: str
    query: str
    text: str

    @property
    def cel_type(self) -> Type:
        return struct("kubernetes.URL")


def parse_url(text: str) -> Url:
    """Parses an absolute URL or an absolute path. Raises ValueError with Go's message."""
    try:
        return _parse(text)
    except ValueError as error:
        raise ValueError(f"parse {quote(text)}: {error}") from None


def _parse(text: str) -> Url:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return Url("", "", "*", "", text)
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    rest = text[match.end() :] if match else text
    if not rest.partition("?")[0].startswith("/"):
        if not scheme:
            raise ValueError("invalid URI for request")
        return Url(scheme, "", "", rest.partition("#")[0].partition("?")[2], text)
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host = _host(scheme, authority)
        rest = slash + path
    _check_escapes(rest)
    return Url(scheme, host, rest, query, text)


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise ValueError(f"invalid URL escape {quote(bad.group())}")


def _host(scheme: str, authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    if at:
        if not _USERINFO.fullmatch(userinfo):
            raise ValueError("net/url: invalid userinfo")
        _check_escapes(userinfo)
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise ValueError("missing ']' in host")
        port = host[close + 1 :]
        if port and not _PORT.fullmatch(port):
            raise ValueError(f"invalid port {quote(port)} after host")
        return host
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0 and not _PORT.fullmatch(host[colon:]):
        raise ValueError(f"invalid port {quote(host[colon:])} after host")
    for char in host:
        if not _HOST_CHARACTER.match(char):
            raise ValueError(f"invalid character {quote(char)} in host name")
    _check_escapes(host)
    return _unescape(host)


def _unescape(text: str, *, plus: bool = False) -> str:
    if plus:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    parts = raw.split(b"%")
    rest = [bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:]]
    return b"".join([parts[0], *rest]).decode("utf-8", "replace")


@_overload("string_to_url: url(string) -> kubernetes.URL")
def _url(text: str) -> Url:
    try:
        return parse_url(text)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


@_overload("is_url_string: isURL(string) -> bool")
def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except ValueError:
        return False
    return True


@_overload("url_get_scheme: (kubernetes.URL).getScheme() -> string")
def _get_scheme(url: Url) -> str:
    return url.scheme


@_overload("url_get_host: (kubernetes.URL).getHost() -> string")
def _get_host(url: Url) -> str:
    return url.host


@_overload("url_get_hostname: (kubernetes.URL).getHostname() -> string")
def _get_hostname(url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1 : url.host.rfind("]")]
    return url.host.partition(":")[0]


@_overload("url_get_port: (kubernetes.URL).getPort() -> string")
def _get_port(url: Url) -> str:
    rest = url.host[url.host.rfind("]") + 1 :] if url.host.startswith("[") else url.host
    return rest.rpartition(":")[2] if ":" in rest else ""


@_overload("url_get_escaped_path: (kubernetes.URL).getEscapedPath() -> string")
def _get_escaped_path(url: Url) -> str:
    return "".join(
        char if _PATH_SAFE.match(char) else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in url.path
    )


@_overload("url_get_query: (kubernetes.URL).getQuery() -> map(string, list(string))")
def _get_query(url: Url) -> MapValue:
    found: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        key, _, value = pair.partition("=")
        found.setdefault(_unescape(key, plus=True), []).append(_unescape(value, plus=True))
    return MapValue(found.items())
