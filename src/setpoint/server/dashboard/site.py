"""Serves the dashboard in front of an API server: the files of the page, the login, and the cookie of a session.

    GET  /dashboard/               the page
    GET  /dashboard/assets/{name}  its files
    GET  /dashboard/login?token=…  opens a session, once
    GET  /dashboard/session        describes the session
    POST /dashboard/logout         ends the session

The files contain no data and need no login. All other requests pass on to the API server. One with the cookie of a
session, and without other credentials, counts as authenticated if sent by the dashboard's own page
(`server.dashboard.origins`). The cookie itself is removed from the request, and reaches no program behind the server.
"""

import logging
from collections.abc import Collection, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

from setpoint.objects.errors import (
    APIError,
    InternalError,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
)
from setpoint.objects.tree import Object
from setpoint.server.codec.response import error_answer
from setpoint.server.dashboard.logins import SESSION_SECONDS, BrowserSession, Logins
from setpoint.server.dashboard.origins import check_host, check_page
from setpoint.server.dashboard.page_files import PageFile
from setpoint.server.dashboard.settings import DashboardSettings
from setpoint.server.message import NO_CACHE, Request, RequestHandler, Response
from setpoint.server.offload import Offload
from setpoint.version import VERSION

_ROOT = "/dashboard"
_ASSETS = f"{_ROOT}/assets/"
_COOKIE = "setpoint-session"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'"
)
_PROTECTIONS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
_HEADERS = (("Content-Security-Policy", _POLICY), *_PROTECTIONS)
_NO_STORE = ("Cache-Control", "no-store")
_PLAIN = "text/plain; charset=utf-8"
_LOGIN_AGAIN = "run `setpoint dashboard` for a new link"
_READS = frozenset(("GET", "HEAD"))
_log = logging.getLogger(__name__)
_encode = msgspec.json.encode


class Door(NamedTuple):
    """A listener of the server: the scheme of its URLs, and the host names of that listener.

    If `pages_only` is set, all requests but those of the page are refused.
    """

    scheme: str
    names: Collection[str] = ()
    pages_only: bool = False


class Site:
    """The dashboard in front of a server."""

    def __init__(
        self, answer: RequestHandler, settings: DashboardSettings, logins: Logins, offload: Offload, door: Door
    ) -> None:
        self._next, self._files, self._logins, self._offload = answer, settings.files, logins, offload
        self._settings = settings
        self.door = door

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answers a request. Never raises: every failure becomes an error response."""
        path, headers = request.path, request.headers
        if not path.startswith(_ROOT) and "cookie" not in headers and not self.door.pages_only:
            return self._next(request)
        return self._answer(request)

    async def _answer(self, request: Request) -> Response:
        try:
            path = request.path
            if path == _ROOT or path.startswith(f"{_ROOT}/"):
                return await self._own(request)
            return await self._next(self._authenticated(request))
        except APIError as error:
            return error_answer(request, error)
        except Exception as error:
            _log.exception("%s %s failed", request.method, request.path)
            return error_answer(request, InternalError(f"{type(error).__name__}: {error}"))

    def _authenticated(self, request: Request) -> Request:
        """Returns a request for the API with its session instead of its cookie. Raises Unauthorized and Forbidden."""
        secret, rest = _parted(request.headers, self.door)
        headers = {name: value for name, value in request.headers.items() if name != "cookie"}
        if rest:
            headers["cookie"] = rest
        request = request._replace(headers=headers)
        if not self.door.pages_only and (not secret or "authorization" in headers or request.peer.common_name):
            return request
        if "authorization" in headers:
            raise Unauthorized("this address is for the dashboard only: send tokens to the address of the API")
        session = self._session(secret)
        check_host(headers, self.door.names)
        check_page(headers, session.origin)
        return request._replace(peer=request.peer._replace(session_user=session.user))

    def _session(self, secret: str) -> BrowserSession:
        session = self._logins.session(secret) if secret else None
        if session is None:
            raise Unauthorized(f"not logged in to the dashboard, or the session has ended: {_LOGIN_AGAIN}")
        return session

    async def _own(self, request: Request) -> Response:
        """Answers a request for a path of the dashboard."""
        path, door = request.path, self.door
        if path == f"{_ROOT}/logout":
            secret, _ = _parted(request.headers, door)
            _check_method(request, ("POST",))
            check_host(request.headers, door.names)
            check_page(request.headers, self._session(secret).origin)
            self._logins.close(secret)
            cookie = _cookie(door, request.headers, "", 0)
            return Response(204, _PLAIN, b"", (cookie, _NO_STORE, *_HEADERS))
        _check_method(request, ("GET",) if path == f"{_ROOT}/login" else ("GET", "HEAD"))
        if path == f"{_ROOT}/login":
            check_host(request.headers, door.names)
            return self._login(request)
        if path == f"{_ROOT}/session":
            secret, _ = _parted(request.headers, door)
            session = self._session(secret)
            check_host(request.headers, door.names)
            check_page(request.headers, session.origin)
            headers = (_NO_STORE, *_HEADERS)
            return Response(200, "application/json", _encode(self._described(session)), headers)
        if path == _ROOT:
            return Response(308, _PLAIN, b"", (("Location", f"{_ROOT}/"), *_HEADERS))
        name = "index.html" if path == f"{_ROOT}/" else path.removeprefix(_ASSETS) if path.startswith(_ASSETS) else ""
        found = self._files.known(name)
        if found is None and name:
            found = await self._offload.run("", partial(self._files.read, name))
        if found is None:
            raise NotFound(f"the dashboard has no file {path}")
        return _file_response(request, found)

    def _login(self, request: Request) -> Response:
        token = parse_qs(request.query).get("token", [""])[0]
        host = request.headers.get("host", "")
        secret = self._logins.open(token, f"{self.door.scheme}://{host}")
        if secret is None:
            text = f"This link has been used already, or has expired: {_LOGIN_AGAIN}.\n"
            return Response(401, _PLAIN, text.encode(), (_NO_STORE, *_HEADERS))
        cookie = _cookie(self.door, request.headers, secret, SESSION_SECONDS)
        return Response(303, _PLAIN, b"", (("Location", f"{_ROOT}/"), cookie, _NO_STORE, *_HEADERS))

    def _described(self, session: BrowserSession) -> Object:
        settings = self._settings
        return {
            "user": session.user.name,
            "readOnly": settings.read_only,
            "app": settings.app or None,
            "archive": settings.is_archive,
            "version": VERSION,
        }


def _check_method(request: Request, methods: Collection[str]) -> None:
    if request.method not in methods:
        raise MethodNotAllowed(f"{request.path} supports {' and '.join(methods)} only")


def _cookie_name(door: Door, headers: Mapping[str, str]) -> str:
    """Returns the name of the cookie. Browsers send a cookie to all ports of a host, so the name has the port: two apps
    on one machine have sessions of their own. With TLS, the prefix lets no other program at the host set the cookie."""
    _, _, port = headers.get("host", "").rpartition(":")
    name = f"{_COOKIE}-{port}" if port.isdigit() else _COOKIE
    return f"__Host-{name}" if door.scheme == "https" else name


def _cookie(door: Door, headers: Mapping[str, str], secret: str, seconds: int) -> tuple[str, str]:
    """Returns the header that sets the cookie, or removes the cookie if no seconds are left."""
    secure = "; Secure" if door.scheme == "https" else ""
    name = _cookie_name(door, headers)
    return "Set-Cookie", f"{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def _parted(headers: Mapping[str, str], door: Door) -> tuple[str, str]:
    """Returns the secret in the cookie of the dashboard, and the header without the cookies of any dashboard."""
    wanted = _cookie_name(door, headers)
    secret, rest = "", []
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            secret = value
        elif name and not name.removeprefix("__Host-").startswith(_COOKIE):
            rest.append(part.strip())
    return secret, "; ".join(rest)


def _file_response(request: Request, found: PageFile) -> Response:
    policy = " ".join((_POLICY, *found.script_hashes))
    headers: tuple[tuple[str, str], ...] = (("ETag", found.etag), ("Vary", "Accept-Encoding"), NO_CACHE)
    headers += (("Content-Security-Policy", policy), *_PROTECTIONS)
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if found.etag in known or "*" in known:
        return Response(304, found.content_type, b"", headers)
    accepts = [each.strip().partition(";")[0] for each in request.headers.get("accept-encoding", "").split(",")]
    if found.packed and "gzip" in accepts:
        return Response(200, found.content_type, found.packed, (*headers, ("Content-Encoding", "gzip")))
    return Response(200, found.content_type, found.content, headers)
